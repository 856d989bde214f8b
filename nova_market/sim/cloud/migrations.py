# SPDX-License-Identifier: Apache-2.0
"""Live migrations in a simulated cloud: when a better placement is searched, and how a plan is carried out.

Implements rules A2 to A4 of doc/source/specs/market.rst (Merkat, INRIA RR-8648, section 2.2.4) with the
decisions of core.rebalancing; here are the clock and the state. One move after the other, each looked at
every `tick` seconds. Units: seconds, MiB. A server's RAM is taken on both hosts while it is copied.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from nova_market.core.market.round import RoundOutcome
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.rebalancing.cool_down import CoolDown, rests_until
from nova_market.core.rebalancing.layout import NOWHERE, Layout, fits
from nova_market.core.rebalancing.move_order import MigrationSettings
from nova_market.core.rebalancing.plan import MoveState
from nova_market.core.rebalancing.progress import NextStep, next_step
from nova_market.core.rebalancing.proposal import better_plan, search_due
from nova_market.core.rebalancing.settings import AUTO, RebalancingSettings
from nova_market.core.rebalancing.tabu_search import BalanceSettings
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

    def rebalancing_settings(self, rate: float, period: float) -> RebalancingSettings:
        """The same for the functions of core; plans are approved at once. rate: MiB/s of a migration."""
        return RebalancingSettings(
            mode=AUTO,
            every=self.every,
            balance=self.balance,
            migration=replace(self.migration, copy_rate=rate, period=period),
            cool_down=CoolDown(rest=self.rest, longest=max(self.rest, 86_400.0)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A live migration of the server with this id; ended: when it will have."""

    server: int
    source: int
    target: int
    began: float
    ended: float


class RoundServers(Protocol):
    """Servers of a round: ids in order, their hosts, and vCPUs and RAM; (servers,), (resources, servers)."""

    @property
    def server(self) -> Rows: ...
    @property
    def host(self) -> Rows: ...
    @property
    def size(self) -> Array: ...


Step = tuple[int, int, int]
"""server, source, target"""


class RunningMigrations:
    """Migrations under way: their RAM and vCPUs are taken on both hosts."""

    def __init__(self, hosts: SimulatedHosts) -> None:
        self._hosts = hosts
        self._moves: dict[int, tuple[Move, Array]] = {}

    def begin(self, move: Move, size: Array) -> None:
        self._hosts.take(np.array([move.target]), size)
        self._moves[move.server] = (move, size)

    def take_ended(self, now: float) -> list[Move]:
        """Those that have ended since the last look."""
        over = [move for move, _ in self._moves.values() if move.ended <= now]
        for move in over:
            _, size = self._moves.pop(move.server)
            self._hosts.release(np.array([move.source]), size)
        return over

    def keep(self, servers: Collection[int]) -> None:
        """All others are gone, and with them their migrations."""
        for server in [one for one in self._moves if one not in servers]:
            move, size = self._moves.pop(server)
            self._hosts.release(np.array([move.target]), size)


class Mover:
    """Remembers the plan that runs, the move that goes on, and who rests."""

    def __init__(
        self, hosts: SimulatedHosts, setting: MoveSetting, rate: float, period: float
    ) -> None:
        """rate: MiB/s; 0 takes no time"""
        self._hosts, self._tick, self._rate = hosts, setting.tick, rate
        self._settings = setting.rebalancing_settings(rate, period)
        self._running = RunningMigrations(hosts)
        self._searched: int | None = None
        self._found: list[Step] | None = None
        self._plan: list[Step] | None = None
        self._states: list[MoveState] = []
        self._ends = 0.0
        self._rests_until: dict[int, float] = {}

    def pass_period(
        self,
        period: int,
        span: tuple[float, float],
        servers: RoundServers,
        snapshot: MarketSnapshot,
        outcome: RoundOutcome,
    ) -> tuple[list[Move], list[Move]]:
        """(migrations that begin in this period, those that end in it)."""
        begins, ends = span
        begun: list[Move] = []
        ended: list[Move] = []
        at = {int(s): int(h) for s, h in zip(servers.server, servers.host, strict=True)}
        size = {server: servers.size[:, row] for row, server in enumerate(at)}
        self._running.keep(at.keys())
        self._consider(period, begins, servers, snapshot, outcome)
        for now in np.arange(begins, ends, self._tick).tolist():
            for move in self._running.take_ended(now):
                ended.append(move)
                at[move.server] = move.target
            new = self._look(now, at, size)
            if new is not None:
                begun.append(new)
        return begun, ended + self._running.take_ended(ends)

    def _consider(
        self,
        period: int,
        now: float,
        servers: RoundServers,
        snapshot: MarketSnapshot,
        outcome: RoundOutcome,
    ) -> None:
        """Search when it is time to, and no plan runs."""
        busy = self._found is not None or self._plan is not None
        if busy or not search_due(self._searched, period, self._settings):
            return
        self._searched = period
        rests = np.array([self._rests_until.get(s, now) > now for s in servers.server.tolist()])
        placement = self._placement(servers, snapshot, outcome, ~rests.astype(np.bool_))
        plan = better_plan(placement, outcome.price, self._settings)
        server = servers.server.tolist()
        self._found = [(server[step.server], step.source, step.target) for step in plan.steps]

    def _look(self, now: float, at: dict[int, int], size: dict[int, Array]) -> Move | None:
        """One step of the plan: take it up, begin a move, notice its end, or be done."""
        if self._plan is None:
            self._plan, self._found = self._found or None, None
            self._states = [MoveState.WAITING] * len(self._plan or ())
            return None
        step, position = next_step(self._states)
        if step == NextStep.END:
            self._plan = None
            return None
        server, source, target = self._plan[position]
        if step == NextStep.WATCH:
            if self._ends <= now:
                self._states[position] = MoveState.DONE
                self._rests_until[server] = rests_until(now, 0, self._settings.cool_down)
            return None
        if at.get(server) != source or not self._room(target, size[server]):
            self._states[position] = MoveState.DROPPED
            return None
        self._states[position] = MoveState.MOVING
        seconds = float(size[server][1]) / self._rate if self._rate > 0 else 0.0
        move = Move(server=server, source=source, target=target, began=now, ended=now + seconds)
        self._running.begin(move, size[server])
        self._ends = move.ended
        return move

    def _room(self, host: int, size: Array) -> bool:
        """Placement lets it, and its RAM is really there (A3)."""
        hosts = self._hosts
        physical = fits(hosts.used[1:, host] + size[1:], hosts.capacity[1:, host])
        return bool(physical) and hosts.fits(host, size)

    def _placement(
        self, servers: RoundServers, snapshot: MarketSnapshot, outcome: RoundOutcome, movable: Flags
    ) -> Layout:
        hosts, count = self._hosts, len(servers.server)
        vcpus, ram = servers.size
        return Layout(
            host=servers.host,
            bids=outcome.bids.astype(np.float64),
            caps=snapshot.caps,
            ideal=outcome.ideal,
            capacity=snapshot.capacity,
            size=np.stack([ram, ram, vcpus]),
            room=np.stack([hosts.capacity[1], hosts.room[1], hosts.room[0]]),
            movable=movable,
            open=np.ones(len(hosts), dtype=np.bool_),
            zone=np.full(count, NOWHERE),
            host_zone=np.zeros(len(hosts), dtype=np.intp),
            apart=np.full(count, NOWHERE),
        )
