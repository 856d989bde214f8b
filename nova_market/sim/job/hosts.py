# SPDX-License-Identifier: Apache-2.0
"""Hosts of a simulated cloud, the room that jobs leave on them, and the idle workers that may go.

Rule J1 of doc/source/specs/jobs.rst: a worker is reused by the next job of its queue, and an idle one is
kept for some time. An idle worker takes no room from others here: it is deleted when a job needs its room.
Units: cores, MiB, seconds; arrays (axes, hosts) with the axes of core.calendar.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.calendar.axes import CORES, MEMORY_MIB, amounts
from nova_market.core.resource import Array
from nova_market.errors import BadWorkload
from nova_market.sim.job.submission import Submissions

PLENTY = 2.0**20
"""MiB and GiB of a host where the log does not state what jobs need of them: they need none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleWorker:
    """since: when its last job left it"""

    queue: int
    host: int
    cores: int
    memory_mib: float
    since: float


@dataclass(slots=True, kw_only=True)
class Hosts:
    """total, free: (axes, hosts), free without what jobs have; idle: workers without a job, oldest first"""

    total: Array
    free: Array
    idle: list[IdleWorker] = field(default_factory=list)

    def occupy(self, host: int, job: int, jobs: Submissions) -> bool:
        """Room for one server of a job; whether an idle worker of its queue was there to be reused.

        :raises BadWorkload: the host has no room for it: whoever chose it has made an error.
        """
        wanted = server_of(jobs, job)
        if (wanted > self.free[:, host]).any():
            left = self.free[:, host]
            raise BadWorkload(
                f'job {jobs.number[job]} needs {wanted[CORES]:g} cores and {wanted[MEMORY_MIB]:g} MiB of '
                f'host {host}, which has {left[CORES]:g} and {left[MEMORY_MIB]:g} left'
            )
        reused = self._reuse(host, job, jobs)
        self.free[:, host] -= wanted
        self._make_room(host)
        return reused

    def leave(self, host: int, job: int, jobs: Submissions) -> None:
        """The room of one server of a job is free again."""
        self.free[:, host] += server_of(jobs, job)

    def keep(self, host: int, job: int, jobs: Submissions, now: float) -> None:
        """The worker of a job that has ended stays, without a job."""
        self.idle.append(
            IdleWorker(
                queue=int(jobs.queue[job]),
                host=host,
                cores=int(jobs.cores[job]),
                memory_mib=float(jobs.memory_mib[job]),
                since=now,
            )
        )

    def expire(self, until: float) -> None:
        """Idle workers without a job since `until`, or longer, are deleted."""
        self.idle = [one for one in self.idle if one.since > until]

    def _reuse(self, host: int, job: int, jobs: Submissions) -> bool:
        """The worker that has been idle for the shortest time goes first."""
        for place in reversed(range(len(self.idle))):
            one = self.idle[place]
            if (one.queue, one.host) != (int(jobs.queue[job]), host):
                continue
            if (one.cores, one.memory_mib) == (int(jobs.cores[job]), float(jobs.memory_mib[job])):
                del self.idle[place]
                return True
        return False

    def _make_room(self, host: int) -> None:
        """Delete idle workers, the oldest first, until those that are left have room."""
        here = [one for one in self.idle if one.host == host]
        while here:
            held = amounts(
                cores=float(sum(one.cores for one in here)),
                memory_mib=sum(one.memory_mib for one in here),
            )
            if (held <= self.free[:, host]).all():
                return
            self.idle.remove(here.pop(0))


def equal_hosts(count: int, cores: int, memory_mib: float = PLENTY) -> Hosts:
    """So many hosts of this size, all of them free.

    :raises BadWorkload: there is none, or it has nothing.
    """
    if count < 1 or cores < 1 or not memory_mib > 0:
        raise BadWorkload(
            f'{count} hosts of {cores} cores and {memory_mib:g} MiB: give at least one of each'
        )
    one = amounts(cores=float(cores), memory_mib=memory_mib, disk_gib=PLENTY)
    total = np.repeat(one[:, None], count, axis=1)
    return Hosts(total=total, free=total.copy())


def server_of(jobs: Submissions, job: int) -> Array:
    """(axes,) what one server of a job takes."""
    return amounts(cores=float(jobs.cores[job]), memory_mib=float(jobs.memory_mib[job]))


def never_fit(jobs: Submissions, hosts: Hosts) -> Sequence[int]:
    """Rows of the jobs that do not fit the empty cloud: they would wait for ever."""
    cores, memory = hosts.total[CORES][:, None], hosts.total[MEMORY_MIB][:, None]
    each = np.floor(cores / jobs.cores)
    needy = jobs.memory_mib > 0
    by_memory = np.floor(memory / np.where(needy, jobs.memory_mib, 1.0))
    most = np.where(needy, np.minimum(each, by_memory), each).sum(axis=0)
    found: list[int] = np.flatnonzero(most < jobs.servers).tolist()
    return found
