# SPDX-License-Identifier: Apache-2.0
"""One cloud: makes offers, runs tasks on workers that come and go, and adapts its prices.

Implements the task allocation module (TAM) of INRIA RR-7837, sections 3.3 and 3.4, with the functions of
core.tender. Units: MI and MIPS, MiB, GiB, seconds; a currency unit of the paper is a micro-credit.

Settled here, where the paper is silent: there are no workers at the beginning; the demand of a task is
the speed of the PE that it is on, and the CPU capacity is the speed of all PEs of workers, and of those
that new workers could still have.
"""

from dataclasses import dataclass, field

import numpy as np

from nova_market.core.resource import Array, Rows
from nova_market.core.tender.acceptance import Terms, honoured
from nova_market.core.tender.cost import Charging, Prices
from nova_market.core.tender.offer import Offers, offers_for
from nova_market.core.tender.place import NOBODY, Places, places
from nova_market.core.tender.pool import WorkerFlavors, pool
from nova_market.core.tender.price import PriceRule, PriceSettings, PriceState, settled
from nova_market.core.tender.task import Task
from nova_market.core.tender.utility import Utility
from nova_market.sim.tender.cluster import Cluster, Hosts, Seat
from nova_market.sim.tender.task_table import TaskTable


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudSetting:
    """first_prices: of work, MiB and GiB; idle_off: seconds after which an idle worker is deleted"""

    cluster: Cluster
    flavors: WorkerFlavors
    first_prices: tuple[float, float, float] = (100.0, 10_000.0, 10_000.0)
    rule: PriceRule = settled
    prices: PriceSettings = field(default_factory=PriceSettings)
    charging: Charging = Charging.PER_TASK
    idle_off: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """cost: what will be charged; end: when the task will have ended"""

    cost: int
    end: float


@dataclass(slots=True, eq=False)
class Cloud:
    """prices, demand: of work (MIPS), memory and disk; income: since the bank has last collected it"""

    setting: CloudSetting
    hosts: Hosts = field(init=False)
    tasks: TaskTable = field(default_factory=TaskTable)
    seats: list[Seat] = field(default_factory=list)
    prices: Array = field(init=False)
    demand: Array = field(default_factory=lambda: np.zeros(3))
    income: int = 0
    started: int = 0
    _idle_since: Array = field(default_factory=lambda: np.empty(0))
    _ready: Array = field(default_factory=lambda: np.empty(0))
    _pe_worker: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    _tasks_of: list[int] = field(default_factory=list)
    """Tasks of each worker."""

    _places: Places | None = None

    def __post_init__(self) -> None:
        self.hosts = Hosts(self.setting.cluster, self.setting.flavors)
        self.prices = np.array(self.setting.first_prices)

    def offers(self, task: Task, now: float) -> Offers:
        """All that can be made now."""
        work, memory, disk = self.prices.tolist()
        return offers_for(
            task,
            self.places(now),
            Prices(work=work, memory_mib=memory, disk_gib=disk),
            now,
            self.setting.charging,
        )

    def accept(
        self, key: int, task: Task, terms: Terms, utility: Utility, now: float
    ) -> Accepted | Offers:
        """Run the task on these terms or better ones; the offers that can be made instead, if not."""
        offers = self.offers(task, now)
        row = honoured(terms, offers, utility)
        if row is None:
            return offers
        pe, flavor = int(offers.pe[row]), int(offers.flavor[row])
        if pe == NOBODY:
            pe = self._start_worker(flavor, int(offers.host[row]), now)
            start = float(self._ready[pe])
        else:
            start = max(now, float(self.places(now).pool.free_at[pe]))
        worker = int(self._pe_worker[pe])
        end = start + task.work / float(self.setting.flavors.speed[flavor])
        self.tasks.add(key, pe, (start, end, task.memory_mib, task.disk_gib))
        self._tasks_of[worker] += 1
        self._idle_since[worker] = np.nan
        self._places = None
        return Accepted(cost=int(offers.cost[row]), end=end)

    def finish(self, key: int, cost: int, now: float) -> None:
        """The task has ended, and is paid."""
        worker = int(self._pe_worker[self.tasks.remove(key)])
        self._tasks_of[worker] -= 1
        if not self._tasks_of[worker]:
            self._idle_since[worker] = now
        self.income += cost
        self._places = None

    def stop_idle(self, now: float) -> None:
        """Rule T3: workers that are idle for longer than idle_off go."""
        with np.errstate(invalid='ignore'):
            gone = now - self._idle_since > self.setting.idle_off
        if not gone.any():
            return
        pe_stays = ~gone[self._pe_worker]
        for worker in np.flatnonzero(gone).tolist():
            self.hosts.stop(self.seats[worker])
        self.tasks.renumber(np.cumsum(pe_stays) - 1)
        self._ready = self._ready[pe_stays]
        self._pe_worker = (np.cumsum(~gone) - 1)[self._pe_worker[pe_stays]]
        self._idle_since = self._idle_since[~gone]
        stay = np.flatnonzero(~gone).tolist()
        self.seats = [self.seats[worker] for worker in stay]
        self._tasks_of = [self._tasks_of[worker] for worker in stay]
        self._places = None

    def adapt_prices(self) -> None:
        """Rule T1, at the end of a period."""
        asked, capacity = self._asked(), self.capacity()
        rule, settings = self.setting.rule, self.setting.prices
        for axis in range(len(asked)):
            state = PriceState(
                price=float(self.prices[axis]),
                demand=float(asked[axis]),
                last_demand=float(self.demand[axis]),
                capacity=float(capacity[axis]),
            )
            self.prices[axis] = rule(state, settings)
        self.demand = asked

    def capacity(self) -> Array:
        """MIPS that are usable, MiB, GiB of all hosts."""
        one = self.setting.cluster
        flavors = self.setting.flavors
        rows = [seat.flavor for seat in self.seats]
        used = float((flavors.pes[rows] * flavors.speed[rows]).sum())
        return np.array(
            [
                used + self.hosts.usable_mips(),
                one.hosts * one.memory_mib,
                one.hosts * one.disks * one.disk_gib,
            ]
        )

    def counts(self, now: float) -> tuple[int, int, int]:
        """PEs of workers, tasks that run, tasks that wait for a PE."""
        running = int(self.tasks.running(now).sum())
        return len(self._ready), running, self.tasks.count - running

    def places(self, now: float) -> Places:
        """Where a task could run."""
        if self._places is None or now >= self._places.until:
            workers = pool(
                self.setting.flavors,
                worker_flavor=np.array([one.flavor for one in self.seats], dtype=np.intp),
                idle_since=self._idle_since.copy(),
                pe_worker=self._pe_worker,
                ready=self._ready,
                queued=self.tasks.queued(),
            )
            self._places = places(workers, self.hosts.openings(), now)
        return self._places

    def _asked(self) -> Array:
        pe, memory, disk = self.tasks.asked()
        if not len(pe):
            return np.zeros(3)
        flavor = np.array([one.flavor for one in self.seats], dtype=np.intp)
        speed = self.setting.flavors.speed[flavor[self._pe_worker[pe]]]
        return np.array([float(speed.sum()), memory, disk])

    def _start_worker(self, flavor: int, host: int, now: float) -> int:
        """Its first PE. Workers are in the order in which they were started."""
        self.seats.append(self.hosts.start(flavor, host))
        first = len(self._ready)
        ready = now + float(self.setting.flavors.start_seconds[flavor])
        count = int(self.setting.flavors.pes[flavor])
        self._ready = np.concatenate([self._ready, np.full(count, ready)])
        worker = np.full(count, len(self._tasks_of))
        self._pe_worker = np.concatenate([self._pe_worker, worker])
        self._idle_since = np.append(self._idle_since, now)
        self._tasks_of.append(0)
        self.started += 1
        self._places = None
        return first
