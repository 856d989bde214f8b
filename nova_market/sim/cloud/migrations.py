# SPDX-License-Identifier: Apache-2.0
"""Live migrations in a simulated cloud: when a better placement is searched, and how a plan is carried out.

Implements rules A2 to A4 of doc/source/specs/market.rst (Merkat, INRIA RR-8648, section 2.2.4) with the
search and the order of core; one move after the other, each looked at every `tick` seconds, as
market.plan_run does. Units: seconds, MiB. A server's RAM is taken on both hosts while it is copied.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from nova_market.core.market.round import RoundOutcome
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.rebalancing.layout import FITS, NOWHERE, Layout
from nova_market.core.rebalancing.move_order import MigrationSettings, ordered_moves
from nova_market.core.rebalancing.tabu_search import BalanceSettings, balanced
from nova_market.core.resource import Array, Flags, Rows
from nova_market.sim.cloud.hosts import SimulatedHosts


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveSetting:
    """every: periods from search to search; rest: seconds a server stays after a move
    tick: seconds between two looks at what goes on
    """

    every: int = 5
    rest: float = 600.0
    tick: float = 10.0
    balance: BalanceSettings = field(default_factory=BalanceSettings)
    migration: MigrationSettings = field(default_factory=MigrationSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A live migration of the server with this id; ended: when it will have."""

    server: int
    source: int
    target: int
    began: float
    ended: float


class Riders(Protocol):
    """Servers of a round: ids in order, their hosts, and vCPUs and RAM; (servers,), (resources, servers)."""

    @property
    def server(self) -> Rows: ...
    @property
    def host(self) -> Rows: ...
    @property
    def size(self) -> Array: ...


Step = tuple[int, int, int]
"""server, source, target"""


class Flights:
    """Migrations that go on: their RAM and vCPUs are taken on both hosts."""

    def __init__(self, park: SimulatedHosts) -> None:
        self._park = park
        self._flying: dict[int, tuple[Move, Array]] = {}

    def begin(self, move: Move, size: Array) -> None:
        self._park.take(np.array([move.target]), size)
        self._flying[move.server] = (move, size)

    def landed(self, now: float) -> list[Move]:
        """Those that have ended since the last look."""
        over = [move for move, _ in self._flying.values() if move.ended <= now]
        for move in over:
            _, size = self._flying.pop(move.server)
            self._park.release(np.array([move.source]), size)
        return over

    def keep(self, servers: Collection[int]) -> None:
        """All others are gone, and with them their migrations."""
        for server in [one for one in self._flying if one not in servers]:
            move, size = self._flying.pop(server)
            self._park.release(np.array([move.target]), size)


class Mover:
    """Remembers the plan that runs, the move that goes on, and who rests."""

    def __init__(self, park: SimulatedHosts, setting: MoveSetting, rate: float) -> None:
        """rate: MiB/s; 0 takes no time"""
        self._park, self._setting, self._rate = park, setting, rate
        self._flights = Flights(park)
        self._searched: int | None = None
        self._found: list[Step] | None = None
        self._plan: list[Step] | None = None
        self._moving: Move | None = None
        self._rests_until: dict[int, float] = {}

    def pass_period(
        self,
        period: int,
        span: tuple[float, float],
        riders: Riders,
        snapshot: MarketSnapshot,
        outcome: RoundOutcome,
    ) -> tuple[list[Move], list[Move]]:
        """(migrations that begin in this period, those that end in it)."""
        begins, ends = span
        begun: list[Move] = []
        ended: list[Move] = []
        at = {int(s): int(h) for s, h in zip(riders.server, riders.host, strict=True)}
        size = {server: riders.size[:, row] for row, server in enumerate(at)}
        self._flights.keep(at.keys())
        self._consider(period, begins, riders, snapshot, outcome)
        for now in np.arange(begins, ends, self._setting.tick).tolist():
            for move in self._flights.landed(now):
                ended.append(move)
                at[move.server] = move.target
            new = self._look(now, at, size)
            if new is not None:
                begun.append(new)
        return begun, ended + self._flights.landed(ends)

    def _consider(
        self,
        period: int,
        now: float,
        riders: Riders,
        snapshot: MarketSnapshot,
        outcome: RoundOutcome,
    ) -> None:
        """Search when it is time to, and no plan runs."""
        due = self._searched is None or period - self._searched >= self._setting.every
        if not due or self._found is not None or self._plan is not None:
            return
        self._searched = period
        rests = np.array([self._rests_until.get(s, now) > now for s in riders.server.tolist()])
        placement = self._placement(riders, snapshot, outcome, ~rests.astype(np.bool_))
        better = balanced(placement, self._setting.balance)
        plan = ordered_moves(placement, better, outcome.price, self._setting.migration)
        server = riders.server.tolist()
        self._found = [(server[step.server], step.source, step.target) for step in plan.steps]

    def _look(self, now: float, at: dict[int, int], size: dict[int, Array]) -> Move | None:
        """One step of the plan: take it up, begin a move, notice its end, or be done."""
        if self._plan is None:
            self._plan, self._found = self._found or None, None
            return None
        if self._moving is not None:
            if self._moving.ended <= now:
                self._rests_until[self._moving.server] = now + self._setting.rest
                self._moving = None
            return None
        if not self._plan:
            self._plan = None
            return None
        server, source, target = self._plan.pop(0)
        if at.get(server) != source or not self._room(target, size[server]):
            return None
        seconds = float(size[server][1]) / self._rate if self._rate > 0 else 0.0
        move = Move(server=server, source=source, target=target, began=now, ended=now + seconds)
        self._flights.begin(move, size[server])
        self._moving = move
        return move

    def _room(self, host: int, size: Array) -> bool:
        """Placement lets it, and its RAM is really there (A3)."""
        physical = self._park.used[1, host] + size[1] <= self._park.capacity[1, host] * (1.0 + FITS)
        return bool(physical) and self._park.fits(host, size)

    def _placement(
        self, riders: Riders, snapshot: MarketSnapshot, outcome: RoundOutcome, movable: Flags
    ) -> Layout:
        park, count = self._park, len(riders.server)
        vcpus, ram = riders.size
        return Layout(
            host=riders.host,
            bids=outcome.bids.astype(np.float64),
            caps=snapshot.caps,
            ideal=outcome.ideal,
            capacity=snapshot.capacity,
            size=np.stack([ram, ram, vcpus]),
            room=np.stack([park.capacity[1], park.room[1], park.room[0]]),
            movable=movable,
            open=np.ones(len(park), dtype=np.bool_),
            zone=np.full(count, NOWHERE),
            host_zone=np.zeros(len(park), dtype=np.intp),
            apart=np.full(count, NOWHERE),
        )
