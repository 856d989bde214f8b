# SPDX-License-Identifier: Apache-2.0
"""The lines of a tender queue: its workers of one flavor, and the jobs that were promised one of them.

Implements the FIFO queues of INRIA RR-7837, section 3.3.1 and eq. (2), for rule T2 of
doc/source/specs/tender.rst. A PE is a whole worker here. Seconds of the service's clock.

    a job begins when as many workers as it has servers are free, and the one before it has begun
    a worker is free again at its begin + time limit + handover

Differs from the paper: there each PE has a queue of its own, and a task stays with the PE that it was
promised. Here the workers of one flavor have one line, first in, first out: who is next gets the worker that
is free first. So no job begins later than on the PE that it was promised, and many begin earlier.

Why it holds: when jobs end earlier than was assumed, the sorted times at which workers are free are no later,
one by one; a job that nobody overtakes then begins no later, and leaves its workers no later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from math import inf

from nova_market.core.job.cloud_room import is_idle
from nova_market.core.job.queue import DesiredWorkerState, StoredQueue, StoredWorker
from nova_market.core.job.record import StoredAttempt, StoredJob
from nova_market.core.job.start_time import START_SECONDS

Key = tuple[str, str]
"""Id of a queue, name of a flavor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """How a job was accepted. waits: for a worker that was there; False: on a new one"""

    flavor: str
    waits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TenderFacts:
    """What a pass knows of tender queues.

    accepted: by the id of the job, of jobs that have not ended
    prices:   of each tender queue, by id: micro-credits of a core, a MiB and a GiB for an hour
    starts:   seconds in which a new worker starts, by flavor; start_seconds: of other flavors
    handover: from the end of a job until the next one runs
    silence:  seconds after which an idle worker that has not called gets no job
    """

    accepted: Mapping[str, Accepted] = field(default_factory=dict)
    prices: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    starts: Mapping[str, float] = field(default_factory=dict)
    start_seconds: float = START_SECONDS
    handover: float = 0.0
    silence: float = inf

    def start_of(self, flavor: str) -> float:
        """In which a new worker of this flavor starts."""
        return self.starts.get(flavor, self.start_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Rows are those of one pass.

    jobs: waiting jobs that were promised a worker that was there, by acceptance
    new:  waiting jobs that were promised a new one
    idle: host of each idle worker, the one that is idle for the shortest time first
    held: ids of idle workers that are kept for the first job, which needs more of them: nobody else gets them
    busy: until when each other worker has a job; of: the row of that job among the running ones, -1: none
    """

    queue: int
    flavor: str
    jobs: tuple[int, ...] = ()
    new: tuple[int, ...] = ()
    idle: tuple[int, ...] = ()
    held: tuple[str, ...] = ()
    busy: tuple[float, ...] = ()
    of: tuple[int, ...] = ()
    start_seconds: float = START_SECONDS
    handover: float = 0.0

    def free_at(self, now: float) -> list[float]:
        """When a job can begin on each worker: busy ones, then those without a job."""
        begin = now + self.handover
        free = len(self.idle) + len(self.held)
        return [max(one, begin) for one in self.busy] + [begin] * free

    @property
    def workers(self) -> int:
        """How many there are."""
        return len(self.idle) + len(self.held) + len(self.busy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """starts: of each job; inf: there are fewer workers than it needs
    free_at:  when each worker is free behind all of them, in the order in which workers were given
    last:     start of the last job: nobody begins before it
    """

    starts: tuple[float, ...]
    free_at: tuple[float, ...]
    last: float


def turns(free_at: Sequence[float], jobs: Iterable[tuple[int, float]], handover: float) -> Turns:
    """When the jobs of a line begin. jobs: (servers, time limit), the next one first."""
    after = list(free_at)
    heap = [(at, row) for row, at in enumerate(after)]
    heapify(heap)
    starts, last = [], -inf
    for servers, time_limit in jobs:
        if servers > len(heap):
            starts.append(inf)
            continue
        taken = [heappop(heap) for _ in range(servers)]
        last = max(last, taken[-1][0])
        starts.append(last)
        for _, row in taken:
            after[row] = last + time_limit + handover
            heappush(heap, (after[row], row))
    return Turns(starts=tuple(starts), free_at=tuple(after), last=last)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineWorkers:
    """Of each queue and flavor. idle: host and since when; busy: until when, and row of the running job"""

    idle: Mapping[Key, Sequence[tuple[int, float, str]]]
    busy: Mapping[Key, Sequence[tuple[float, int]]]


def workers_of(
    facts: TenderFacts,
    queues: Sequence[StoredQueue],
    running: Sequence[StoredJob],
    attempts: Mapping[str, Sequence[StoredAttempt]],
    workers: Sequence[StoredWorker],
    host_of: Mapping[str, int],
    occupied: frozenset[str],
    now: float,
) -> LineWorkers:
    """What the workers of tender queues do.

    running:  active jobs, by row
    occupied: ids of workers that an attempt which has not ended has
    """
    ours = {one.id for one in queues if one.is_tender}
    job_row = {one.id: row for row, one in enumerate(running) if one.queue_id in ours}
    idle: dict[Key, list[tuple[int, float, str]]] = {}
    busy: dict[Key, list[tuple[float, int]]] = {}
    for one in workers:
        if one.queue_id not in ours or one.intention is not DesiredWorkerState.PRESENT:
            continue
        key = (one.queue_id, one.flavor)
        if is_idle(one) and one.id not in occupied and one.id in host_of:
            if one.seen_at > max(now - facts.silence, 0.0):
                idle.setdefault(key, []).append((host_of[one.id], one.idle_since, one.id))
        elif (row := job_row.get(one.job_id)) is not None:
            busy.setdefault(key, []).append((_end(running[row], attempts, one, facts), row))
    return LineWorkers(idle=idle, busy=busy)


def lines_of(
    facts: TenderFacts,
    queues: Sequence[StoredQueue],
    waiting: Iterable[tuple[int, str, str]],
    servers: Mapping[int, int],
    workers: LineWorkers,
) -> tuple[Line, ...]:
    """All lines, by the row of the queue and the name of the flavor.

    waiting: (row, id, id of the queue) of jobs that wait, by submission; servers: of each job, by row
    """
    rows = {one.id: row for row, one in enumerate(queues) if one.is_tender}
    jobs: dict[Key, list[int]] = {}
    new: dict[Key, list[int]] = {}
    for row, job_id, queue_id in waiting:
        if queue_id in rows and (accepted := facts.accepted.get(job_id)) is not None:
            of_line = jobs if accepted.waits else new
            of_line.setdefault((queue_id, accepted.flavor), []).append(row)
    keys = sorted(
        {*workers.idle, *workers.busy, *jobs, *new}, key=lambda key: (rows[key[0]], key[1])
    )
    idle = {
        key: sorted(found, key=lambda one: (-one[1], one[2])) for key, found in workers.idle.items()
    }
    busy = {key: sorted(found) for key, found in workers.busy.items()}
    used = {
        key: _used([servers[row] for row in jobs.get(key, ())], len(found))
        for key, found in idle.items()
    }
    return tuple(
        Line(
            queue=rows[key[0]],
            flavor=key[1],
            jobs=tuple(jobs.get(key, ())),
            new=tuple(new.get(key, ())),
            idle=tuple(host for host, _, _ in idle.get(key, ())[: used.get(key, 0)]),
            held=tuple(name for _, _, name in idle.get(key, ())[used.get(key, 0) :]),
            busy=tuple(end for end, _ in busy.get(key, ())),
            of=tuple(row for _, row in busy.get(key, ())),
            start_seconds=facts.start_of(key[1]),
            handover=facts.handover,
        )
        for key in keys
    )


def served(
    lines: Sequence[Line], starts: Mapping[int, Sequence[int]], limits: Sequence[float], now: float
) -> tuple[Line, ...]:
    """The lines after these jobs have started. starts: hosts of their servers, by row of the waiting job

    limits: time limit of each waiting job, by row
    """
    if not starts:
        return tuple(lines)
    found = []
    for line in lines:
        idle, busy = list(line.idle), list(zip(line.busy, line.of, strict=True))
        for row in (*line.jobs, *line.new):
            for host in starts.get(row, ()):
                is_new = host not in idle
                if not is_new:
                    idle.remove(host)
                begin = now + line.handover + (line.start_seconds if is_new else 0.0)
                busy.append((begin + limits[row] + line.handover, -1))
        busy.sort()
        found.append(
            replace(
                line,
                jobs=tuple(row for row in line.jobs if row not in starts),
                new=tuple(row for row in line.new if row not in starts),
                idle=tuple(idle),
                busy=tuple(end for end, _ in busy),
                of=tuple(row for _, row in busy),
            )
        )
    return tuple(found)


def held_until(
    lines: Sequence[Line], servers: Sequence[int], limits: Sequence[float], now: float
) -> dict[int, float]:
    """Until when the workers of running jobs have jobs that were promised them, by row of the running job.

    servers, limits: of each waiting job, by row
    """
    found: dict[int, float] = {}
    for line in lines:
        if not line.jobs:
            continue
        jobs = [(int(servers[row]), float(limits[row])) for row in line.jobs]
        behind = turns(line.free_at(now), jobs, line.handover).free_at
        for row, end in zip(line.of, behind, strict=False):
            if row >= 0:
                found[row] = max(found.get(row, end), end)
    return found


def _used(servers: Sequence[int], idle: int) -> int:
    """How many of the idle workers are not held: those of the jobs that start, and all where nobody waits."""
    taken = 0
    for one in servers:
        if taken + one > idle:
            return taken
        taken += one
    return idle


def _end(
    job: StoredJob,
    attempts: Mapping[str, Sequence[StoredAttempt]],
    worker: StoredWorker,
    facts: TenderFacts,
) -> float:
    """When the next job can begin on the worker of a job that starts or runs."""
    if job.started_at:
        return job.started_at + job.time_limit + facts.handover
    begun = [one.created_at for one in attempts.get(job.id, ()) if one.number == job.attempt]
    at = min(begun, default=job.changed_at)
    starts = facts.start_of(worker.flavor) if worker.created_at >= at else 0.0
    return at + facts.handover + starts + job.time_limit + facts.handover
