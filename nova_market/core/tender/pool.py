# SPDX-License-Identifier: Apache-2.0
"""Workers of a tender queue, their processing elements (PEs), and the tasks that wait for each PE.

Implements INRIA RR-7837, section 3.3.1, and rule T2 of doc/source/specs/tender.rst. A PE is one core of
a worker; it runs one task at a time, first in, first out. Units as in task.py, seconds of the caller's
clock. Everything is columns, and a row number is the identity of a flavor, worker or PE within one pool.
A pool is a value: after a change another one is made.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import Array, Rows, Values
from nova_market.errors import BadSnapshot


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WorkerFlavors:
    """The catalogue of a queue: Table 1 of the paper. All (flavors,).

    pes:           PEs of a worker
    speed:         work per second of each of its PEs
    memory_mib, disk_gib: of a worker, shared by its PEs
    start_cost:    micro-credits of a new worker (V_COST)
    start_seconds: until a new worker takes its first task (V_START)
    """

    pes: Rows
    speed: Array
    memory_mib: Array
    disk_gib: Array
    start_cost: Values
    start_seconds: Array

    def __len__(self) -> int:
        return len(self.pes)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Queued:
    """Tasks that run or wait, with the time in which each will run. All (tasks,); pe: row of its PE."""

    pe: Rows
    start: Array
    end: Array
    memory_mib: Array
    disk_gib: Array

    def __len__(self) -> int:
        return len(self.pe)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pool:
    """All workers of a queue.

    worker_flavor: (workers,) row in flavors
    idle_since:    (workers,) since when it has had no task; NaN: it has one
    pe_worker:     (PEs,) row of its worker
    free_at:       (PEs,) when the last task of its queue ends, at least when its worker will have
    started own_most:      (2, PEs) the most memory and disk that one task in its queue takes
    worker_most:   (2, workers) sum of that over its PEs: it never takes more, whatever runs beside what
    """

    flavors: WorkerFlavors
    worker_flavor: Rows
    idle_since: Array
    pe_worker: Rows
    free_at: Array
    queued: Queued
    own_most: Array
    worker_most: Array


def pool(
    flavors: WorkerFlavors,
    *,
    worker_flavor: Rows,
    idle_since: Array,
    pe_worker: Rows,
    ready: Array,
    queued: Queued,
) -> Pool:
    """A pool, with what is derived from its columns. ready: (PEs,) when its worker will have started.

    :raises BadSnapshot: a row that is not there.
    """
    _check(pe_worker, len(worker_flavor), 'worker')
    _check(worker_flavor, len(flavors), 'flavor')
    _check(queued.pe, len(pe_worker), 'PE')
    free_at = ready.copy()
    own_most = np.zeros((2, len(pe_worker)))
    if len(queued):
        np.maximum.at(free_at, queued.pe, queued.end)
        np.maximum.at(own_most[0], queued.pe, queued.memory_mib)
        np.maximum.at(own_most[1], queued.pe, queued.disk_gib)
    workers = len(worker_flavor)
    worker_most = np.zeros((2, workers))
    for total, own in zip(worker_most, own_most, strict=True):
        total += np.bincount(pe_worker, own, workers)
    return Pool(
        flavors=flavors,
        worker_flavor=worker_flavor,
        idle_since=idle_since,
        pe_worker=pe_worker,
        free_at=free_at,
        queued=queued,
        own_most=own_most,
        worker_most=worker_most,
    )


def _check(rows: Rows, count: int, what: str) -> None:
    if len(rows) and not 0 <= rows.min() <= rows.max() < count:
        raise BadSnapshot(
            f'{what} rows {rows.min()} to {rows.max()} in a pool: give 0 to {count - 1}'
        )
