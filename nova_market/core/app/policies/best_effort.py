# SPDX-License-Identifier: Apache-2.0
"""The policy of work that takes what is left: its bid is always the same, whatever the price.

Implements the best-effort applications of Merkat (INRIA RR-8648), section 3.4.1, whose controllers "submit a
constant small bid for resources". Units and shapes as in policy_interface.

Settled here, where the paper is silent: the bid is what full allocations cost at the reserve price, so that
it gets all that nobody else wants and gives way to everybody who pays more; it needs no objective. It is
suspended while that bid buys less than its least allocation, and resumes at RESUME times that. Without a
least allocation it runs on with whatever it gets. It starts and resumes by past prices too (price_smoothing):
once it has left, the others may be content, and the price falls to the reserve price until it comes back.
"""

import numpy as np

from nova_market.core.app.policies.merkat_policies import LEAST_BID
from nova_market.core.app.policies.policy_interface import (
    PolicyInput,
    PolicyOutput,
    PolicyState,
    StepReason,
    bought,
    others_pay,
)
from nova_market.core.app.policies.traits import serves
from nova_market.core.app.template import Goal
from nova_market.core.resource import Array, Flags

RESUME = 1.1
"""Part of the least allocation that its bid must buy before it resumes; above 1 against swings."""


@serves(*Goal, decides_state=True)
def best_effort(
    seen: PolicyInput, *, cpu: float = 0.0, memory: float = 0.0, resume: float = RESUME
) -> PolicyOutput:
    """The same bids in each period, within the budget; DROPPED ones stay so.

    cpu, memory: bids of one server, micro-credits per period; 0: what all it can use costs at the reserve
    price. resume: as RESUME
    """
    bid = _constant(seen, np.array([cpu, memory]))
    servers = np.maximum(seen.count, 1)
    buys = bought(bid * servers, others_pay(seen), seen.market) / servers
    bought_before = bought(bid * servers, others_pay(seen, planned=True), seen.market) / servers
    pays = bid.sum(axis=0) > 0
    runs, waits = seen.state == PolicyState.RUNNING, seen.state == PolicyState.WAITING
    rests = seen.state == PolicyState.SUSPENDED
    starts = waits & pays & _all(bought_before >= seen.least)
    resumes = rests & pays & _all(bought_before >= np.minimum(seen.least * resume, seen.most))
    short = (buys < seen.least) & (seen.allocation < seen.least)
    leaves: Flags = runs & np.logical_or.reduce(short, axis=0)
    state = np.where(starts | resumes, int(PolicyState.RUNNING), seen.state)
    state = np.where(leaves, int(PolicyState.SUSPENDED), state)
    bid = np.where(state == PolicyState.RUNNING, bid, 0.0)
    why = np.where(starts, int(StepReason.STARTED), 0)
    why |= np.where(resumes, int(StepReason.CHEAPER), 0)
    why |= np.where(leaves | (waits & ~starts), int(StepReason.STOPPED), 0)
    return PolicyOutput(state=state, count=seen.count, bid=bid, change=bid - seen.bid, why=why)


def _constant(seen: PolicyInput, given: Array) -> Array:
    """Bids of one server, scaled down together to its part of the budget."""
    bid = np.where(given[:, None] > 0, given[:, None], seen.market.reserve[:, None] * seen.most)
    bid = np.where(seen.most > 0, np.maximum(bid, LEAST_BID), 0.0)
    total, budget = bid.sum(axis=0), seen.budget / np.maximum(seen.count, 1)
    part = np.divide(budget, total, out=np.ones_like(total), where=total > budget)
    scaled: Array = bid * part
    return scaled


def _all(flags: Flags) -> Flags:
    """Per application: of every resource."""
    found: Flags = np.logical_and.reduce(flags, axis=0)
    return found
