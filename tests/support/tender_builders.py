# SPDX-License-Identifier: Apache-2.0
"""Builds pools of workers for tests of the tender, and answers by looking at each PE alone."""

from dataclasses import dataclass, field

import numpy as np

from nova_market.core.tender.cost import Prices
from nova_market.core.tender.place import Kind, Openings
from nova_market.core.tender.pool import Pool, Queued, WorkerFlavors, pool
from nova_market.core.tender.task import Task

FREE = Prices(work=0.0, memory_mib=0.0, disk_gib=0.0)
DEAR = Prices(work=3.0, memory_mib=0.5, disk_gib=0.25)


@dataclass(frozen=True, kw_only=True)
class Flavor:
    pes: int = 1
    speed: float = 1.0
    memory: float = 1000.0
    disk: float = 1000.0
    start_cost: int = 0
    start: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Worker:
    """queues: of each PE, tasks as (seconds, memory, disk), one after the other from `begun` on"""

    flavor: int = 0
    queues: tuple[tuple[tuple[float, float, float], ...], ...] = ((),)
    begun: float = 0.0
    idle_since: float = 0.0

    @property
    def idle(self) -> bool:
        return not any(self.queues)


@dataclass(frozen=True, kw_only=True)
class World:
    """Flavors and workers, as rows and as the pool that the code reads."""

    flavors: tuple[Flavor, ...] = (Flavor(),)
    workers: tuple[Worker, ...] = ()
    openings: tuple[tuple[int, int], ...] = ()
    whole: Pool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'whole', _pool(self.flavors, self.workers))

    @property
    def opened(self) -> Openings:
        rows = np.array(self.openings, dtype=np.intp).reshape(-1, 2)
        return Openings(flavor=rows[:, 0], host=rows[:, 1])

    def pes(self):
        """(PE, worker, number of the PE on it), as rows count them."""
        row = 0
        for worker in self.workers:
            for number in range(len(worker.queues)):
                yield row, worker, number
                row += 1

    def each_place(self, task: Task, prices: Prices, now: float):
        """(kind, flavor, seconds, cost, PE, idle since) of every PE and opening, without any sorting."""
        found = []
        for row, worker, number in self.pes():
            flavor = self.flavors[worker.flavor]
            begin = max(now, worker.begun + sum(one[0] for one in worker.queues[number]))
            end = begin + task.work / flavor.speed
            if not self._room(worker, number, task, (begin, end)):
                continue
            kind = Kind.IDLE if worker.idle else Kind.ACTIVE
            found.append(
                (kind, worker.flavor, end - now, self._cost(task, flavor, prices), row, worker)
            )
        for number, _ in self.openings:
            flavor = self.flavors[number]
            if task.memory_mib <= flavor.memory and task.disk_gib <= flavor.disk:
                seconds = flavor.start + task.work / flavor.speed
                cost = self._cost(task, flavor, prices) + flavor.start_cost
                found.append((Kind.NEW, number, seconds, cost, -1, None))
        return found

    def _cost(self, task: Task, flavor: Flavor, prices: Prices) -> int:
        space = prices.memory_mib * task.memory_mib + prices.disk_gib * task.disk_gib
        return int(np.ceil(prices.work * task.work + space * (task.work / flavor.speed)))

    def _room(self, worker: Worker, number: int, task: Task, time: tuple[float, float]) -> bool:
        """Second by second where something changes: do the tasks of the other PEs leave enough?"""
        flavor = self.flavors[worker.flavor]
        spans = []
        for other, queue in enumerate(worker.queues):
            at = worker.begun
            for seconds, memory, disk in queue:
                if other != number:
                    spans.append((at, at + seconds, memory, disk))
                at += seconds
        instants = [time[0], *(one[0] for one in spans if time[0] <= one[0] < time[1])]
        for instant in instants:
            there = [one for one in spans if one[0] <= instant < one[1]]
            if sum(one[2] for one in there) + task.memory_mib > flavor.memory:
                return False
            if sum(one[3] for one in there) + task.disk_gib > flavor.disk:
                return False
        return True


def flavor_columns(flavors: tuple[Flavor, ...]) -> WorkerFlavors:
    return WorkerFlavors(
        pes=np.array([one.pes for one in flavors], dtype=np.intp),
        speed=np.array([one.speed for one in flavors]),
        memory_mib=np.array([one.memory for one in flavors]),
        disk_gib=np.array([one.disk for one in flavors]),
        start_cost=np.array([one.start_cost for one in flavors], dtype=np.int64),
        start_seconds=np.array([one.start for one in flavors]),
    )


def _pool(flavors: tuple[Flavor, ...], workers: tuple[Worker, ...]) -> Pool:
    rows, ready, owner = [], [], []
    for number, worker in enumerate(workers):
        for queue in worker.queues:
            at = worker.begun
            for seconds, memory, disk in queue:
                rows.append((len(ready), at, at + seconds, memory, disk))
                at += seconds
            ready.append(0.0)
            owner.append(number)
    table = np.array(rows, dtype=np.float64).reshape(-1, 5)
    return pool(
        flavor_columns(flavors),
        worker_flavor=np.array([one.flavor for one in workers], dtype=np.intp),
        idle_since=np.array([one.idle_since if one.idle else np.nan for one in workers]),
        pe_worker=np.array(owner, dtype=np.intp),
        ready=np.array(ready, dtype=np.float64),
        queued=Queued(
            pe=table[:, 0].astype(np.intp),
            start=table[:, 1],
            end=table[:, 2],
            memory_mib=table[:, 3],
            disk_gib=table[:, 4],
        ),
    )
