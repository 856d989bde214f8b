# SPDX-License-Identifier: Apache-2.0
"""One round of the market: from hosts, servers, bids and balances to prices, allocations and charges.

Implements Merkat (INRIA RR-8648), sections 2.2.3 and 2.2.5, eq. (1) and (2), and rules B2, B4, B5, P1, A1, A4
and F2 of doc/source/specs/market.rst. Units: cores and MiB; bids, balances and charges whole micro-credits
(int64); prices micro-credits per unit and period. Arrays (resources, servers), in the order of
MARKET_RESOURCES; those of hosts (resources, hosts).

Differs from the paper: a server pays for what it gets at the clearing price, up to what its bid buys in
the undivided cloud, so what fragmentation withholds isn't charged and what a half-empty host gives
on top is free. A host that does not answer takes no part.
"""

from dataclasses import dataclass, field
from enum import IntFlag
from math import inf

import numpy as np

from nova_market.core.market.bid import MARKET_RESOURCES, affordable
from nova_market.core.market.price import (
    Pricing,
    ResourceMarket,
    allocations,
    bid_price,
    charges,
    clearing_price,
    demand,
    held_price,
)
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.resource import Array, Flags, Rows, Values
from nova_market.core.share import shares_at, water_levels

VISIBLE = 1e-9
"""Errors below this are rounding."""


class Why(IntFlag):
    """What shaped a server's allocation (A4)."""

    NONE = 0
    SCALED = 1
    NO_BID = 2
    CPU_FULL = 4
    MEMORY_FULL = 8
    CROWDED = 16
    SILENT = 32
    CPU_UNSOLD = 64
    MEMORY_UNSOLD = 128


MEANING = {
    Why.SCALED: 'its payer cannot pay all bids of this period, so they are scaled down together',
    Why.NO_BID: 'it bids nothing for a resource',
    Why.CPU_FULL: 'it has as much CPU as it can use',
    Why.MEMORY_FULL: 'it has as much memory as it can use',
    Why.CROWDED: 'its host has less to give than the cloud as a whole',
    Why.SILENT: 'its host does not answer: it keeps what it had and pays nothing',
    Why.CPU_UNSOLD: 'its host does not control CPU: CPU is not sold there and costs nothing',
    Why.MEMORY_UNSOLD: 'its host does not control memory: memory is not sold there and costs nothing',
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoundOutcome:
    """What a round decided.

    price, bid_price, demand: per resource; demand in units, at `price`; 0 of what nobody sells
    free_price: per resource, what the price would be without the breaker
    bids:    what counted, after B2; 0 for what is not sold on the server's host
    ideal:   with the whole cloud as one host (step one); actual: on the server's own host (step two). Of what
             is not sold there the market gives 0, and the host as much as the server can use
    error:   (servers,) the larger of (ideal - actual) / ideal, eq. (2); negative when it gets more
    charges: at most the bid; `due` adds them up per server
    why:     (servers,) Why
    short:   rows of the payers whose bids were scaled down
    """

    price: Array
    free_price: Array
    bid_price: Array
    demand: Array
    bids: Values
    ideal: Array
    actual: Array
    error: Array
    charges: Values
    why: Values
    short: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    @property
    def largest_error(self) -> float:
        """0 when there is no server."""
        return float(self.error.max(initial=0.0))

    @property
    def held(self) -> Flags:
        """(resources,) where the breaker has held the price (B4)."""
        found: Flags = self.price != self.free_price
        return found

    def due(self, confirmed: Flags | None = None) -> Values:
        """Micro-credits each server owes, (servers,); 0 where its allocation is not confirmed (F2)."""
        owed: Values = self.charges.sum(axis=0)
        return owed if confirmed is None else np.where(confirmed, owed, 0)


def decide(
    snapshot: MarketSnapshot, pricing: Pricing = clearing_price, breaker: float = inf
) -> RoundOutcome:
    """The round, a pure function: the same snapshot gives the same outcome.

    breaker: largest factor between the last price and this one
    """
    reached, buyable = snapshot.answering[snapshot.host], snapshot.buyable
    offered, short = affordable(
        np.where(reached & buyable, snapshot.bids, 0), snapshot.payer, snapshot.available
    )
    bids = offered.astype(np.float64)
    ideal, actual = np.zeros_like(bids), np.zeros_like(bids)
    owed = np.zeros_like(offered)
    price, free, plain, asked = np.zeros((4, len(MARKET_RESOURCES)))
    for r in np.flatnonzero(snapshot.offered).tolist():
        market = _market(snapshot, bids[r], r)
        free[r] = pricing(market)
        price[r] = held_price(market, free[r], breaker)
        plain[r] = bid_price(market)
        asked[r] = demand(market, price[r])
        ideal[r] = allocations(market, price[r])
        actual[r] = _on_hosts(snapshot, bids[r], r)
        owed[r] = charges(bids[r], np.minimum(ideal[r], actual[r]), price[r])
    error = allocation_errors(ideal, actual)
    actual = np.where(buyable, actual, snapshot.caps)
    silent = ~reached
    if silent.any():
        actual[:, silent] = snapshot.last[:, silent]
    return RoundOutcome(
        price=price,
        free_price=free,
        bid_price=plain,
        demand=asked,
        bids=offered,
        ideal=ideal,
        actual=actual,
        error=error,
        charges=owed,
        why=_reasons(snapshot, offered, actual, error, short),
        short=short,
    )


def allocation_errors(ideal: Array, actual: Array) -> Array:
    """Eq. (2), the larger over resources: (ideal - actual) / ideal; 0 where the ideal is 0."""
    part = np.divide(actual, ideal, out=np.ones_like(ideal), where=ideal > 0)
    worst: Array = 1.0 - part.min(axis=0)
    return worst


def _market(snapshot: MarketSnapshot, bids: Array, resource: int) -> ResourceMarket:
    return ResourceMarket(
        bids=bids,
        caps=snapshot.caps[resource],
        capacity=float(snapshot.capacity[resource, snapshot.answering].sum()),
        reserve=float(snapshot.reserve[resource]),
        last_price=float(snapshot.last_price[resource]),
        last_demand=float(snapshot.last_demand[resource]),
    )


def _on_hosts(snapshot: MarketSnapshot, bids: Array, resource: int) -> Array:
    """Step two of A1: eq. (1) with caps, each host with its own capacity."""
    caps = snapshot.caps[resource]
    levels = water_levels(bids, caps, snapshot.host, snapshot.capacity[resource])
    return shares_at(levels, bids, caps, snapshot.host)


def _reasons(
    snapshot: MarketSnapshot, bids: Values, actual: Array, error: Array, short: Rows
) -> Values:
    scaled = np.zeros(len(snapshot.available), dtype=np.bool_)
    scaled[short] = True
    reached = snapshot.answering[snapshot.host]
    full = (actual >= snapshot.caps) & (bids > 0)
    why = np.where(scaled[snapshot.payer], int(Why.SCALED), 0)
    buyable = snapshot.buyable
    why |= np.where(((bids == 0) & buyable).any(axis=0), int(Why.NO_BID), 0)
    why |= np.where(full[0], int(Why.CPU_FULL), 0) | np.where(full[1], int(Why.MEMORY_FULL), 0)
    why |= np.where(error > VISIBLE, int(Why.CROWDED), 0)
    why |= np.where(buyable[0], 0, int(Why.CPU_UNSOLD))
    why |= np.where(buyable[1], 0, int(Why.MEMORY_UNSOLD))
    result: Values = np.where(reached, why, int(Why.SILENT))
    return result
