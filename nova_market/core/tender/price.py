# SPDX-License-Identifier: Apache-2.0
"""Prices of a tender queue, from what the tasks on its workers ask for.

Implements INRIA RR-7837, section 3.4, eq. (5), and rule T1 of doc/source/specs/tender.rst. With load rho
= demand / capacity, eq. (5) is P' = P * rho' ** (rho' / rho). Of one resource; demand and capacity in
the same unit. Demand is of tasks that run and that wait for a PE, not of those that their owners keep
back.

`printed` is that formula, `settled` what this project uses in its place, `anchored` a rule with a fixed
point. All three stay within [floor, ceiling] and change by at most the factor `step` each period.

Differs from the paper (`settled`): below capacity the exponent is inverted, rho / rho'. As printed, a
demand that grows from .1 to .9 lowers the price to .39 of what it was, where a steady .9 lowers it to
.9. A step of 2 in each period, so that a change from no load to an overload of 3 does not multiply the
price by 2e14; and a floor above 0, from which a price can rise again. Without demand the price falls as
with the least load, where the paper has a fall by one half, less than with a load of 1 %.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log

from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.market.price import demand_change

LARGEST_CHANGE = 700.0
"""exp() overflows above 709: the change of `printed` where no step limits it."""

MOST_LOAD = 1e9
"""More demand than this, in capacities, counts as this: powers of it are finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceState:
    """price: of the period that ends, micro-credits a unit; demand: now; last_demand: a period ago"""

    price: float
    demand: float
    last_demand: float
    capacity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSettings:
    """floor, ceiling: micro-credits a unit; step: largest factor of a period, 0 = no limit

    anchor: price at a load of 1, of `anchored`; elasticity: power of the load in its fixed point
    gain: part of the way there in one period, 0 to 1; least_load: below it the load counts as this
    """

    floor: float = 1e-6
    ceiling: float = float(MAX_AMOUNT)
    step: float = 2.0
    anchor: float = 1.0
    elasticity: float = 2.0
    gain: float = 0.25
    least_load: float = 1e-3


PriceRule = Callable[[PriceState, PriceSettings], float]


def printed(state: PriceState, settings: PriceSettings) -> float:
    """Eq. (5) as it stands."""
    if state.capacity <= 0:
        return _held(state.price, 0.0, settings)
    change = demand_change(state.demand, state.last_demand, state.capacity, LARGEST_CHANGE)
    return _held(state.price, change, settings)


def settled(state: PriceState, settings: PriceSettings) -> float:
    """P * rho' ** (rho' / rho) at or above capacity, P * rho' ** (rho / rho') below it.

    A load without one before, or below least_load, counts as steady.
    """
    if state.capacity <= 0:
        return _held(state.price, 0.0, settings)
    load = _load(state.demand, state, settings)
    before = _load(state.last_demand, state, settings)
    if state.last_demand <= 0:
        before = load
    exponent = load / before if load >= 1.0 else before / load
    return _held(state.price, exponent * log(load), settings)


def anchored(state: PriceState, settings: PriceSettings) -> float:
    """P ** (1 - gain) * (anchor * rho' ** elasticity) ** gain: beyond the paper.

    A steady load has one price, anchor * rho ** elasticity, which is reached from any other. The anchor
    is what the users can pay if all of the capacity is sold: their money over capacity times the seconds
    in which it comes back.
    """
    if state.capacity <= 0:
        return _held(state.price, 0.0, settings)
    load = _load(state.demand, state, settings)
    target = log(settings.anchor) + settings.elasticity * log(load)
    last = min(max(state.price, settings.floor), settings.ceiling)
    return _held(last, settings.gain * (target - log(last)), settings)


def _load(demand: float, state: PriceState, settings: PriceSettings) -> float:
    return min(max(demand / state.capacity, settings.least_load), MOST_LOAD)


def _held(price: float, change: float, settings: PriceSettings) -> float:
    """price * exp(change), within the step and the bounds."""
    bound = log(settings.step) if settings.step > 0 else LARGEST_CHANGE
    factor = exp(min(max(change, -bound), bound))
    return min(max(price * factor, settings.floor), settings.ceiling)
