# SPDX-License-Identifier: Apache-2.0
"""Which workers the jobs get that start in one pass: idle ones of their queue, or new ones.

For rule J1 of doc/source/specs/jobs.rst (a worker is used for the next job of the same project in the queue)
and SVMSched, section 4.2.3. The plan puts servers on hosts as if idle workers were not there. For each of
them, in order:

1. an idle worker of the queue with the flavor, on that host, which has run jobs of no other project, unless
   the projects of the queue trust each other; the one that is idle for the shortest time
2. a new worker there; idle workers on the host go, the longest idle first, as far as its room needs theirs
3. instead of a new one: such an idle worker on another host of its aggregate whose room nobody needs,
   because it has booted already

So new servers never take more of a host than is free or becomes free by the workers that go:

    sum of new servers <= free without idle workers + workers that go

Pure; units as in columns.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.job.cloud_room import ROUNDING, is_idle
from nova_market.core.job.pass_input import PassInput
from nova_market.core.job.queue import DesiredWorkerState, StoredWorker, WorkerState
from nova_market.core.job.record import StoredJob
from nova_market.core.resource import Array

ROOM_AGAIN = 10.0
"""Seconds before a server is made where idle workers go first: so long Nova takes to delete one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A job that starts. row: among the waiting jobs; hosts: row of the host of each server, by rank."""

    row: int
    job: StoredJob
    hosts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Staff:
    """What a job that starts gets. workers: by rank; going: idle workers that go for it."""

    workers: tuple[StoredWorker, ...]
    going: tuple[StoredWorker, ...]


def staff_of(
    starts: Sequence[Start],
    seen: PassInput,
    workers: Sequence[StoredWorker],
    new_worker: Callable[[StoredJob, int, str], StoredWorker],
    *,
    now: float,
    silence: float,
    back: Mapping[int, Array],
) -> tuple[list[Staff], tuple[StoredWorker, ...]]:
    """(the workers of each of these jobs, more idle workers that go for servers that come back).

    new_worker: of a job, for a rank and a host's name
    back:    what servers that come back to a host take there, (AXES,), by row of the host
    silence: seconds after which an idle worker that has not called gets no job
    """
    pool = _Pool(seen, workers, now - silence)
    chosen: list[list[StoredWorker | None]] = [
        [pool.here(start.job, host) for host in start.hosts] for start in starts
    ]
    going = pool.going(_needs(starts, chosen, back))
    for start, mine in zip(starts, chosen, strict=True):
        for rank, worker in enumerate(mine):
            if worker is None:
                mine[rank] = pool.anywhere(start.job, seen, going)
    going = pool.going(_needs(starts, chosen, back))
    found = []
    for start, mine in zip(starts, chosen, strict=True):
        new_on = [host for host, worker in zip(start.hosts, mine, strict=True) if worker is None]
        staff = []
        for rank, (host, worker) in enumerate(zip(start.hosts, mine, strict=True)):
            if worker is None:
                made = new_worker(start.job, rank, seen.room.names[host])
                late = now + ROOM_AGAIN if host in going else 0.0
                staff.append(replace(made, retry_at=late))
            else:
                staff.append(_given(worker, start.job, rank))
        # the first job that is new on a host sends those away that are in its way
        gone = [one for host in dict.fromkeys(new_on) for one in going.get(host, ())]
        for host in new_on:
            if host in going:
                going[host] = ()
        away = tuple(replace(one, intention=DesiredWorkerState.GONE) for one in gone)
        found.append(Staff(workers=tuple(staff), going=away))
    left = [one for host in sorted(going) for one in going[host]]
    return found, tuple(replace(one, intention=DesiredWorkerState.GONE) for one in left)


class _Pool:
    """Idle workers, each given once."""

    def __init__(
        self, seen: PassInput, workers: Sequence[StoredWorker], called_since: float
    ) -> None:
        host_of = seen.room.host_of
        idle = [one for one in workers if is_idle(one) and one.id in host_of]
        idle = [one for one in idle if one.id not in seen.busy]
        self._host_of = host_of
        self._free = seen.room.free.copy()
        self._of_host: dict[int, list[StoredWorker]] = {}
        for one in sorted(idle, key=lambda one: (one.idle_since, one.id)):
            self._of_host.setdefault(host_of[one.id], []).append(one)
            self._free[:, host_of[one.id]] -= amounts_of(one)
        self._trusting = {one.id for one in seen.queues if one.projects_trust_each_other}
        self._usable: dict[tuple[str, str, str], list[StoredWorker]] = {}
        for one in sorted(idle, key=lambda one: (-one.idle_since, one.id)):
            if one.seen_at > max(called_since, 0.0):
                self._usable.setdefault(self._kind(one), []).append(one)
        self._given: set[str] = set()

    def here(self, job: StoredJob, host: int) -> StoredWorker | None:
        """An idle worker for a server of this job on this host."""
        return self._take(job, lambda one: self._host_of[one.id] == host)

    def anywhere(
        self, job: StoredJob, seen: PassInput, going: Mapping[int, Sequence[StoredWorker]]
    ) -> StoredWorker | None:
        """An idle worker on any host where the job may be, that need not go."""
        row = next(row for row, one in enumerate(seen.queues) if one.id == job.queue_id)
        member = seen.snapshot.hosts.aggregates[seen.snapshot.queues.aggregate[row]]
        away = {one.id for there in going.values() for one in there}

        def stays(one: StoredWorker) -> bool:
            return one.id not in away and bool(member[self._host_of[one.id]])

        return self._take(job, stays)

    def going(self, needs: Mapping[int, Array]) -> dict[int, tuple[StoredWorker, ...]]:
        """Idle workers that go, by host. needs: what new servers take of each, (AXES,)."""
        found = {}
        for host, amounts in needs.items():
            free, away = self._free[:, host].copy(), []
            for one in self._of_host.get(host, ()):
                if (free + ROUNDING >= amounts).all():
                    break
                if one.id not in self._given:
                    free += amounts_of(one)
                    away.append(one)
            if away:
                found[host] = tuple(away)
        return found

    def _kind(self, one: StoredWorker | StoredJob) -> tuple[str, str, str]:
        """Workers run jobs of their own kind."""
        whose = '' if one.queue_id in self._trusting else one.project_id
        return one.queue_id, one.flavor, whose

    def _take(self, job: StoredJob, fine: Callable[[StoredWorker], bool]) -> StoredWorker | None:
        for one in self._usable.get(self._kind(job), ()):
            same = bool((amounts_of(one) == amounts_of(job)).all())
            if same and one.id not in self._given and fine(one):
                self._given.add(one.id)
                return one
        return None


def amounts_of(one: StoredWorker | StoredJob) -> Array:
    """What a worker, or one server of a job, takes: (AXES,)."""
    return np.array([one.cores, one.memory_mib, one.disk_gib])


def _needs(
    starts: Sequence[Start],
    chosen: Sequence[Sequence[StoredWorker | None]],
    back: Mapping[int, Array],
) -> dict[int, Array]:
    found = dict(back)
    for start, mine in zip(starts, chosen, strict=True):
        for host, worker in zip(start.hosts, mine, strict=True):
            if worker is None:
                found[host] = found.get(host, 0.0) + amounts_of(start.job)
    return found


def _given(worker: StoredWorker, job: StoredJob, rank: int) -> StoredWorker:
    whose = job.project_id if job.project_id == worker.project_id else ''
    return replace(
        worker, state=WorkerState.BUSY, job_id=job.id, attempt=job.attempt + 1, rank=rank,
        idle_since=0.0, project_id=whose,
    )  # fmt: skip
