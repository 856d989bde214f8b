# SPDX-License-Identifier: Apache-2.0
"""A placement in the making: what each host has left in each slot, and what one lease more or less costs.

For `search` (rule L3 of doc/source/specs/leases.rst); also the one place where the cost of a placement is
computed. Arrays (hosts, slots) and (AXES, hosts, slots), as those of Grid. The cost of a node on a host is
its part of Grid.cost, what it costs to have the host on in the slots in which no lease is there yet, and for
an objective with squares twice the product with the load that is there.
"""

from collections.abc import Sequence

import numpy as np

from nova_market.core.calendar.axes import CORES
from nova_market.core.lease.cluster import Cluster
from nova_market.core.lease.grid import Grid, fits, grid
from nova_market.core.lease.objective import Rates
from nova_market.core.lease.place import Assignment, LeasePlace
from nova_market.core.lease.request import LeaseRequest
from nova_market.core.resource import Array, Rows

Spot = tuple[int, Rows]
"""An option and the rows of its hosts."""


class PlacementState:
    """Changed in place by `put` and `take`, which are inverse to each other."""

    def __init__(
        self, hosts: Cluster, leases: Sequence[LeaseRequest], rates: Rates, made: Grid
    ) -> None:
        self.hosts, self.leases, self.rates, self.grid = hosts, leases, rates, made
        self.room = made.free.copy()
        self.count = np.zeros(made.unpaid.shape, dtype=np.int64)
        taken = np.maximum(hosts.whole[CORES][:, None] - made.free[CORES], 0.0)
        # what is booked already counts as busy: of it the utilisation is not known
        part = np.divide(
            taken, hosts.whole[CORES][:, None], out=np.zeros_like(taken),
            where=hosts.whole[CORES][:, None] > 0,
        )  # fmt: skip
        self.load = part * hosts.cores[:, None]
        self.at: list[Spot | None] = [None] * len(leases)
        self.cost = 0.0

    def insertion(self, option: int) -> Array:
        """(hosts,): what a node of this option costs on each host; inf where it has no room."""
        made, slots = self.grid, slice(self.grid.first[option], self.grid.last[option])
        cost: Array = made.cost[option].copy()
        open_ = np.flatnonzero(np.isfinite(cost))
        cost[open_] += self._added(option, open_)
        full = ~fits(self.room[:, open_, slots], made.amounts[:, option, open_])
        cost[open_[full]] = np.inf
        return cost

    def put(self, lease: int, spot: Spot) -> None:
        option, rows = spot
        self.cost += float((self.grid.cost[option, rows] + self._added(option, rows)).sum())
        self._change(spot, 1)
        self.at[lease] = spot

    def take(self, lease: int) -> Spot | None:
        """Where the lease was; it is nowhere then."""
        spot = self.at[lease]
        if spot is not None:
            option, rows = spot
            self._change(spot, -1)
            self.cost -= float((self.grid.cost[option, rows] + self._added(option, rows)).sum())
            self.at[lease] = None
        return spot

    def places(self) -> Assignment:
        return tuple(
            None
            if spot is None
            else LeasePlace(start=float(self.grid.start[spot[0]]), hosts=tuple(spot[1].tolist()))
            for spot in self.at
        )

    def put_places(self, places: Assignment) -> None:
        """All that have a place; the starts must be options of the grid."""
        for lease, place in enumerate(places):
            if place is not None:
                mine = self.grid.options_of(lease)
                option = mine[np.searchsorted(self.grid.start[mine], place.start)]
                self.put(lease, (int(option), np.array(place.hosts, dtype=np.intp)))

    def _added(self, option: int, rows: Rows) -> Array:
        """(rows,): what depends on what else is there."""
        made, slots = self.grid, slice(self.grid.first[option], self.grid.last[option])
        off = (made.unpaid[rows, slots] * (self.count[rows, slots] == 0)).sum(axis=1)
        added: Array = self.rates.on[rows] * off
        if not self.rates.separable:
            beside = self.load[rows, slots] @ made.seconds[slots]
            added = added + 2.0 * self.rates.square[rows] * made.busy[option, rows] * beside
        return added

    def _change(self, spot: Spot, sign: int) -> None:
        option, rows = spot
        made, slots = self.grid, slice(self.grid.first[option], self.grid.last[option])
        self.room[:, rows, slots] -= sign * made.amounts[:, option, rows, None]
        self.count[rows, slots] += sign
        self.load[rows, slots] += sign * made.busy[option, rows, None]


def placement_cost(
    hosts: Cluster, leases: Sequence[LeaseRequest], rates: Rates, places: Assignment
) -> float:
    """What these places cost, in the unit of the rates; whether they fit is not looked at."""
    state = PlacementState(hosts, leases, rates, grid(hosts, leases, rates, 0, [places]))
    state.put_places(places)
    return state.cost
