# SPDX-License-Identifier: Apache-2.0
"""What an algorithm of placement gets, and what it decides: the plug-ins of `nova_market.placement`.

Implements rule L3 of doc/source/specs/leases.rst, after CloudAlloc, section 3 ("a generic API such that new
booking algorithms are plug-ins"). An algorithm is a function (PlacementInput) -> PlacementPlan. It is pure:
the same input gives the same plan, ties break on the row. Only `go_on`, which bounds its time, looks outside.

What an algorithm keeps to: every place is within its lease's window, on as many different hosts as the lease
has nodes, and within what the calendar has free beside all other places. A lease that cannot be placed has no
place. More leases placed is better than less cost.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from nova_market.core.lease.cluster import Cluster
from nova_market.core.lease.objective import Rates
from nova_market.core.lease.place import Assignment, unplaced
from nova_market.core.lease.program import Solver
from nova_market.core.lease.request import LeaseRequest
from nova_market.errors import BadLease


def always() -> bool:
    """Go on until the settings end it."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementSettings:
    """starts: of a window that `search` and `exact` look at, beside those of earlier plans
    steps:  of `search`; part: leases that one of its steps places anew
    labels: of `exact`, at most so many half-made sets of leases for one host at a time
    seconds: of each program that `exact` lets its solver solve
    gap:    part of the cost at which `exact` is satisfied
    seed:   of the random choices of `search`
    """

    starts: int = 8
    steps: int = 2000
    part: int = 4
    labels: int = 20_000
    seconds: float = 60.0
    gap: float = 1e-6
    seed: int = 1

    def __post_init__(self) -> None:
        if min(self.starts, self.part, self.labels) < 1 or self.steps < 0 or not 0 <= self.gap < 1:
            raise BadLease(
                f'{self}: give starts, part and labels of at least 1, steps of at least 0, a gap from 0 to 1'
            )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlacementInput:
    """hosts: with all that is booked and does not move; leases: to place, all of them
    present: where they are now, None = nowhere yet; an improvement starts from there
    solver:  of `exact`; go_on: asked between steps whether there is time for more
    """

    hosts: Cluster
    leases: tuple[LeaseRequest, ...]
    rates: Rates
    settings: PlacementSettings = PlacementSettings()
    present: Assignment | None = None
    solver: Solver | None = None
    go_on: Callable[[], bool] = always


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPlan:
    """cost: of the places, in the unit of the rates; bound: no placement of *all* leases costs less"""

    places: Assignment
    cost: float
    bound: float = 0.0

    @property
    def gap(self) -> float:
        """Part of the cost by which it may be above the least one; inf when a lease has no place."""
        if unplaced(self.places):
            return math.inf
        return max(self.cost - self.bound, 0.0) / self.cost if self.cost > 0 else 0.0

    @property
    def rank(self) -> tuple[int, float]:
        """Less is better."""
        return unplaced(self.places), self.cost


Placement = Callable[[PlacementInput], PlacementPlan]
