# SPDX-License-Identifier: Apache-2.0
"""A batch framework as an application: a queue of jobs, and servers that come, work and go.

Models the frameworks of Merkat (INRIA RR-8648), section 3.3 (Condor, Torque). Units: seconds, servers of one
core. Jobs start in order of arrival, on as many servers as they are wide, and run at the speed of the
servers; a server takes `boot` seconds to come, and one that is given up ends its job first: which ones, and
when they go, is decided by core.app, as for the controller. Times are whole ticks: a job that ends within one
leaves its servers at the end of it.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from nova_market.core.app.draining import drain_end
from nova_market.core.app.record import DesiredServerState, HookReport, StoredApp, StoredSlot
from nova_market.core.app.slots import Draining, slots_for
from nova_market.core.app.template import MAX_DRAIN
from nova_market.core.market.owner_server import ServerState
from nova_market.core.resource import Array, Values
from nova_market.errors import BadWorkload

NODE = 'node'


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Jobs:
    """In order of submission; work: seconds on full servers; width: servers."""

    submit: Array
    work: Array
    width: Values

    def __post_init__(self) -> None:
        if (np.diff(self.submit) < 0).any():
            raise BadWorkload('jobs are not in order of submission')


@dataclass(slots=True, kw_only=True)
class Framework:
    """drain_timeout: seconds for the jobs of servers that are given up; 0: their jobs begin again elsewhere

    slots: its servers by number; boots: when those that come will be there; runs: servers of each job
    """

    name: str
    jobs: Jobs
    boot: float
    drain_timeout: float = MAX_DRAIN
    slots: dict[int, StoredSlot] = field(default_factory=dict)
    boots: dict[int, float] = field(default_factory=dict)
    upcoming: int = 0
    waits: list[int] = field(default_factory=list)
    runs: dict[int, tuple[int, ...]] = field(default_factory=dict)
    lost: float = 0.0
    """Seconds of work that were done in vain, on all servers of the jobs together."""

    left: Array = field(default_factory=lambda: np.zeros(0))
    end: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        self.left = self.jobs.work.copy()
        self.end = np.full(len(self.left), np.nan)

    @property
    def servers(self) -> int:
        """All that are paid for: also those that boot, and those that drain."""
        return len(self.slots)

    @property
    def stay(self) -> int:
        """Servers that it has not given up."""
        return sum(one.intention is DesiredServerState.PRESENT for one in self.slots.values())

    @property
    def ready(self) -> int:
        return len(self.slots) - len(self.boots)

    @property
    def busy(self) -> int:
        return sum(len(numbers) for numbers in self.runs.values())

    @property
    def waiting(self) -> int:
        """Servers that the jobs in the queue want."""
        return int(self.jobs.width[self.waits].sum()) if self.waits else 0

    @property
    def finished(self) -> bool:
        return self.upcoming == len(self.end) and not self.waits and not self.runs

    def resize(self, target: int, now: float) -> None:
        """Have so many servers: more are asked for, or some are given up, as the controller does it."""
        draining = Draining(
            now=now,
            timeout={NODE: self.drain_timeout},
            tasks={one.server_id: int(n in self._jobs) for n, one in self.slots.items()},
        )
        app = StoredApp(id=self.name, project_id=self.name, user_id='', template={})
        rows = list(self.slots.values())
        for row in slots_for(app, rows, {NODE: target}, DesiredServerState.PRESENT, draining):
            if row.intention is DesiredServerState.GONE:
                self._delete(row.number)
                continue
            if row.number not in self.slots:
                self.boots[row.number] = now + self.boot
            self.slots[row.number] = replace(row, server_id=f'{self.name}-{row.number}')
        self._drain(now)

    def tick(self, now: float, seconds: float, speed: float) -> None:
        """Arrivals and starts at `now`, then work of so many seconds."""
        arrived = int(np.searchsorted(self.jobs.submit, now, side='right'))
        self.waits += range(self.upcoming, arrived)
        self.upcoming = arrived
        for number in [n for n, at in self.boots.items() if at <= now]:
            del self.boots[number]
            self.slots[number] = replace(self.slots[number], address=f'10.0.0.{number}')
        self._drain(now)
        self._start()
        running = list(self.runs)
        self.left[running] -= seconds * speed
        for job in running:
            if self.left[job] <= 0:
                self.end[job] = now + seconds
                del self.runs[job]

    @property
    def _jobs(self) -> dict[int, int]:
        """The job of each busy server."""
        return {number: job for job, numbers in self.runs.items() for number in numbers}

    def _start(self) -> None:
        """First come, first served: no job passes the first in the queue."""
        if not self.waits:
            return
        busy = self._jobs
        idle = [
            number
            for number, one in self.slots.items()
            if one.intention is DesiredServerState.PRESENT and one.address and number not in busy
        ]
        while self.waits and (width := int(self.jobs.width[self.waits[0]])) <= len(idle):
            self.runs[self.waits.pop(0)] = tuple(idle[:width])
            del idle[:width]

    def _drain(self, now: float) -> None:
        """The agent of an idle server reports that its work has ended; whoever has ended goes."""
        busy = self._jobs
        for number, one in list(self.slots.items()):
            if one.intention is not DesiredServerState.DRAINING:
                continue
            state = ServerState.BUILDING if number in self.boots else ServerState.RUNNING
            report = HookReport(
                app_id=self.name, at=now, drain=one.drain_id, drained=number not in busy
            )
            if drain_end(one, state, report, now):
                self._delete(number)

    def _delete(self, number: int) -> None:
        """A job that ran there is the next in the queue, and begins again."""
        del self.slots[number]
        self.boots.pop(number, None)
        job = self._jobs.get(number)
        if job is not None:
            work = self.jobs.work[job]
            self.lost += float(work - self.left[job]) * int(self.jobs.width[job])
            self.left[job] = work
            del self.runs[job]
            self.waits.insert(0, job)
