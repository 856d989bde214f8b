# SPDX-License-Identifier: Apache-2.0
"""The policy of work that stops when it is too dear and goes on when it is cheaper: vertical, with rests.

Implements Merkat (INRIA RR-8648), section 2.3.2, the first of the two options when the budget does not pay
for the objective: "it suspends the application [...] when the current price is too high to continue their
execution, i.e., the VM allocation becomes less than alloc_min. In this case, the policy will resume the
application when the price drops, e.g., VMs can receive 75% of their maximum allocation at the current
budget."
The policy `vertical` takes the second option. Units and shapes as in policy_interface.

Settled here, where the paper is silent: it is suspended only when its whole budget does not buy its least
allocation either; and an owner may name the highest price of a core that he would pay, above which it is
suspended, whatever its budget. Its first bid is what that part of the maximum costs, within the budget. It
starts and resumes by past prices too (price_smoothing): once it has left, the others may be content, and the
price falls to the reserve price until it comes back.
"""

from dataclasses import replace

import numpy as np

from nova_market.core.app.policies.merkat_policies import LEAST_BID, chosen, vertical
from nova_market.core.app.policies.policy_interface import (
    PolicyInput,
    PolicyOutput,
    PolicyState,
    StepReason,
    cost,
    others_pay,
)
from nova_market.core.app.policies.traits import serves
from nova_market.core.app.template import Goal
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.resource import Array, Flags

CPU = MARKET_RESOURCES.index('cpu')

RESUME = 0.75
"""Part of the maximum allocation that must be affordable before it resumes: section 2.3.2."""


@serves(Goal.DEADLINE, Goal.METRIC, Goal.THROUGHPUT, decides_state=True)
def stop(seen: PolicyInput, *, resume: float = RESUME, cpu_price: float = np.inf) -> PolicyOutput:
    """One step of every application; DROPPED ones stay so.

    resume: as RESUME; cpu_price: the highest price it pays, micro-credits per core and period
    """
    others, before = others_pay(seen), others_pay(seen, planned=True)
    enough = np.minimum(np.maximum(seen.most * resume, seen.least), seen.most)
    runs, waits = seen.state == PolicyState.RUNNING, seen.state == PolicyState.WAITING
    rests = seen.state == PolicyState.SUSPENDED
    starts = waits & _payable(seen, seen.least, before, cpu_price)
    resumes = rests & _payable(seen, enough, before, cpu_price)
    starved = np.logical_or.reduce(seen.allocation < seen.least, axis=0)
    poor = starved & ~_payable(seen, seen.least, others, np.inf)
    leaves = runs & (poor | (seen.market.price[CPU] > cpu_price))
    state = np.where(starts | resumes, int(PolicyState.RUNNING), seen.state)
    state = np.where(leaves, int(PolicyState.SUSPENDED), state)
    steps = chosen(runs & ~leaves, vertical(seen), _bidding(seen, np.zeros_like(seen.bid)))
    first = _first(seen, enough, before)
    steps = chosen(starts | resumes, _bidding(seen, first), steps)
    why = steps.why | np.where(starts, int(StepReason.STARTED), 0)
    why |= np.where(resumes, int(StepReason.CHEAPER), 0)
    why |= np.where(leaves | (waits & ~starts), int(StepReason.STOPPED), 0)
    return replace(steps, state=state, why=why)


def _payable(seen: PolicyInput, each: Array, others: Array, cpu_price: float) -> Flags:
    """The budget buys this allocation of each server, at no more than that price of a core."""
    amount = each * np.maximum(seen.count, 1)
    bids = cost(amount, others, seen.market)
    core = np.divide(bids[CPU], amount[CPU], out=np.zeros_like(seen.budget), where=amount[CPU] > 0)
    found: Flags = (core <= cpu_price) & (bids.sum(axis=0) <= seen.budget) & (seen.budget > 0)
    return found


def _first(seen: PolicyInput, each: Array, others: Array) -> Array:
    """Bids of one server that buy this, all scaled down together to the budget."""
    servers = np.maximum(seen.count, 1)
    budget = seen.budget / servers
    # a whole cloud has no finite price: all that there is
    bids = np.minimum(cost(each * servers, others, seen.market) / servers, budget)
    bids = np.where(seen.most > 0, np.maximum(bids, LEAST_BID), 0.0)
    total = bids.sum(axis=0)
    scaled: Array = bids * np.divide(budget, total, out=np.ones_like(total), where=total > budget)
    return scaled


def _bidding(seen: PolicyInput, bid: Array) -> PolicyOutput:
    """These bids, and nothing else changes."""
    return PolicyOutput(
        state=seen.state,
        count=seen.count,
        bid=bid,
        change=np.zeros_like(bid),
        why=np.zeros_like(seen.state),
    )
