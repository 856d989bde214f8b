# SPDX-License-Identifier: Apache-2.0
"""Which servers to migrate so that the largest allocation error falls: a tabu search.

Implements Merkat (INRIA RR-8648), section 2.2.4, Algorithm 1, and rules A2 and A3 of
doc/source/specs/market.rst. Errors are parts of the ideal allocation; the rest as in core.rebalancing.layout.

Differs from the paper: on a host all servers below their caps have the same error, so instead of "the"
worst server every server of the worst host may be the one to move. Moves are ranked by the load they leave
(sum of ideal allocations over capacity, above 1 exactly when somebody is short), and the best `breadth`
are computed exactly. The start is the first solution to beat (the printed `eworse = inf` takes any
first move), and of two solutions with the same largest error the one with fewer and smaller
errors elsewhere is better, otherwise two equally bad hosts would never be improved one at a time. A
host that can't be improved now is left for `tenure` iterations and the next worst is tried.
"""

from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from nova_market.core.rebalancing.layout import Layout, LayoutState, load
from nova_market.core.rebalancing.swap import Move, best_ranked, best_swap, partners
from nova_market.core.resource import Array, Rows

TIE = 1e-9
"""Errors closer than this are the same."""

UNLIMITED = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceSettings:
    """idle_iterations: Niter; tolerated_error: Emax; migrations: Mmax, net; inflow: net per host
    tenure: iterations for which a moved server stays, and may not return to where it came from
    reach: least loaded hosts that are looked at first; breadth: moves computed exactly
    iterations: bound of the whole search
    """

    idle_iterations: int = 50
    tolerated_error: float = 0.01
    migrations: int = UNLIMITED
    inflow: int = UNLIMITED
    tenure: int = 7
    reach: int = 64
    breadth: int = 8
    iterations: int = 100_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BalancePlan:
    """host: (servers,) where each is to be; moved: rows of those that migrate, in the order found
    before, after: largest error; iterations: how many were made
    """

    host: Rows
    moved: Rows
    before: float
    after: float
    iterations: int


@dataclass(frozen=True, slots=True, order=True)
class _Score:
    """Smaller is better: largest error, how many hosts have it, sum of what is above 0."""

    largest: float
    hosts: int
    total: float


def balanced(placement: Layout, settings: BalanceSettings | None = None) -> BalancePlan:
    """Algorithm 1. Never worse than the start; at most `migrations` servers end up elsewhere."""
    chosen = settings or BalanceSettings()
    search = _Search(placement, chosen)
    before = search.best.largest
    idle = step = 0
    while (
        idle < chosen.idle_iterations
        and step < chosen.iterations
        and search.best.largest > chosen.tolerated_error
    ):
        step += 1
        found = search.step(step)
        idle = 0 if found else idle + 1
    host = search.solution()
    first = {server: i for i, (server, _) in reversed(list(enumerate(search.moves)))}
    moved = sorted((int(s) for s in np.flatnonzero(host != placement.host)), key=first.__getitem__)
    return BalancePlan(
        host=host,
        moved=np.array(moved, dtype=np.intp),
        before=before,
        after=search.best.largest,
        iterations=step,
    )


class _Search:
    """The state of one search."""

    def __init__(self, placement: Layout, settings: BalanceSettings) -> None:
        self._settings = settings
        self._layout = LayoutState(placement)
        self._free_at = np.zeros(placement.servers, dtype=np.intp)
        self._host_free_at = np.zeros(placement.hosts, dtype=np.intp)
        # on a small cloud the whole tenure would leave nothing to move
        self._tenure = min(settings.tenure, max(int(placement.movable.sum()) // 4, 1))
        self._banned: dict[int, dict[int, int]] = {}
        self._mark = 0
        self._visited = {0}
        self.moves: list[Move] = []
        self._kept = 0
        self.best = self._score()

    def step(self, now: int) -> bool:
        """One move; does it lead to a better solution?"""
        choice = self._worst_that_moves(now)
        if not choice:
            return False
        self._visited.add(self._mark ^ _mark_of(self._layout, choice))
        self._mark ^= _mark_of(self._layout, choice)
        for server, target in choice:
            source = self._layout.move(server, target)
            self.moves.append((server, target))
            self._free_at[server] = now + self._tenure
            self._banned.setdefault(server, {})[source] = now + 4 * self._tenure
        return self._keep()

    def solution(self) -> Rows:
        """Where the servers are in the best solution."""
        host = self._layout.placement.host.copy()
        for server, target in self.moves[: self._kept]:
            host[server] = target
        return host

    def _worst_that_moves(self, now: int) -> list[Move]:
        """A move or a swap off the worst host that has one; none when all are well or wait."""
        while True:
            tried = np.where(self._host_free_at > now, -np.inf, self._layout.errors)
            worst = int(tried.argmax())
            if tried[worst] <= self._settings.tolerated_error:
                return []
            choice = self._choose(worst, now)
            if choice:
                return choice
            self._host_free_at[worst] = now + self._tenure

    def _keep(self) -> bool:
        score = self._score()
        better = score < self.best and self._layout.net <= self._settings.migrations
        if better:
            self.best, self._kept = score, len(self.moves)
        return better

    def _score(self) -> _Score:
        errors = self._layout.errors
        largest = float(errors.max(initial=0.0))
        # rounded, so that noise in the last digits does not count as progress
        return _Score(
            round(largest, 9),
            int(np.count_nonzero(errors > largest - TIE)),
            round(float(np.maximum(errors, 0.0).sum()), 6),
        )

    def _choose(self, source: int, now: int) -> list[Move]:
        """The move of one of the host's servers that leaves the smallest error on both hosts.

        A swap where that is better and no single move makes both hosts better than this one is now.
        """
        layout = self._layout
        here = self._ready(np.sort(layout.members[source]), now)
        if not len(here):
            return []
        near = self._near()
        error, moves = self._best_move(here, source, near, now)
        if error >= layout.errors[source] - TIE and self._swaps_left():
            there = self._ready(partners(layout, near, source, len(here)), now)
            settings = self._settings
            swapped, swap = best_swap(
                layout, here, there, settings.inflow, settings.breadth, partial(self._tabu, now)
            )
            if swapped < error:
                return swap
        return moves

    def _tabu(self, now: int, moves: list[Move]) -> bool:
        """Does it send a server back too soon, or lead to where the search has been?"""
        back = any(self._banned.get(server, {}).get(host, 0) > now for server, host in moves)
        return back or (self._mark ^ _mark_of(self._layout, moves)) in self._visited

    def _ready(self, servers: Rows, now: int) -> Rows:
        """Those that may move now; at the limit only who has moved already may move on, or back."""
        layout = self._layout
        ready = servers[layout.placement.movable[servers] & (self._free_at[servers] <= now)]
        if layout.net >= self._settings.migrations:
            ready = ready[layout.host[ready] != layout.placement.host[ready]]
        return ready

    def _swaps_left(self) -> bool:
        return self._layout.net + 2 <= self._settings.migrations

    def _best_move(
        self, here: Rows, source: int, hosts: Rows, now: int
    ) -> tuple[float, list[Move]]:
        """(largest error on both hosts, the move); inf when no move is possible."""
        layout, settings = self._layout, self._settings
        fine = layout.allowed(here, hosts, settings.inflow)
        if not fine.any() and len(hosts) < layout.placement.hosts:
            hosts = np.arange(layout.placement.hosts)
            fine = layout.allowed(here, hosts, settings.inflow)
        rank = np.where(fine, self._load_after(here, source, hosts), np.inf)
        # a few targets of each server, lest all that are computed exactly are of the same one
        each = max(2 * settings.breadth // len(here), 2)
        if each < len(hosts):
            rank[rank > np.partition(rank, each - 1, axis=1)[:, [each - 1]]] = np.inf
        rows, columns = best_ranked(rank, settings.breadth)
        pairs = zip(here[rows].tolist(), hosts[columns].tolist(), strict=True)
        free = (move for move in pairs if not self._tabu(now, [move]))
        moves = list(islice(free, settings.breadth))
        if not moves:
            return np.inf, []
        servers, targets = np.array(moves).T
        errors = layout.try_moves(servers, targets).round(9)
        pick = int(errors.argmin())
        return float(errors[pick]), [moves[pick]]

    def _near(self) -> Rows:
        """The least loaded hosts, in the order of their rows."""
        layout, reach = self._layout, self._settings.reach
        if layout.placement.hosts <= reach:
            return np.arange(layout.placement.hosts)
        loads = load(layout.wanted, layout.placement.capacity)
        nearest = np.argpartition(np.where(layout.placement.open, loads, np.inf), reach)[:reach]
        return np.sort(nearest)

    def _load_after(self, servers: Rows, source: int, hosts: Rows) -> Array:
        """(servers, hosts): the larger load of the two hosts after each move.

        Where that is the source's for many targets, the least loaded of them comes first.
        """
        layout, capacity = self._layout, self._layout.placement.capacity
        ideal = layout.placement.ideal[:, servers]
        left = load(layout.wanted[:, [source]] - ideal, capacity[:, [source]])
        joined = load(layout.wanted[:, None, hosts] + ideal[:, :, None], capacity[:, None, hosts])
        return np.maximum(left[:, None], joined) + TIE * joined


def _mark_of(layout: LayoutState, moves: list[Move]) -> int:
    """What the moves change in the mark of a placement: the xor of one number per server and host."""
    mark = 0
    for server, target in moves:
        mark ^= hash((server, int(layout.host[server]))) ^ hash((server, target))
    return mark
