# SPDX-License-Identifier: Apache-2.0
"""The prices of one tender queue: of a core, of a MiB and of a GiB, for an hour.

Implements INRIA RR-7837, section 3.4, eq. (5), and rule T1 of doc/source/specs/tender.rst with the rules of
core.tender.price. Units: micro-credits of a unit for an hour; demand and capacity in cores, MiB, GiB.

Periods are counted from the first step, so that whoever computes a step late does not move the later ones. A
step needs the demand at its time: of the periods in which nobody measured one, MOST_STEPS are made up for, at
the demand of now.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite

from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.tender_terms import TenderTerms, tender_terms
from nova_market.core.row_check import checked
from nova_market.core.tender.price import (
    PriceRule,
    PriceSettings,
    PriceState,
    anchored,
    printed,
    settled,
)
from nova_market.errors import BadRow

Vector = tuple[float, float, float]
"""Of cores, MiB, GiB."""

MOST_STEPS = 3
"""Periods that are made up for after a break: less than a factor of 10 with the usual step of 2."""

HISTORY = 60
"""Steps that are kept: 50 minutes of the usual period."""

RULES: Mapping[str, PriceRule] = {'settled': settled, 'printed': printed, 'anchored': anchored}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePrices:
    """at: time of the last step; 0: there was none yet

    load:    demand over capacity then; 0 without capacity
    history: (time, price of a core, of a MiB, of a GiB, load of cores) of the last steps, oldest first
    """

    at: float = 0.0
    prices: Vector = (0.0, 0.0, 0.0)
    demand: Vector = (0.0, 0.0, 0.0)
    load: Vector = (0.0, 0.0, 0.0)
    history: tuple[tuple[float, ...], ...] = ()


def first_prices(queue: StoredQueue) -> Vector:
    """Those that a queue begins with."""
    terms = tender_terms(queue)
    return float(queue.price_core_hour), terms.memory_price, terms.disk_price


def stepped(
    before: QueuePrices | None,
    queue: StoredQueue,
    demand: Vector,
    capacity: Vector,
    now: float,
) -> QueuePrices:
    """The prices at `now`: the same value where no period has ended. before: None: the queue is new."""
    terms, first = tender_terms(queue), first_prices(queue)
    load = _load(demand, capacity)
    if before is None or before.at > now:
        prices = first if before is None else _bounded(before.prices, first, terms)
        return _noted(QueuePrices(at=now, prices=prices, demand=demand, load=load), before)
    periods = int((now - before.at) / terms.price_period)
    if periods < 1:
        return before
    prices, last = _bounded(before.prices, first, terms), before.demand
    for _ in range(min(periods, MOST_STEPS)):
        prices = _next(prices, last, demand, capacity, queue.price_rule, terms, first)
        last = demand
    at = before.at + periods * terms.price_period
    return _noted(QueuePrices(at=at, prices=prices, demand=demand, load=load), before)


def document_of(prices: QueuePrices) -> dict[str, object]:
    """As JSON has it."""
    return {
        'at': prices.at,
        'prices': list(prices.prices),
        'demand': list(prices.demand),
        'load': list(prices.load),
        'history': [list(one) for one in prices.history],
    }


def prices_from(document: Mapping[str, object]) -> QueuePrices:
    """The inverse.

    :raises BadRow: a number in it is none, or not finite.
    """
    given = {name: tuple(value) for name, value in document.items() if isinstance(value, list)}
    given['history'] = tuple(tuple(one) for one in given.get('history', ()))
    made = QueuePrices(at=float(str(document['at'])), **given)
    if not all(isfinite(value) for row in made.history for value in row):
        raise BadRow('history has a number that is not finite')
    return checked(made)


def _next(
    prices: Vector,
    last: Vector,
    demand: Vector,
    capacity: Vector,
    rule: str,
    terms: TenderTerms,
    first: Vector,
) -> Vector:
    found = []
    for axis, price in enumerate(prices):
        if first[axis] <= 0:
            found.append(0.0)
            continue
        state = PriceState(
            price=price, demand=demand[axis], last_demand=last[axis], capacity=capacity[axis]
        )
        settings = PriceSettings(
            floor=terms.floor * first[axis],
            ceiling=terms.ceiling * first[axis],
            step=terms.step,
            anchor=first[axis],
            elasticity=terms.elasticity,
            gain=terms.gain,
        )
        found.append(RULES[rule](state, settings))
    return found[0], found[1], found[2]


def _bounded(prices: Vector, first: Vector, terms: TenderTerms) -> Vector:
    """Within what the owner allows now; what had no price before begins with the first one."""
    found = [
        min(max(price, terms.floor * start), terms.ceiling * start) if price > 0 else start
        for price, start in zip(prices, first, strict=True)
    ]
    return found[0], found[1], found[2]


def _load(demand: Vector, capacity: Vector) -> Vector:
    found = [
        asked / there if there > 0 else 0.0 for asked, there in zip(demand, capacity, strict=True)
    ]
    return found[0], found[1], found[2]


def _noted(prices: QueuePrices, before: QueuePrices | None) -> QueuePrices:
    row = (prices.at, *prices.prices, prices.load[0])
    kept = before.history if before else ()
    return replace(prices, history=(*kept, row)[-HISTORY:])
