# SPDX-License-Identifier: Apache-2.0
"""Jobs on hosts, from event to event: arrivals, ends, preemptions; whoever selects them is given.

The workflow of SVMSched (papers, section 4.2.2) and rules J3 to J5 of doc/source/specs/jobs.rst.
Deterministic: events of an instant are ends in order of job, then arrivals in order of submission, then
the selection until it chooses nothing more. Units: seconds.

Workers take `boot` seconds to come, unless one of the queue with this size is idle on that host; a gang
begins when its last worker is there. A job is ended at its time limit. A preempted one has `notice`
seconds, in which it may still end, and begins again from its beginning; it waits by its first submission.
"""

from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

import numpy as np

from nova_market.core.resource import Array, Values
from nova_market.errors import BadWorkload, ExperimentFailed
from nova_market.sim.job.hosts import Hosts, never_fit
from nova_market.sim.job.outcome import Holdings, Outcome
from nova_market.sim.job.submission import Submissions
from nova_market.sim.job.world import Attempt, Preemption, Selector, Start, World

WAKE = -1
"""In the place of a job: nothing ends, but the selection may choose otherwise from then on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSetting:
    """boot: seconds until a worker is there; notice: seconds between the decision to preempt a job and its
    end
    keep: seconds that a worker without a job stays (J1); with 0 none is reused
    least_run_time: seconds in which a best-effort job is not preempted (J4)
    """

    boot: float = 0.0
    keep: float = 0.0
    notice: float = 0.0
    least_run_time: float = 0.0

    def __post_init__(self) -> None:
        for name in ('boot', 'keep', 'notice', 'least_run_time'):
            if not 0.0 <= (value := getattr(self, name)) < np.inf:
                raise BadWorkload(f'{name} of workers is {value:g} s: give 0 or more')


@dataclass(slots=True, kw_only=True)
class JobRun:
    """One run; `run` may be called once."""

    jobs: Submissions
    hosts: Hosts
    selector: Selector
    setting: WorkerSetting = field(default_factory=WorkerSetting)
    world: World = field(init=False)
    _ends: list[tuple[float, int, float]] = field(default_factory=list)
    """Heap of (end, job, begin of the attempt that it is of)."""

    _held: list[tuple[int, float, float, bool]] = field(default_factory=list)
    """(job, begin, end, lost) in order of their beginnings; infinite ends of those that have not ended."""

    _place: dict[int, int] = field(default_factory=dict)
    """Where the attempt of a job is in `_held`."""

    _start: Array = field(init=False)
    _end: Array = field(init=False)
    _preemptions: Values = field(init=False)
    _booted: int = 0
    _reused: int = 0

    def __post_init__(self) -> None:
        for row in never_fit(self.jobs, self.hosts):
            raise BadWorkload(
                f'job {self.jobs.number[row]} needs {self.jobs.servers[row]} servers of '
                f'{self.jobs.cores[row]} cores and {self.jobs.memory_mib[row]:g} MiB, which the empty '
                'hosts do not have: leave it out or give more'
            )
        self.world = World(jobs=self.jobs, hosts=self.hosts)
        self._start = np.full(len(self.jobs), np.nan)
        self._end = np.full(len(self.jobs), np.nan)
        self._preemptions = np.zeros(len(self.jobs), dtype=np.int64)

    def run(self) -> Outcome:
        """Until nothing happens any more; jobs that nobody ever chose are without an end.

        :raises ExperimentFailed: the selection preempts and starts without an end.
        """
        submit: list[float] = self.jobs.submit.tolist()
        upcoming, count = 0, len(submit)
        while upcoming < count or self._ends:
            arrival = submit[upcoming] if upcoming < count else np.inf
            now = self.world.now = min(arrival, self._ends[0][0]) if self._ends else arrival
            while self._ends and self._ends[0][0] <= now:
                self._ended(*heappop(self._ends)[1:])
            self.hosts.expire(now - self.setting.keep)
            while upcoming < count and submit[upcoming] <= now:
                self.world.waiting.append(upcoming)
                upcoming += 1
            self._select()
        return self._outcome()

    def _select(self) -> None:
        gone: set[int] = set()
        while True:
            choice = self.selector.choose(self.world)
            if not choice.starts and not choice.preemptions:
                return
            for one in choice.preemptions:
                if one.job in gone:
                    raise ExperimentFailed(
                        f'job {self.jobs.number[one.job]} was preempted twice at {self.world.now:g} s'
                    )
                gone.add(one.job)
                self._preempt(one)
            for start in choice.starts:
                self._begin(start)

    def _begin(self, start: Start) -> None:
        job, now = start.job, self.world.now
        if len(start.hosts) != self.jobs.servers[job]:
            raise BadWorkload(
                f'job {self.jobs.number[job]} has {self.jobs.servers[job]} servers and was given '
                f'{len(start.hosts)} hosts'
            )
        self.world.waiting.remove(job)
        if job in self.world.claims:
            self.world.claims.remove(job)
        reused = [self.hosts.occupy(host, job, self.jobs) for host in start.hosts]
        self._reused += sum(reused)
        self._booted += len(reused) - sum(reused)
        ready = now if all(reused) else now + self.setting.boot
        limit = ready + float(self.jobs.time_limit[job])
        end = min(ready + float(self.jobs.run[job]), limit)
        least = self.setting.least_run_time
        self.world.attempts[job] = Attempt(
            hosts=start.hosts, begin=now, start=ready, end=end, limit=limit, least_run_time=least
        )
        if least > 0 and self.jobs.best_effort[job]:
            heappush(self._ends, (now + least, WAKE, now))
        self._place[job] = len(self._held)
        self._held.append((job, now, np.inf, False))
        heappush(self._ends, (end, job, now))

    def _preempt(self, one: Preemption) -> None:
        until = self.world.now + self.setting.notice
        attempt = self.world.attempts[one.job]
        self.world.attempts[one.job] = replace(attempt, until=until)
        if one.displacer not in self.world.claims:
            self.world.claims.append(one.displacer)
        if self.setting.notice > 0:
            heappush(self._ends, (until, one.job, attempt.begin))
        else:
            self._ended(one.job, attempt.begin)

    def _ended(self, job: int, begin: float) -> None:
        """Its script has ended, or its notice; events of an attempt that is over mean nothing."""
        attempt = self.world.attempts.get(job)
        if attempt is None or attempt.begin != begin:
            return
        now, lost = self.world.now, attempt.end > self.world.now
        del self.world.attempts[job]
        self._held[self._place.pop(job)] = (job, attempt.begin, now, lost)
        for host in attempt.hosts:
            self.hosts.leave(host, job, self.jobs)
            if self.setting.keep > 0 and attempt.start <= now:
                self.hosts.keep(host, job, self.jobs, now)
        if lost:
            self._preemptions[job] += 1
            self.world.waiting = sorted([*self.world.waiting, job])
        else:
            self._start[job], self._end[job] = attempt.start, attempt.end

    def _outcome(self) -> Outcome:
        job, begin, end, lost = zip(*self._held, strict=True) if self._held else ((), (), (), ())
        return Outcome(
            start=self._start,
            end=self._end,
            preemptions=self._preemptions,
            holdings=Holdings(
                job=np.array(job, dtype=np.intp),
                begin=np.array(begin, dtype=np.float64),
                end=np.array(end, dtype=np.float64),
                lost=np.array(lost, dtype=np.bool_),
            ),
            booted=self._booted,
            reused=self._reused,
        )
