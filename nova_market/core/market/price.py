# SPDX-License-Identifier: Apache-2.0
"""Prices: what one unit of a resource costs for one period, and what each bid buys at that price.

Implements Merkat (INRIA RR-8648), section 2.2.5 (sum of bids over capacity, at least the reserve), and
INRIA RR-7837, section 3.4, eq. (5); rules P1 to P3 and B4 of
doc/source/specs/market.rst. Units: micro-credits per unit and period; bids micro-credits per period; caps and
capacity in the unit of the resource. Arrays (bidders,).

Differs from the papers: with caps, sum of bids / C is no longer the price at which the demand meets the
capacity, so P1 solves for that one (and the paper's is published as `bid_price`). Eq. (5) halves a
price at half the demand, every period, for ever; a floor and a limit per step keep it finite, and
the demand is that at the last price, so that it has a fixed point: the clearing price.

A plug-in of `nova_market.pricing` is a function (market) -> price.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, isfinite, log

import numpy as np

from nova_market.core.resource import Array, Rows
from nova_market.core.share import fair_shares, water_levels

ROUNDING = 1e-12
"""Relative; what a sum over all bidders may lose, and a bidder is not charged less for."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ResourceMarket:
    """One resource in one period.

    bids, caps:           per bidder
    capacity:             of all hosts together
    reserve:              least price
    last_price:           of the period before, 0 when there was none
    last_demand:          units asked for in the period before, 0 when there was none
    """

    bids: Array
    caps: Array
    capacity: float
    reserve: float = 0.0
    last_price: float = 0.0
    last_demand: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandSettings:
    """floor: least price, above 0 so that it can rise again; step: largest factor between two periods."""

    floor: float = 1.0
    step: float = 2.0


Pricing = Callable[[ResourceMarket], float]


def clearing_price(market: ResourceMarket) -> float:
    """P1: the p >= reserve with sum_i min(cap_i, bid_i / p) = C, or the reserve when C is left over."""
    level = _cloud_level(market)
    return max(market.reserve, 1.0 / level if level > 0 else 0.0)


def held_price(market: ResourceMarket, price: float, factor: float) -> float:
    """B4: the price, within [last_price / factor, last_price * factor] and at or above the reserve.

    The reserve price is not made by bids: neither the step from it nor that to it is held, so that what lies
    idle is cheap at once.
    """
    if market.last_price <= market.reserve or price <= market.reserve:
        return price
    highest = market.last_price * factor
    return max(market.reserve, min(max(price, market.last_price / factor), highest))


def allowed_factor(factor: float, periods: int) -> float:
    """B4: the largest factor between the prices of two rounds that are so many periods apart."""
    exponent = log(factor) * max(periods, 1)
    # exp() overflows above 709
    return exp(exponent) if exponent < 700.0 else inf


def bid_price(market: ResourceMarket) -> float:
    """Section 2.2.5: sum of bids / C, at least the reserve. 0 where there is no capacity."""
    if market.capacity <= 0:
        return market.reserve
    return max(market.reserve, float(market.bids.sum()) / market.capacity)


def demand_price(market: ResourceMarket, settings: DemandSettings | None = None) -> float:
    """P2, eq. (5): p * (d / C) ** (d / d_last), or p * d / C without d_last, or p / 2 without demand.

    The factor is held within [1 / step, step] and the price at or above floor and reserve.
    """
    chosen = settings or DemandSettings()
    least = max(chosen.floor, market.reserve)
    if market.last_price <= 0 or market.capacity <= 0:
        return max(least, bid_price(market))
    asked = demand(market, market.last_price)
    change = demand_change(asked, market.last_demand, market.capacity, log(chosen.step))
    return max(least, market.last_price * exp(change))


def demand_change(asked: float, last_asked: float, capacity: float, bound: float) -> float:
    """Eq. (5): the logarithm of the factor by which the price changes, within [-bound, bound].

    last_asked: 0 when nothing was; capacity is above 0
    """
    if asked <= 0:
        return max(-log(2.0), -bound)
    exponent = asked / last_asked if last_asked > 0 else 1.0
    # a quotient of two extremes may be 0 or infinite
    part = asked / capacity
    ratio = log(part) if part > 0 else -inf
    # 0 * inf: at the capacity the price stands, however the demand came there
    usual = ratio and isfinite(ratio) and isfinite(exponent)
    change = exponent * ratio if usual else bound * float(np.sign(ratio))
    return min(max(change, -bound), bound)


def demand(market: ResourceMarket, price: float) -> float:
    """Units that the bidders would take at this price: sum of min(cap, bid / price)."""
    return float(wishes(market.bids, market.caps, price).sum())


def wishes(bids: Array, caps: Array, price: float) -> Array:
    """min(cap, bid / price); at price 0 the cap, for those who bid at all."""
    if price <= 0:
        return np.where(bids > 0, caps, 0.0)
    # divided only where the cap does not bind: bid / price overflows at a price of next to nothing
    wanted: Array = np.divide(bids, price, out=caps.copy(), where=bids < caps * price)
    return wanted


def allocations(market: ResourceMarket, price: float) -> Array:
    """P1: a_i = min(cap_i, bid_i / price); divided again where that is more than there is (P2, B4)."""
    wanted = wishes(market.bids, market.caps, price)
    total = float(wanted.sum())
    if total > market.capacity * (1.0 + ROUNDING * max(len(wanted), 1)):
        return fair_shares(market.bids, wanted, market.capacity)
    return wanted


def charges(bids: Array, taken: Array, price: float) -> Array:
    """P1: price times what was taken, in whole micro-credits, at most the bid.

    Who takes what the bid buys pays the bid exactly; otherwise fractions of a micro-credit are dropped.
    """
    value = taken * price
    due: Array = np.where(value >= bids * (1.0 - ROUNDING), bids, np.floor(value))
    return due


def bid_for(amount: Array, others: Array, capacity: Array, reserve: Array) -> Array:
    """The bid that gets `amount` while the others bid what they do: eq. (1) solved, b = A * B_o / (C - A).

    others: what they bid together. At least the reserve price; inf for the whole capacity or more, unless
    nobody else wants any.
    """
    rest = capacity - amount
    scarce = np.divide(amount * others, rest, out=np.full_like(amount, np.inf), where=rest > 0)
    alone = (others <= 0) & (rest >= 0)
    needed: Array = np.maximum(np.where(alone, 0.0, scarce), reserve * amount)
    return np.where(amount > 0, needed, 0.0)


def quantiles(costs: Array, parts: tuple[float, ...] = (0.05, 0.5, 0.95)) -> Array:
    """P3: what something would have cost per period in a window: quantiles over its periods.

    costs: (periods,), what all of it cost in each; none gives no quote (an empty array)
    """
    if not len(costs):
        return np.zeros(0)
    found: Array = np.quantile(costs, parts)
    return found


def _cloud_level(market: ResourceMarket) -> float:
    """Units per micro-credit with the whole cloud as one host."""
    everywhere: Rows = np.zeros(len(market.bids), dtype=np.intp)
    capacity = np.array([market.capacity])
    return float(water_levels(market.bids, market.caps, everywhere, capacity)[0])
