# SPDX-License-Identifier: Apache-2.0
"""Places leases anew, and shows what changes.

Implements rule L4 of doc/source/specs/leases.rst, after CloudAlloc, section 4, scenarios 3 and 5: "the future
workload reservations are reallocated and the differences, if any, may be observed". Units: seconds, joules,
cost of the rates.

Leases that begin within `freeze` of now, and those that are not flexible, stay where they are. A new plan is
taken only when no lease loses its place by it and it costs less; leases without a place now, because their
host is gone, get one in any case where there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nova_market.core.calendar.calendar import booked
from nova_market.core.calendar.grain import not_before
from nova_market.core.lease.objective import power
from nova_market.core.lease.place import Assignment, LeasePlace, bookings_of, unplaced
from nova_market.core.lease.placement_interface import Placement, PlacementInput
from nova_market.core.lease.request import LeaseRequest
from nova_market.core.lease.state import placement_cost

FREEZE = 3600.0
"""Seconds before its start in which a lease does not move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseMove:
    """old: None = it had no place; new: None = it has none"""

    lease: str
    old: LeasePlace | None
    new: LeasePlace | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Of all leases: hosts that they use, joules that they add, and what the objective says they cost"""

    hosts: int
    joules: float
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplanPlan:
    """moves: by lease; bound: of the cost of the leases that may move"""

    places: Assignment
    moves: tuple[LeaseMove, ...]
    before: Measure
    after: Measure
    bound: float


def replanned(
    seen: PlacementInput,
    flexible: Sequence[bool],
    now: float,
    algorithm: Placement,
    freeze: float = FREEZE,
) -> ReplanPlan:
    """What `algorithm` makes of the leases that may move.

    seen: `hosts` with what is no lease, `leases` all that are not over, `present` where they are
    flexible: (leases,)
    """
    present = seen.present or (None,) * len(seen.leases)
    moving = [
        row
        for row, place in enumerate(present)
        if seen.leases[row].latest >= now
        and (place is None or (flexible[row] and place.start >= now + freeze))
    ]
    kept = [row for row in range(len(present)) if row not in moving]
    fixed = bookings_of(
        seen.hosts, [seen.leases[row] for row in kept], [present[row] for row in kept]
    )
    plan = algorithm(
        replace(
            seen,
            hosts=replace(seen.hosts, calendar=booked(seen.hosts.calendar, fixed)),
            leases=tuple(_from(seen.leases[row], now) for row in moving),
            present=tuple(present[row] for row in moving),
        )
    )
    places = list(present)
    for row, place in zip(moving, plan.places, strict=True):
        places[row] = place
    before, after = _measure(seen, present), _measure(seen, tuple(places))
    lost = any(present[row] is not None and places[row] is None for row in moving)
    gained = unplaced(tuple(places)) < unplaced(present)
    if lost or not (gained or after.cost < before.cost):
        places, after = list(present), before
    moves = tuple(
        LeaseMove(lease=seen.leases[row].id, old=present[row], new=places[row])
        for row in moving
        if places[row] != present[row]
    )
    return ReplanPlan(
        places=tuple(places), moves=moves, before=before, after=after, bound=plan.bound
    )


def _from(lease: LeaseRequest, now: float) -> LeaseRequest:
    """With the part of its window that lies ahead."""
    return replace(lease, earliest=max(lease.earliest, float(not_before(now))))


def _measure(seen: PlacementInput, places: Assignment) -> Measure:
    hosts = {row for place in places if place is not None for row in place.hosts}
    return Measure(
        hosts=len(hosts),
        joules=placement_cost(seen.hosts, seen.leases, power(seen.hosts), places),
        cost=placement_cost(seen.hosts, seen.leases, seen.rates, places),
    )
