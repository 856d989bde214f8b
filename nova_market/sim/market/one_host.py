# SPDX-License-Identifier: Apache-2.0
"""One round of the market for a few applications on a cloud that is one host.

Implements Merkat (INRIA RR-8648), section 2.2.3, the first step ("the entire infrastructure as a single
physical node"), by core.market.round.decide. Units as in core.app.policies.policy_interface:
bids, allocations and limits are of one server, (resources, applications); budgets micro-credits per period
of the whole application.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.app.policies.policy_interface import MarketState
from nova_market.core.market.price import Pricing, clearing_price
from nova_market.core.market.round import RoundOutcome, decide
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.resource import Array, Values


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bidders:
    """The columns of applications that a round reads; count may be 0: it does not bid."""

    count: Values
    bid: Array
    most: Array
    budget: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Divided:
    """market: after the round; allocation: of one server; outcome: of whole applications"""

    market: MarketState
    allocation: Array
    outcome: RoundOutcome

    @property
    def paid(self) -> Values:
        """Micro-credits of each application."""
        return self.outcome.due()


def empty_market(capacity: Array, reserve: Array) -> MarketState:
    """No application is there: everything is idle at the reserve price."""
    return MarketState(price=reserve, capacity=capacity, idle=capacity, reserve=reserve)


def market_after(outcome: RoundOutcome, capacity: Array, reserve: Array) -> MarketState:
    """What policies learn of a round."""
    return MarketState(
        price=outcome.price,
        capacity=capacity,
        idle=capacity - outcome.actual.sum(axis=1),
        reserve=reserve,
    )


def one_host_round(
    market: MarketState, bidders: Bidders, pricing: Pricing = clearing_price
) -> Divided:
    """The round after `market`. Equal servers of one application get equal parts, so they bid as one."""
    width, rows = bidders.bid.shape
    snapshot = MarketSnapshot(
        capacity=market.capacity[:, None],
        answering=np.ones(1, dtype=np.bool_),
        host=np.zeros(rows, dtype=np.intp),
        payer=np.arange(rows, dtype=np.intp),
        bids=np.floor(bidders.bid * bidders.count).astype(np.int64),
        caps=bidders.most * bidders.count,
        last=np.zeros((width, rows)),
        available=bidders.budget.astype(np.int64),
        reserve=market.reserve,
        last_price=market.price,
        last_demand=market.capacity - market.idle,
    )
    outcome = decide(snapshot, pricing)
    return Divided(
        market=market_after(outcome, market.capacity, market.reserve),
        allocation=outcome.actual / np.maximum(bidders.count, 1),
        outcome=outcome,
    )
