# SPDX-License-Identifier: Apache-2.0
"""A batch framework as an application: a queue of jobs, and servers that come, work and go.

Models the frameworks of Merkat (INRIA RR-8648), section 3.3 (Condor, Torque). Units: seconds, servers of one
core. Jobs start in order of arrival, on as many servers as they are wide, and run at the speed of the
servers; a server takes `boot` seconds to come, and one that is to go finishes its job first.
Times are whole ticks: a job that ends within one leaves its servers at the end of it.
"""

from dataclasses import dataclass, field

import numpy as np

from nova_market.core.resource import Array, Values
from nova_market.errors import BadWorkload


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
    """target: servers that it is to have; boots: when those that come will be there."""

    name: str
    jobs: Jobs
    boot: float
    target: int = 0
    ready: int = 0
    boots: list[float] = field(default_factory=list)
    upcoming: int = 0
    waits: list[int] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    left: Array = field(default_factory=lambda: np.zeros(0))
    end: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        self.left = self.jobs.work.copy()
        self.end = np.full(len(self.left), np.nan)

    @property
    def servers(self) -> int:
        """All that are paid for, those that boot too."""
        return self.ready + len(self.boots)

    @property
    def busy(self) -> int:
        return int(self.jobs.width[self.runs].sum()) if self.runs else 0

    @property
    def waiting(self) -> int:
        """Servers that the jobs in the queue want."""
        return int(self.jobs.width[self.waits].sum()) if self.waits else 0

    @property
    def finished(self) -> bool:
        return self.upcoming == len(self.end) and not self.waits and not self.runs

    def resize(self, target: int, now: float) -> None:
        """Ask for servers, or give some back: those that boot, then idle ones, then as they become idle."""
        self.target = target
        self.boots += [now + self.boot] * (target - self.servers)
        del self.boots[max(target - self.ready, 0) :]
        self._give_back()

    def tick(self, now: float, seconds: float, speed: float) -> None:
        """Arrivals and starts at `now`, then work of so many seconds."""
        arrived = int(np.searchsorted(self.jobs.submit, now, side='right'))
        self.waits += range(self.upcoming, arrived)
        self.upcoming = arrived
        self.ready += sum(at <= now for at in self.boots)
        self.boots = [at for at in self.boots if at > now]
        self._give_back()
        self._start()
        self.left[self.runs] -= seconds * speed
        over = [job for job in self.runs if self.left[job] <= 0]
        self.end[over] = now + seconds
        self.runs = [job for job in self.runs if self.left[job] > 0]

    def _start(self) -> None:
        """First come, first served: no job passes the first in the queue."""
        idle = self.ready - self.busy
        while self.waits and self.jobs.width[self.waits[0]] <= idle:
            job = self.waits.pop(0)
            self.runs.append(job)
            idle -= int(self.jobs.width[job])

    def _give_back(self) -> None:
        self.ready = min(self.ready, max(self.target, self.busy))
