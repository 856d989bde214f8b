# SPDX-License-Identifier: Apache-2.0
"""A policy for batch applications with deadlines that bid what their work is worth, not what it costs.

Beyond Merkat (INRIA RR-8648): another policy for section 3.2.1, where the paper leaves open "sophisticated
algorithms" (section 4) and loses to EDF at high contention. Units and shapes as in policy_interface.

    bid = budget * urgency / (1 + work / UNIT)        0 < bid <= budget
    urgency = remaining time at full speed / time to the deadline,   work in core-seconds, all servers

Why each part:
- A period's budget is the same for a job of a minute and one of a day. Bidding less when more work is left
  lets the cloud do what satisfies most per core-second, as a central scheduler would that knew all values.
  This is most of it: with all of the budget bid instead, it is far below full_deadline at high contention.
- `full_deadline` begins at the price and doubles: when many come at once the price takes minutes to be found,
  and all of them share the cloud meanwhile and are late together. The clearing price charges what a share
  costs, not what was bid, so a bid of one's worth at once is no dearer.
- Urgency leaves room to those who cannot wait.
- Who runs bids HELD times that: work that is done is lost when somebody who is hardly better takes over.
- It starts or resumes only where its bid buys what meets the deadline, and suspends when it does not, unless
  it bids more than all others together: of two that want all of a resource one stays, and they do not
  suspend and resume for ever.

It gives way where full_deadline would insist, so it is for clouds whose users have one interest: of a few
that keep full_deadline among those with this policy more are in time, and when many do all are worse off.
"""

import numpy as np

from nova_market.core.app.policies.policy_interface import (
    PolicyInput,
    PolicyOutput,
    PolicyState,
    StepReason,
    bought,
    cost,
    others_pay,
)
from nova_market.core.app.policies.traits import serves
from nova_market.core.app.template import Goal
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.resource import Array, Flags
from nova_market.errors import BadSnapshot

CPU = MARKET_RESOURCES.index('cpu')

UNIT = 3600.0
"""Core-seconds: below about an hour of one core all work counts as small. Measured at the highest contention
of HPC2N, satisfaction by UNIT: .27 at 600, .39 at 1200, .48 at 3600, .50 at 12000, .45 at 36000."""

HELD = 4.0
"""Factor of the bids of those who run. Measured there, satisfaction and suspensions: .44 and 150000 at 1, .49
and 26000 at 2, .48 and 300 at 4, .46 and 40000 at 8."""

ABOVE_RESERVE = 2.0
"""Times the reserve price: the least bid, so that large work runs in an empty cloud."""

LEAST_SPLIT = 0.05
"""Part of a bid that every resource in use gets: who bids nothing for what gets scarce gets none of it."""


@serves(Goal.DEADLINE, decides_state=True)
def value_density(seen: PolicyInput) -> PolicyOutput:
    """One step of every application; DROPPED ones stay so.

    :raises BadSnapshot: without deadlines.
    """
    if seen.deadlines is None:
        raise BadSnapshot('value_density needs the deadlines of the applications')
    need, hopeless = seen.deadlines.needed, seen.deadlines.hopeless
    gone = hopeless | (seen.state == PolicyState.DROPPED)
    runs = seen.state == PolicyState.RUNNING
    others = others_pay(seen)
    money = _split(seen, _worth(seen, need, runs), others)
    reach = _reach(seen, money, others)
    enters = ~runs & ~gone & (reach >= need)
    waits = (seen.state == PolicyState.WAITING) & ~gone
    late = seen.band.performance > seen.band.high
    leaves = runs & ~gone & late & (reach < need) & _outbid(money, others)
    state = np.where(enters, int(PolicyState.RUNNING), seen.state)
    state = np.where(leaves, int(PolicyState.SUSPENDED), state)
    state = np.where(gone, int(PolicyState.DROPPED), state)
    bid = np.where(state == PolicyState.RUNNING, money / np.maximum(seen.count, 1), 0.0)
    why = np.zeros_like(seen.state)
    for flags, reason in (
        (enters & waits, StepReason.IN_TIME),
        (~enters & waits, StepReason.OUTBID),
        (enters & (seen.state == PolicyState.SUSPENDED), StepReason.RESUMED),
        (leaves, StepReason.SUSPENDED),
        (hopeless & (seen.state != PolicyState.DROPPED), StepReason.HOPELESS),
    ):
        why = np.where(flags, why | int(reason), why)
    return PolicyOutput(state=state, count=seen.count, bid=bid, change=bid - seen.bid, why=why)


def worth(budget: Array, work: Array, urgency: Array) -> Array:
    """Budget * urgency / (1 + work / UNIT): credits per period, 0 to the budget; work in core-seconds."""
    value: Array = budget * np.clip(urgency, 0.0, 1.0) / (1.0 + work / UNIT)
    return value


def _worth(seen: PolicyInput, need: Array, runs: Flags) -> Array:
    """What an application bids in all: its worth, more for those who run, at least above the reserve."""
    assert seen.deadlines is not None
    whole = seen.most * seen.count
    value = worth(seen.budget, seen.deadlines.remaining * whole[CPU], need)
    least = ABOVE_RESERVE * (seen.market.reserve[:, None] * whole).sum(axis=0)
    wanted = np.maximum(value, least) * np.where(runs, HELD, 1.0)
    bid: Array = np.minimum(wanted, seen.budget)
    return bid


def _outbid(money: Array, others: Array) -> Flags:
    """For some resource the others together pay more than it does."""
    found: Flags = np.logical_or.reduce(money < others, axis=0)
    return found


def _split(seen: PolicyInput, total: Array, others: Array) -> Array:
    """The bid by resource: by what full allocations cost now, and LEAST_SPLIT of it for each in use."""
    whole = seen.most * seen.count
    # a whole cloud has no finite price: all that there is
    price = np.minimum(cost(whole, others, seen.market), total)
    weight = np.where(whole > 0, price + LEAST_SPLIT * total, 0.0)
    weights = weight.sum(axis=0)
    part = np.divide(weight, weights, out=np.zeros_like(weight), where=weights > 0)
    money: Array = part * total
    return money


def _reach(seen: PolicyInput, money: Array, others: Array) -> Array:
    """Part of the full speed that it buys: a server with half its memory has half its speed at most."""
    whole = seen.most * seen.count
    amount = bought(money, others, seen.market)
    part = np.divide(amount, whole, out=np.ones_like(amount), where=whole > 0)
    reach: Array = np.minimum(part, 1.0).prod(axis=0)
    return reach
