# SPDX-License-Identifier: Apache-2.0
"""Batch schedulers as baselines: FCFS, EASY backfilling, earliest deadline first; rigid jobs, no preemption.

Implements the baselines of Merkat (INRIA RR-8648), section 3.2.2 (FCFS, EDF), and EASY backfilling as
D. Lifka described it (JSSPP 1995): only the first in the queue has a reservation, and whoever does not
delay it may go first. Events are arrivals and ends; ends of an instant come before its arrivals.
Units: seconds, processors of one machine. Deterministic: ties go by order of submission.

Differs from the paper, which leaves it open: EDF can drop jobs that can no longer meet their deadline.
"""

from bisect import insort
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

import numpy as np

from nova_market.errors import BadWorkload
from nova_market.sim.baseline.schedule import Schedule
from nova_market.sim.workload.job import Terms, Workload


@dataclass(slots=True, kw_only=True)
class Machine:
    """Free processors, and the jobs that run: a heap of (end, job)."""

    free: int
    running: list[tuple[float, int]] = field(default_factory=list)


Begin = Callable[[int, float], None]


def fcfs(workload: Workload, processors: int) -> Schedule:
    """First come, first served: no job passes the first in the queue."""
    submit, run, width = _columns(workload, processors)
    start = [0.0] * len(submit)
    free, now = processors, 0.0
    running: list[tuple[float, int]] = []
    for job, arrived in enumerate(submit):
        # the one before has started: only the ends that come up are left to wait for
        now = max(now, arrived)
        while running and running[0][0] <= now:
            free += width[heappop(running)[1]]
        while free < width[job]:
            now, ended = heappop(running)
            free += width[ended]
            while running and running[0][0] <= now:
                free += width[heappop(running)[1]]
        free -= width[job]
        start[job] = now
        heappush(running, (now + run[job], job))
    return _schedule(workload, start)


def easy(workload: Workload, processors: int) -> Schedule:
    """EASY backfilling by the estimates of the users."""
    _, run, width = _columns(workload, processors)
    estimate: list[float] = workload.estimate.tolist()
    start = [np.nan] * len(run)
    queue: deque[int] = deque()
    machine = Machine(free=processors)
    # (expected end, job) in order, for the reservation
    expected: list[tuple[float, int]] = []

    def begin(job: int, now: float) -> None:
        start[job] = now
        machine.free -= width[job]
        heappush(machine.running, (now + run[job], job))
        insort(expected, (now + estimate[job], job))

    def ended(job: int) -> None:
        expected.remove((start[job] + estimate[job], job))

    def serve(now: float) -> None:
        while queue and width[queue[0]] <= machine.free:
            begin(queue.popleft(), now)
        if len(queue) > 1 and machine.free:
            _backfill(now, queue, machine, expected, (width, estimate), begin)

    _events(workload, width, machine, queue.append, ended, serve)
    return _schedule(workload, start)


def _backfill(
    now: float,
    queue: deque[int],
    machine: Machine,
    expected: list[tuple[float, int]],
    jobs: tuple[list[int], list[float]],
    begin: Begin,
) -> None:
    """Whoever fits and ends before the first one's reservation, or leaves it the processors it needs."""
    width, estimate = jobs
    shadow, available = now, machine.free
    for end, job in expected:
        # all that end with the one that makes room leave their processors too
        if available >= width[queue[0]] and end > shadow:
            break
        available += width[job]
        shadow = end
    extra = available - width[queue[0]]
    waiting = iter(list(queue))
    passed: set[int] = set()
    next(waiting)
    for job in waiting:
        if not machine.free:
            break
        needed = width[job]
        if needed > machine.free:
            continue
        if now + estimate[job] > shadow:
            if needed > extra:
                continue
            extra -= needed
        begin(job, now)
        passed.add(job)
    if passed:
        left = [job for job in queue if job not in passed]
        queue.clear()
        queue.extend(left)


def edf(workload: Workload, processors: int, terms: Terms, *, drop: bool = True) -> Schedule:
    """Earliest deadline first; no job passes the first in the queue.

    drop: jobs that would end after their deadline, started now, are thrown away
    """
    _, run, width = _columns(workload, processors)
    deadline: list[float] = terms.deadline.tolist()
    start = [np.nan] * len(run)
    queue: list[tuple[float, int]] = []
    machine = Machine(free=processors)

    def serve(now: float) -> None:
        while queue:
            job = queue[0][1]
            if drop and now + run[job] > deadline[job]:
                heappop(queue)
                continue
            if width[job] > machine.free:
                return
            heappop(queue)
            start[job] = now
            machine.free -= width[job]
            heappush(machine.running, (now + run[job], job))

    def arrive(job: int) -> None:
        heappush(queue, (deadline[job], job))

    _events(workload, width, machine, arrive, lambda _: None, serve)
    return _schedule(workload, start)


def _events(
    workload: Workload,
    width: list[int],
    machine: Machine,
    arrive: Callable[[int], None],
    ended: Callable[[int], None],
    serve: Callable[[float], None],
) -> None:
    """The clock: from instant to instant, first ends, then arrivals, then the queue is served."""
    submit: list[float] = workload.submit.tolist()
    running, count, upcoming = machine.running, len(submit), 0
    heapify(running)
    while upcoming < count or running:
        arrival = submit[upcoming] if upcoming < count else np.inf
        now = min(arrival, running[0][0]) if running else arrival
        while running and running[0][0] <= now:
            _, job = heappop(running)
            machine.free += width[job]
            ended(job)
        while upcoming < count and submit[upcoming] <= now:
            arrive(upcoming)
            upcoming += 1
        serve(now)


def _columns(workload: Workload, processors: int) -> tuple[list[float], list[float], list[int]]:
    """Lists: Python reads single numbers from them several times faster than from arrays.

    :raises BadWorkload: a job is wider than the machine.
    """
    if len(workload) and int(workload.processors.max()) > processors:
        row = int(workload.processors.argmax())
        raise BadWorkload(
            f'job {workload.number[row]} needs {workload.processors[row]} processors and there are '
            f'{processors}: leave it out or give more'
        )
    return workload.submit.tolist(), workload.run.tolist(), workload.processors.tolist()


def _schedule(workload: Workload, start: list[float]) -> Schedule:
    began = np.array(start, dtype=np.float64)
    return Schedule(start=began, end=began + workload.run)
