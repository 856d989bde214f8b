# SPDX-License-Identifier: Apache-2.0
"""The placement of least cost, or how far from it at most: column generation.

Implements the optimal solution of CloudAlloc, section 2, with the objective as core.lease.power settles it
(rule L3 of doc/source/specs/leases.rst). The program is the paper's, and its solution too; what differs is
how it is solved. A binary variable for each lease and host, as in the paper, leaves a weak bound and a
great many equal solutions. Here a variable is a set of leases on a host (core.lease.columns), hosts that
are equal are one kind, and leases whose windows do not touch are separate programs (decomposed in time).

1. The linear program over the columns known so far gives the worth of each lease; columns that are worth more
   than they cost are added, until there are none. Its cost is a bound, and so is that of each round.
2. The integer program over these columns gives a placement.
3. If the two differ, every column that could be in a better placement is made, and the integer program over
   those decides.

Each step is bounded, by `go_on`, by the labels of a pricing, and by the seconds of a program: what is left
open then is the gap. It starts from `search`, and returns its placement where nothing better was found.

With windows it is exact for the starts that are looked at (PlacementSettings.starts), and so is the bound.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nova_market.core.lease.columns import Priced, Room, all_columns, best_columns
from nova_market.core.lease.grid import Grid, grid
from nova_market.core.lease.master import Duals, Master, spots_of
from nova_market.core.lease.place import Assignment, LeasePlace, unplaced
from nova_market.core.lease.placement_interface import PlacementInput, PlacementPlan
from nova_market.core.lease.program import Solver
from nova_market.core.lease.request import LeaseRequest
from nova_market.core.lease.search import search
from nova_market.core.lease.state import placement_cost
from nova_market.core.resource import Array, Rows
from nova_market.errors import ConfigurationError

MOST_ALONE = 40
"""Kinds for which a column for each lease alone is made first, so that the first prices have a sense."""
PARTS = (0.2, 1.0)
"""Of the slack: with the best columns a better placement is found sooner, which leaves less to prove."""
MOST_SETS = 2_000
"""Columns of each kind that the last step may make, from at most so many labels of all kinds:"""
MOST_LABELS = 100_000

_NOTHING = 1e-9
"""Part of a cost that is rounding."""


def exact(seen: PlacementInput) -> PlacementPlan:
    """The placement of least cost, with the bound that proves it.

    :raises ConfigurationError: without a solver, or for an objective with squares.
    """
    if seen.solver is None:
        raise ConfigurationError(
            'the placement algorithm exact needs a solver: choose search, or give one'
        )
    if not seen.rates.separable:
        raise ConfigurationError(
            f'the placement algorithm exact cannot minimise {seen.rates.unit}: '
            'choose search for this objective'
        )
    start = search(seen)
    places, bound = list(start.places), 0.0
    for rows in separate(seen.leases):
        part = replace(seen, leases=tuple(seen.leases[row] for row in rows))
        begin = tuple(start.places[row] for row in rows)
        plan = _Generation(part, seen.solver, begin).plan()
        bound += plan.bound
        for row, place in zip(rows, plan.places, strict=True):
            places[row] = place
    cost = placement_cost(seen.hosts, seen.leases, seen.rates, tuple(places))
    return PlacementPlan(places=tuple(places), cost=cost, bound=min(bound, cost))


def separate(leases: Sequence[LeaseRequest]) -> list[list[int]]:
    """Rows of leases in groups whose windows do not overlap: each is a program of its own."""
    groups: list[list[int]] = []
    over = -np.inf
    for row in sorted(range(len(leases)), key=lambda row: (leases[row].earliest, row)):
        if leases[row].earliest >= over:
            groups.append([])
        groups[-1].append(row)
        over = max(over, leases[row].finish)
    return groups


class _Generation:
    def __init__(self, seen: PlacementInput, solver: Solver, begin: Assignment) -> None:
        self._seen, self._solver = seen, solver
        cost = placement_cost(seen.hosts, seen.leases, seen.rates, begin)
        self._best = PlacementPlan(places=begin, cost=cost)
        made = grid(seen.hosts, seen.leases, seen.rates, seen.settings.starts, [self._best.places])
        self._grid, self._kinds = made, kinds(made, seen.rates.on)
        self._rooms = rooms(made, self._kinds, seen.rates.on)
        dear = made.cost[np.isfinite(made.cost)].max(initial=0.0)
        most_on = float((made.unpaid.T @ seen.rates.on).sum(initial=0.0))
        nodes = np.array([lease.nodes for lease in seen.leases])
        self._master = Master(
            lease=made.lease,
            nodes=nodes,
            hosts=np.array([len(rows) for rows in self._kinds]),
            # more than any placement of all leases costs
            penalty=1.0 + float(dear * nodes.sum() + most_on),
        )
        self._bound = 0.0

    def plan(self) -> PlacementPlan:
        self._begin(self._best.places)
        duals = self._generate()
        if self._open():
            self._integer()
        for part in PARTS:
            if duals is not None and self._open():
                whole = self._complete(duals, part * (self._cost - self._bound))
                self._integer(whole=whole and part == 1.0)
                if not whole:
                    break
        bound = 0.0 if unplaced(self._best.places) else min(self._bound, self._best.cost)
        return replace(self._best, bound=bound)

    @property
    def _cost(self) -> float:
        """Of the best placement, with the penalties."""
        return self._best.cost + self._master.penalty * unplaced(self._best.places)

    def _open(self) -> bool:
        allowed = max(self._seen.settings.gap, _NOTHING) * self._cost
        return self._seen.go_on() and self._cost - self._bound > allowed

    def _generate(self) -> Duals | None:
        """Rounds of pricing until no column is worth more than it costs. None: they were not finished.

        Prices jump between rounds, so what is asked for is half-way to those with the best bound so far
        (Wentges 1997); where these bring nothing, the prices themselves are asked for.
        """
        best: Duals | None = None
        while self._open():
            solution = self._solver(self._master.program(integer=False), seconds=np.inf, gap=0.0)
            if solution is None:
                return None
            duals = self._master.duals(solution)
            asked = duals if best is None else self._master.between(duals, best)
            bound, added = self._round(asked)
            if not added and asked is not duals:
                asked = duals
                bound, added = self._round(duals)
            if best is None or bound > self._bound:
                best = asked
            self._bound = max(self._bound, bound)
            if not added:
                return duals
        return None

    def _round(self, duals: Duals) -> tuple[float, bool]:
        """The bound of these prices; and whether there are new columns now."""
        upper, new = duals.kind.copy(), []
        slack = _NOTHING * max(self._cost, 1.0)
        for room in self._rooms:
            limits = duals.kind[room.number]
            priced = best_columns(
                room, duals.worth[room.option], limits + slack, self._seen.settings.labels
            )
            upper[room.number] = np.maximum(priced.upper, limits)
            new += self._add(room, priced)
        return float(duals.lease.sum() - self._master.hosts @ upper), any(new)

    def _complete(self, duals: Duals, slack: float) -> bool:
        """Adds every column that loses no more than this at these prices. False: there are too many for that.

        A placement costs the bound and what its columns lose, so with a slack of cost - bound none is missing
        that a better placement could have.
        """
        whole = True
        for room in self._rooms:
            limits = duals.kind[room.number] - slack
            priced = all_columns(
                room, duals.worth[room.option], limits, labels=MOST_LABELS, most=MOST_SETS
            )
            self._add(room, priced)
            whole = whole and priced.complete
        return whole

    def _add(self, room: Room, priced: Priced) -> list[bool]:
        return [
            self._master.add((int(room.number[kind]), options), cost)
            for kind, options, cost in priced.columns
        ]

    def _begin(self, places: Assignment) -> None:
        """A column for each host that has leases, and one for each lease alone on a host of each kind."""
        kind_of = {int(row): kind for kind, rows in enumerate(self._kinds) for row in rows}
        on_host: dict[int, list[int]] = {}
        for lease, place in enumerate(places):
            if place is not None:
                mine = self._grid.options_of(lease)
                option = int(mine[np.searchsorted(self._grid.start[mine], place.start)])
                for host in place.hosts:
                    on_host.setdefault(host, []).append(option)
        for host, options in on_host.items():
            self._set(kind_of[host], options)
        for room in self._rooms:
            for kind in room.number[:MOST_ALONE].tolist():
                for option in room.option.tolist():
                    self._set(kind, [option])

    def _set(self, kind: int, options: list[int]) -> None:
        """A column for this kind, with its cost."""
        made, host = self._grid, int(self._kinds[kind][0])
        on = np.zeros(len(made.seconds), dtype=np.bool_)
        for option in options:
            on[made.first[option] : made.last[option]] = True
        cost = self._seen.rates.on[host] * float(made.unpaid[host, on].sum())
        self._master.add(
            (kind, tuple(sorted(options))), cost + float(made.cost[options, host].sum())
        )

    def _integer(self, *, whole: bool = False) -> None:
        """The best placement of the columns. whole: none is missing, so that its bound is one for all."""
        settings = self._seen.settings
        solution = self._solver(
            self._master.program(integer=True), seconds=settings.seconds, gap=settings.gap
        )
        if solution is None:
            return
        if whole:
            self._bound = max(self._bound, min(solution.bound, self._cost))
        spots = spots_of(self._master.chosen(solution), self._kinds, self._grid.lease)
        places = tuple(
            None
            if row not in spots
            else LeasePlace(
                start=float(self._grid.start[spots[row][0]]), hosts=tuple(sorted(spots[row][1]))
            )
            for row in range(len(self._seen.leases))
        )
        seen = self._seen
        cost = placement_cost(seen.hosts, seen.leases, seen.rates, places)
        self._best = min(
            self._best, PlacementPlan(places=places, cost=cost), key=lambda plan: plan.rank
        )


def kinds(made: Grid, on: Array) -> list[Rows]:
    """Rows of hosts in groups that are equal in all slots for all options."""
    groups: dict[bytes, list[int]] = {}
    for host in range(len(made.unpaid)):
        if np.isfinite(made.cost[:, host]).any():
            same = (
                made.free[:, host], made.unpaid[host] * on[host], made.cost[:, host],
                made.amounts[:, :, host],
            )  # fmt: skip
            groups.setdefault(b''.join(one.tobytes() for one in same), []).append(host)
    return [np.array(rows, dtype=np.intp) for rows in groups.values()]


def rooms(made: Grid, kinds_: Sequence[Rows], on: Array) -> list[Room]:
    """Kinds in groups that have equal room, and may have the same options."""
    groups: dict[bytes, list[int]] = {}
    for number, rows in enumerate(kinds_):
        host = int(rows[0])
        same = (
            made.free[:, host], np.isfinite(made.cost[:, host]), made.amounts[:, :, host],
        )  # fmt: skip
        groups.setdefault(b''.join(one.tobytes() for one in same), []).append(number)
    return [_room(made, numbers, kinds_, on) for numbers in groups.values()]


def _room(made: Grid, numbers: list[int], kinds_: Sequence[Rows], on: Array) -> Room:
    """With the options that fit when nothing else is there."""
    hosts = np.array([kinds_[number][0] for number in numbers], dtype=np.intp)
    host = int(hosts[0])
    possible = np.flatnonzero(np.isfinite(made.cost[:, host])).tolist()
    rows = np.array([one for one in possible if _fits_alone(made, one, host)], dtype=np.intp)
    rows = rows[np.lexsort((rows, made.first[rows]))]
    axes = np.flatnonzero(made.amounts[:, rows, host].any(axis=1))
    return Room(
        number=np.array(numbers, dtype=np.intp),
        option=rows, lease=made.lease[rows], cost=made.cost[np.ix_(rows, hosts)].T,
        amounts=made.amounts[:, :, host][np.ix_(axes, rows)],
        first=made.first[rows], last=made.last[rows], free=made.free[axes, host],
        on=made.unpaid[hosts] * on[hosts, None], seconds=made.seconds,
    )  # fmt: skip


def _fits_alone(made: Grid, option: int, host: int) -> bool:
    least = made.free[:, host, made.first[option] : made.last[option]].min(axis=1)
    amounts = made.amounts[:, option, host]
    return bool(((least >= amounts) | (amounts == 0.0)).all())
