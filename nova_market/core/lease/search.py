# SPDX-License-Identifier: Apache-2.0
"""Placement that is improved a part at a time: large-neighbourhood search.

Rule L3 of doc/source/specs/leases.rst; beyond CloudAlloc, which has the greedy and the optimum only. The
search starts from the best of both greedies, the cheapest insertion, and the places that the leases have now.
Each step takes a few leases out that are near each other in time, half of them from one host, and puts
them back in the cheapest way that a bounded depth-first search finds; what they had is kept when nothing is
cheaper. So the result is never worse than the greedies (Shaw 1998 for the scheme).

Deterministic for a seed. Every objective, also one with squares, which `exact` cannot have.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from nova_market.core.lease.greedy import greedy, greedy_consistent
from nova_market.core.lease.grid import grid
from nova_market.core.lease.place import Assignment
from nova_market.core.lease.placement_interface import PlacementInput, PlacementPlan
from nova_market.core.lease.state import PlacementState, Spot, placement_cost
from nova_market.core.resource import Array, Rows

WIDTH = 3
"""Hosts that are tried for a lease in each of its starts."""
VISITS = 20
"""Insertions that one step may look at for each lease of its part."""

_LESS = 1e-9
"""Part of a cost below which one is not cheaper than another: sums are rounded."""


def search(seen: PlacementInput) -> PlacementPlan:
    """The best placement that so many steps find."""
    if not seen.leases:
        return PlacementPlan(places=(), cost=0.0)
    plans = [greedy_consistent(seen), greedy(seen)]
    if seen.present is not None:
        cost = placement_cost(seen.hosts, seen.leases, seen.rates, seen.present)
        plans.append(PlacementPlan(places=seen.present, cost=cost))
    known = [plan.places for plan in plans]
    made = grid(seen.hosts, seen.leases, seen.rates, seen.settings.starts, known)
    best = min(plans, key=lambda plan: plan.rank)
    states = []
    for places in (best.places, (None,) * len(seen.leases)):
        state = PlacementState(seen.hosts, seen.leases, seen.rates, made)
        state.put_places(places)
        _put_cheapest(state)
        states.append(state)
    state = min(states, key=lambda one: (one.at.count(None), one.cost))
    rng = np.random.default_rng(seen.settings.seed)
    for _ in range(seen.settings.steps):
        if not seen.go_on():
            break
        _step(state, _near(state, rng, seen.settings.part), rng)
    return _result(seen, best, state.places())


def _result(seen: PlacementInput, best: PlacementPlan, places: Assignment) -> PlacementPlan:
    cost = placement_cost(seen.hosts, seen.leases, seen.rates, places)
    found = PlacementPlan(places=places, cost=cost)
    return min(best, found, key=lambda plan: plan.rank)


def _put_cheapest(state: PlacementState) -> None:
    """Those that have no place, by start, where they cost least."""
    missing = [row for row, spot in enumerate(state.at) if spot is None]
    for row in sorted(missing, key=lambda row: (state.leases[row].earliest, row)):
        spot = next(_spots(state, row, 1), None)
        if spot is not None:
            state.put(row, spot[1])


def _spots(state: PlacementState, row: int, width: int) -> Iterator[tuple[float, Spot]]:
    """Cost and spot of a lease, cheapest first. Of hosts that cost the same only the first is tried."""
    found: list[tuple[float, int, tuple[int, ...]]] = []
    nodes = state.leases[row].nodes
    for option in state.grid.options_of(row).tolist():
        cost = state.insertion(option)
        order = np.argsort(cost, kind='stable')[: nodes + 8 * width]
        order = order[np.isfinite(cost[order])]
        if len(order) < nodes:
            continue
        if nodes > 1:
            chosen = order[:nodes]
            found.append((float(cost[chosen].sum()), option, tuple(sorted(chosen.tolist()))))
            continue
        _, first = np.unique(cost[order], return_index=True)
        found += [(float(cost[h]), option, (h,)) for h in order[first[:width]].tolist()]
    for cost_, option, rows in sorted(found)[:width]:
        yield cost_, (option, np.array(rows, dtype=np.intp))


def _near(state: PlacementState, rng: np.random.Generator, part: int) -> list[int]:
    """Leases that overlap one chosen at random: those on its hosts first, and others."""
    made, count = state.grid, len(state.leases)
    missing = [row for row, spot in enumerate(state.at) if spot is None]
    seed = int(rng.choice(missing)) if missing and rng.random() < 0.5 else int(rng.integers(count))
    mine = made.options_of(seed)
    if not len(mine):
        return []
    spot = state.at[seed]
    option = int(rng.choice(mine)) if spot is None else spot[0]
    others = _overlapping(state, made.first[option], made.last[option])
    others = others[others != seed]
    rng.shuffle(others)
    if spot is not None and rng.random() < 0.7:
        here = set(spot[1].tolist())
        beside = [row for row in others.tolist() if here & set(_hosts_of(state, row))]
        others = np.array([*beside, *others.tolist()][: 3 * part], dtype=np.intp)
    chosen = list(dict.fromkeys([seed, *others.tolist()]))
    return chosen[: max(part, 1)]


def _overlapping(state: PlacementState, first: int, last: int) -> Rows:
    """Leases with a place that are there in one of these slots."""
    options = np.array([-1 if spot is None else spot[0] for spot in state.at])
    placed = options >= 0
    made = state.grid
    inside = (made.first[options] < last) & (made.last[options] > first)
    return np.flatnonzero(placed & inside)


def _hosts_of(state: PlacementState, row: int) -> Sequence[int]:
    spot = state.at[row]
    return [] if spot is None else spot[1].tolist()


def _step(state: PlacementState, part: list[int], rng: np.random.Generator) -> None:
    before, placed = state.cost, sum(state.at[row] is not None for row in part)
    old = [(row, state.take(row)) for row in part]
    order = sorted(part, key=lambda row: (-_size(state, row), row))
    if rng.random() < 0.3:
        rng.shuffle(order)
    found = _Return(state, order, (len(part) - placed, before * (1 - _LESS))).best
    for row, spot in old if found is None else found:
        if spot is not None:
            state.put(row, spot)


def _size(state: PlacementState, row: int) -> float:
    lease = state.leases[row]
    option = state.grid.options_of(row)[:1]
    largest: Array = state.grid.busy[option].max(initial=0.0)
    return float(largest) * lease.duration * lease.nodes


class _Return:
    """The cheapest way to put leases back, by depth first, cheapest insertion first.

    best: rows and spots; None: none that is better than `limit` (leases without a place, cost)
    """

    def __init__(
        self, state: PlacementState, order: Sequence[int], limit: tuple[int, float]
    ) -> None:
        self._state, self._order, self._limit = state, order, limit
        self._left = VISITS * len(order)
        self._path: list[tuple[int, Spot | None]] = []
        self.best: list[tuple[int, Spot | None]] | None = None
        least = [_least(state, row) for row in order]
        self._rest = [sum(least[depth + 1 :]) for depth in range(len(order))]
        self._descend(0, 0)

    def _descend(self, depth: int, missing: int) -> None:
        if depth == len(self._order):
            self._limit = (missing, self._state.cost * (1 - _LESS))
            self.best = list(self._path)
            return
        if self._left <= 0:
            return
        row, rest = self._order[depth], self._rest[depth]
        tried = list(_spots(self._state, row, WIDTH))
        self._left -= 1
        for cost, spot in tried:
            if (missing, self._state.cost + cost + rest) >= self._limit:
                return
            self._state.put(row, spot)
            self._path.append((row, spot))
            self._descend(depth + 1, missing)
            self._path.pop()
            self._state.take(row)
        if not tried and (missing + 1, self._state.cost + rest) < self._limit:
            self._path.append((row, None))
            self._descend(depth + 1, missing + 1)
            self._path.pop()


def _least(state: PlacementState, row: int) -> float:
    """What a lease costs at least, wherever it is."""
    least = float(state.grid.cost[state.grid.options_of(row)].min(initial=np.inf))
    return state.leases[row].nodes * least if np.isfinite(least) else 0.0
