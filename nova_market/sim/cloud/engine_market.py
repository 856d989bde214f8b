# SPDX-License-Identifier: Apache-2.0
"""The market of a simulated cloud by the services themselves: the engine, its rounds, ledger and rebalancing.

Implements sim.cloud.market.CloudMarket: services.market on adapters.in_memory.cloud, with stores that it is
given and a clock that it advances. Some thirty times slower than vector_market, which decides the same; for
small clouds, and to check that it does. Units as in sim.cloud.market.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any

import numpy as np

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.adapters.in_memory.enforcement import MemoryEnforcement
from nova_market.adapters.in_memory.notifications import RecordedNotices
from nova_market.adapters.leadership import SoleLeader
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import AccountId, account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.resource import Array, HostName, Rows, Values
from nova_market.ports import PlanStore
from nova_market.services.market.engine import Engine
from nova_market.services.market.rebalancing import Rebalancing
from nova_market.services.market.rounds import Decided, RoundRunner
from nova_market.sim.cloud.accounts import budget_of, closing, grants, opening, project_name
from nova_market.sim.cloud.hosts import SimulatedHosts
from nova_market.sim.cloud.market import CloudSetting, Offers, OpenStores, Ruling
from nova_market.sim.cloud.migrations import Move, MoveSetting, RunningMigrations

BY = 'simulator'

INSTANT = 1e12
"""MiB/s of a migration that takes no time."""


class Inline(Executor):
    """Does at once what it is asked to do."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


class WatchedCloud(MemoryCloud):
    """Keeps what migrations were begun."""

    def __init__(self, clock: ManualClock, hosts: Sequence[CloudHost], rate: float) -> None:
        super().__init__(clock, hosts, mib_per_second=rate)
        self.began: list[tuple[str, str]] = []

    def migrate(self, server_id: str, destination: HostName) -> None:
        super().migrate(server_id, destination)
        self.began.append((server_id, destination))


class EngineMarket:
    """Implements CloudMarket. Its periods must come one after the other, upwards."""

    def __init__(
        self,
        hosts: SimulatedHosts,
        setting: CloudSetting,
        targets: Values,
        project: Rows,
        rate: float,
        open_stores: OpenStores,
    ) -> None:
        self._hosts, self._setting, self._rate = hosts, setting, rate or INSTANT
        self._given_rate = rate
        self._targets, self._project = targets, project
        self._names = [HostName(name) for name in hosts.names]
        self._clock = ManualClock(wall=0.0)
        self._stores, plans = open_stores(self._clock.wall)
        self._cloud = WatchedCloud(self._clock, _cloud_hosts(hosts), self._rate)
        self._known: dict[str, CloudServer] = {}
        self._bids: dict[str, StoredBid] = {}
        self._decided: list[Decided] = []
        self._running = RunningMigrations(hosts)
        self._tick = (setting.moves or MoveSetting()).tick
        self._engine = self._made(plans)
        self._stores.accounts.open(
            [
                Account(id=account('project', name), project_id=name, weight=1.0)
                for name in map(project_name, range(setting.money.projects))
            ]
        )
        self._stores.ledger.post(grants(setting.money), by=BY)

    def _made(self, plans: PlanStore) -> Engine:
        setting = self._setting
        settings = replace(
            setting.money.market_settings(),
            name=BY,
            period=int(setting.period),
            pricing=setting.pricing,
            breaker=setting.breaker,
            reserve=setting.reserve,
            host_reserve=(0.0, 0.0),
        )
        enforcement, clock = MemoryEnforcement(self._hosts.enforced), self._clock
        made = Engine(
            rounds=RoundRunner(self._cloud, self._stores, enforcement, clock, settings),
            store=self._stores.rounds,
            enforcement=enforcement,
            leadership=SoleLeader(),
            notices=RecordedNotices(),
            clock=clock,
            settings=settings,
            rebalancing=self._rebalancing(plans, setting.moves),
            observe=self._decided.append,
        )
        made.start()
        return made

    def _rebalancing(self, plans: PlanStore, moves: MoveSetting | None) -> Rebalancing | None:
        if moves is None:
            return None
        settings = moves.rebalancing_settings(self._given_rate, self._setting.period)
        return Rebalancing(plans, self._cloud, self._clock, settings, Inline())

    def settle(self, period: int) -> None:
        self._turn_to(period * self._setting.period)
        self._engine.settle()

    def open(self, jobs: Rows, period: int) -> None:
        for job in jobs.tolist():
            owner = project_name(int(self._project[job]))
            self._stores.accounts.open(
                [
                    Account(
                        id=budget_of(job),
                        project_id=owner,
                        renew_amount=int(self._targets[job]),
                        renew_every=1,
                    )
                ]
            )
            posting = opening(job, period, self._targets, self._project, self._balance)
            if posting:
                self._stores.ledger.post([posting], by=BY)

    def close(self, jobs: Rows, period: int) -> None:
        for job in jobs.tolist():
            if left := self._balance(budget_of(job)):
                self._stores.ledger.post([closing(job, period, left, self._project)], by=BY)
            self._stores.accounts.close(budget_of(job))

    def available(self, jobs: Rows) -> Values:
        found = self._stores.ledger.balances([budget_of(job) for job in jobs.tolist()])
        return np.array([found[budget_of(job)] for job in jobs.tolist()], dtype=np.int64)

    def projects(self) -> Array:
        names = [account('project', project_name(p)) for p in range(self._setting.money.projects)]
        found = self._stores.ledger.balances(names)
        return np.array([found.get(name, 0) for name in names], dtype=np.float64)

    def balances(self) -> dict[AccountId, int]:
        found = {one.id: one.balance for one in self._stores.accounts.list(limit=100_000)}
        return {name: amount for name, amount in sorted(found.items()) if amount}

    def round(self, period: int, offers: Offers) -> Ruling:
        begins = period * self._setting.period
        self._turn_to(begins)
        self._take_over(offers)
        self._running.keep(set(offers.server.tolist()))
        begun: list[Move] = []
        ended: list[Move] = []
        now = begins
        while now < begins + self._setting.period:
            self._turn_to(now)
            ended += self._running.take_ended(now)
            self._engine.tick()
            begun += self._departures(now)
            now += self._tick
        ended += self._running.take_ended(begins + self._setting.period)
        decided = self._decided.pop()
        self._decided.clear()
        return Ruling(
            snapshot=decided.inputs.snapshot,
            outcome=decided.outcome,
            economy=decided.plan.economy,
            begun=begun,
            ended=ended,
        )

    def _departures(self, now: float) -> list[Move]:
        """Migrations that the engine has begun with this tick."""
        found = []
        for name, destination in self._cloud.began:
            server = self._known[name]
            move = Move(
                server=int(name),
                source=self._hosts.names[server.host],
                target=self._hosts.names[destination],
                began=now,
                ended=now + server.memory_mib / self._rate,
            )
            self._running.begin(move, np.array([server.vcpus, server.memory_mib], dtype=float))
            self._known[name] = replace(server, host=HostName(destination))
            found.append(move)
        self._cloud.began.clear()
        return found

    def _take_over(self, offers: Offers) -> None:
        """The cloud and the bids become those of the offers."""
        names = [f'{server:09d}' for server in offers.server.tolist()]
        gone = sorted(self._known.keys() - set(names))
        for name in gone:
            self._cloud.remove(name)
            self._known.pop(name)
            self._bids.pop(name)
        self._stores.bids.remove(gone)
        on_cloud = {one.id: one for one in self._cloud.servers()}
        for row, name in enumerate(names):
            job = int(offers.job[row])
            vcpus, memory = (int(amount) for amount in offers.size[:, row])
            host = self._names[int(offers.host[row])]
            found = on_cloud.get(name)
            if found is None or (found.host != host and found.status != 'MIGRATING'):
                made = CloudServer(
                    id=name,
                    project_id=project_name(int(self._project[job])),
                    host=host,
                    vcpus=vcpus,
                    memory_mib=memory,
                    counted={'VCPU': float(vcpus), 'MEMORY_MB': float(memory)},
                )
                self._cloud.put_server(made)
                self._known[name] = made
            self._bid(name, job, offers.bids[:, row])

    def _bid(self, name: str, job: int, bids: Values) -> None:
        old = self._bids.get(name)
        cpu, memory = int(bids[0]), int(bids[1])
        if old is not None and (old.cpu, old.memory) == (cpu, memory):
            return
        wanted = StoredBid(
            server_id=name,
            project_id=project_name(int(self._project[job])),
            payer=budget_of(job),
            cpu=cpu,
            memory=memory,
            generation=old.generation if old else 0,
        )
        self._bids[name] = self._stores.bids.put(wanted)

    def _balance(self, name: AccountId) -> int:
        return self._stores.ledger.balances([name]).get(name, 0)

    def _turn_to(self, wall: float) -> None:
        self._clock.advance(max(wall - self._clock.wall(), 0.0))


def _cloud_hosts(hosts: SimulatedHosts) -> list[CloudHost]:
    return [
        CloudHost(
            name=HostName(name),
            cores=float(hosts.capacity[0, row]),
            memory_mib=float(hosts.capacity[1, row]),
            counted={'VCPU': float(hosts.room[0, row]), 'MEMORY_MB': float(hosts.room[1, row])},
        )
        for name, row in hosts.names.items()
    ]
