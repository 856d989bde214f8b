# SPDX-License-Identifier: Apache-2.0
"""The policy of a batch application with a deadline: start, adapt, suspend, resume, give up.

Implements Merkat (INRIA RR-8648), section 3.2.1 ("full-deadline"), on the vertical policy of section 2.3.2.
Units and shapes as in policy_interface; CPU decides the speed, memory is bought in full.

What the paper leaves open, and is settled here:
- "affords": by eq. (1) with what the others pay now, the own bid left out.
- It suspends when its WHOLE budget buys less than meets the deadline; it resumes at RESUME times that,
  so that those who left do not all come back with the price that they made by leaving.
- The first bid is what reaches the reference performance, at most the budget.
"""

from dataclasses import replace

import numpy as np

from nova_market.core.app.policies.merkat_policies import chosen, vertical
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

RESUME = 1.1
"""Part of the needed speed that must be affordable before it resumes; above 1 against swings."""


@serves(Goal.DEADLINE, decides_state=True)
def full_deadline(seen: PolicyInput, *, resume: float = RESUME) -> PolicyOutput:
    """One step of every application; DROPPED ones stay so. resume: as RESUME.

    :raises BadSnapshot: without deadlines.
    """
    if seen.deadlines is None:
        raise BadSnapshot('full_deadline needs the deadlines of the applications')
    others = others_pay(seen)
    need, hopeless = seen.deadlines.needed, seen.deadlines.hopeless
    reach = affordable_part(seen, others)  # of the full speed, as need is
    least = _part(seen.least[CPU], seen.most[CPU])
    runs = seen.state == PolicyState.RUNNING
    starts = (seen.state == PolicyState.WAITING) & (reach >= least) & ~hopeless
    resumes = (seen.state == PolicyState.SUSPENDED) & (reach >= np.minimum(need * resume, 1.0))
    resumes &= ~hopeless
    unmet = seen.band.performance > seen.band.high
    leaves = runs & unmet & (reach < need) & ~hopeless
    steps = chosen(runs & ~leaves, vertical(seen), _at_rest(seen))
    steps = chosen(starts | resumes, _entering(seen, need, others), steps)
    state = np.where(starts | resumes, int(PolicyState.RUNNING), seen.state)
    state = np.where(leaves, int(PolicyState.SUSPENDED), state)
    gone = hopeless | (seen.state == PolicyState.DROPPED)
    state = np.where(gone, int(PolicyState.DROPPED), state)
    why = steps.why | np.where(starts, int(StepReason.STARTED), 0)
    why |= np.where(resumes, int(StepReason.RESUMED), 0) | np.where(
        leaves, int(StepReason.SUSPENDED), 0
    )
    why = np.where(hopeless & (seen.state != PolicyState.DROPPED), int(StepReason.HOPELESS), why)
    bid = np.where(gone, 0.0, steps.bid)
    return replace(steps, state=state, bid=bid, why=why)


def affordable_part(seen: PolicyInput, others: Array) -> Array:
    """Part of the full CPU allocation that the whole budget buys, 0 to 1, with memory in full."""
    whole = seen.most * seen.count
    prices = cost(whole, others, seen.market)
    prices[CPU] = 0.0
    money = np.zeros_like(whole)
    money[CPU] = np.maximum(seen.budget - prices.sum(axis=0), 0.0)
    amount = bought(money, others, seen.market)[CPU]
    return np.minimum(_part(amount, whole[CPU]), 1.0)


def _part(amount: Array, whole: Array) -> Array:
    part: Array = np.divide(amount, whole, out=np.ones_like(amount), where=whole > 0)
    return part


def _entering(seen: PolicyInput, need: Array, others: Array) -> PolicyOutput:
    """The first bid: what reaches the reference performance, within the budget."""
    part = np.clip(need / seen.band.reference, 0.0, 1.0)
    target = seen.most * seen.count
    target[CPU] *= part
    servers = np.maximum(seen.count, 1)
    bids = cost(target, others, seen.market) / servers
    budget = seen.budget / servers
    fits = np.isfinite(bids).all(axis=0) & (bids.sum(axis=0) <= budget)
    bids = np.where(fits, bids, _all_in(bids, budget))
    none = np.zeros_like(seen.state)
    return PolicyOutput(
        state=seen.state, count=seen.count, bid=bids, change=np.zeros_like(bids), why=none
    )


def _all_in(bids: Array, budget: Array) -> Array:
    """Memory in full and the rest of the budget for CPU; everything for CPU when memory costs it all."""
    spent = bids.copy()
    spent[CPU] = 0.0
    other = spent.sum(axis=0)
    payable: Flags = np.isfinite(other) & (other < budget)
    spent = np.where(payable, spent, 0.0)
    spent[CPU] = budget - spent.sum(axis=0)
    return spent


def _at_rest(seen: PolicyInput) -> PolicyOutput:
    """Nothing is bid, nothing changes."""
    nothing = np.zeros_like(seen.bid)
    return PolicyOutput(
        state=seen.state,
        count=seen.count,
        bid=nothing,
        change=nothing,
        why=np.zeros_like(seen.state),
    )
