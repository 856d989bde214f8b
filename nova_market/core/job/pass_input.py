# SPDX-License-Identifier: Apache-2.0
"""What the stores and the cloud hold, as the snapshot of one selection pass, and the ids of its rows.

Implements the input of rules J3 and J4 of doc/source/specs/jobs.rst for SVMSched, section 4.2.2. Pure: the
rows may be older than each other, so what does not go together is left out: a job of a queue that is gone,
a job that waits while a worker still has it, a host that is not there any more.

- Waiting jobs are in the order of their submission, running ones of their numbers, queues of their names:
  ties break on the row. Jobs that were suspended come last among the waiting ones: the pass lets them go on
  as it starts others.
- A job holds what its workers hold; one that is suspended holds what Placement counts (core.job.cloud_room).
- A worker that is to go, and whose job has ended, leaves room soon: it stands among the running jobs, behind
  all others, as one that leaves. So nobody is preempted for what is free as soon as its server is deleted.
- `claim`: jobs for which others were preempted, until they start.
- Nothing preempts a production job, nor a best-effort job whose flavor forbids it: their least run time is
  infinite. Limits of queues and jobs are those in force (core.job.operator_limits).
- A queue that has as many active jobs as it allows has no candidates.
- Jobs that were promised a worker of a tender queue (core.job.pe_line) have a claim too.

Units and shapes as in columns.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.job.cloud_room import CloudRoom
from nova_market.core.job.columns import Hosts, Queues, RunningJobs, WaitingJobs
from nova_market.core.job.lifecycle import Lifecycle
from nova_market.core.job.pass_rows import (
    OwnerRows,
    WaitingColumns,
    running_columns,
    with_leaving,
)
from nova_market.core.job.pe_line import Line, TenderFacts, held_until, lines_of, workers_of
from nova_market.core.job.policy_interface import JobSettings, JobSnapshot
from nova_market.core.job.queue import StoredQueue, StoredWorker
from nova_market.core.job.queue_order import state_of
from nova_market.core.job.record import (
    OPEN_ATTEMPT,
    JobState,
    JobWish,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.store_values import WaitingRows, rows_of
from nova_market.core.resource import Array, Rows

HOLDS_ROOM = (JobState.STARTING, JobState.RUNNING, JobState.PREEMPTING)

Policy = tuple[str, tuple[tuple[str, float], ...]]
"""Name of an entry point of nova_market.job_policy, and its keyword arguments by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassMemory:
    """What is carried from pass to pass, and stored.

    order:  ids of queues, the next one to be served first (core.job.queue_order)
    claims: ids of waiting jobs for which others were preempted
    """

    order: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWork:
    """What the stores hold. attempts: of the active jobs, by job; workers: all, of all queues.

    usage: core-seconds that each project has used in each queue up to now, decayed
           (core.job.decayed_usage), by (queue id, project id)
    lifecycles: what flavors state of preemption, by the flavor as jobs name it
    tender:  of tender queues
    """

    waiting: WaitingRows
    active: Sequence[StoredJob]
    attempts: Mapping[str, Sequence[StoredAttempt]]
    workers: Sequence[StoredWorker]
    queues: Sequence[StoredQueue]
    usage: Mapping[tuple[str, str], float] = field(default_factory=dict)
    lifecycles: Mapping[str, Lifecycle] = field(default_factory=dict)
    tender: TenderFacts = field(default_factory=TenderFacts)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PassInput:
    """A snapshot, and what its rows are.

    job_ids:   of the waiting jobs, by row; the last `len(suspended)` of them are of `suspended`
    running:   active jobs that hold room, by row in RunningJobs; rows behind them are workers that go
    queues:    by row; policies: by the numbers in `snapshot.queues.policy`
    more:      (queues,) so many jobs of each may start; inf: any number
    number, reasons, expected: what is stored of the waiting jobs: number of submission, code of the
               reason, and expected start (NaN: none)
    claims:    ids of jobs for which others were preempted
    busy:      ids of workers that an attempt which has not ended has, whatever their rows state
    """

    snapshot: JobSnapshot
    job_ids: Sequence[str]
    suspended: tuple[StoredJob, ...]
    running: tuple[StoredJob, ...]
    attempts: Mapping[str, Sequence[StoredAttempt]]
    queues: tuple[StoredQueue, ...]
    policies: tuple[Policy, ...]
    room: CloudRoom
    more: Array
    number: Rows
    reasons: Sequence[str]
    expected: Array
    claims: frozenset[str]
    busy: frozenset[str]
    tender: TenderFacts = field(default_factory=TenderFacts)


def part_of(work: StoredWork, queues: Sequence[str], jobs: Sequence[str]) -> StoredWork:
    """The same with these queues and jobs alone, by id; what others hold is not free all the same."""
    of_queues, chosen = frozenset(queues), frozenset(jobs)
    if len(of_queues) == len(work.queues) and len(chosen) == len(work.waiting.ids) + len(
        work.active
    ):
        return work
    there = np.array(
        [
            queue in of_queues and job in chosen
            for queue, job in zip(work.waiting.queue_ids, work.waiting.ids, strict=True)
        ],
        dtype=np.bool_,
    )
    return replace(
        work,
        waiting=rows_of(work.waiting, there),
        active=[one for one in work.active if one.queue_id in of_queues and one.id in chosen],
        workers=[one for one in work.workers if one.queue_id in of_queues],
        queues=[one for one in work.queues if one.id in of_queues],
    )


def gathered(
    work: StoredWork,
    room: CloudRoom,
    memory: PassMemory,
    *,
    now: float,
    price: Array | None = None,
    settings: JobSettings | None = None,
) -> PassInput:
    """The input of one pass. price: micro-credits for one unit of each axis and second, (AXES,)."""
    queues = tuple(sorted(work.queues, key=lambda one: (one.name, one.id)))
    queue_row = {one.id: row for row, one in enumerate(queues)}
    holding, suspended = _active(work.active, queue_row)
    waits = WaitingColumns(work.waiting, suspended, queue_row)
    held = [(one.queue_id, one.project_id) for one in holding]
    used = [one for one in work.usage if one[0] in queue_row]
    left = _left_behind(room, holding, queue_row)
    behind = [(one.queue_id, queues[queue_row[one.queue_id]].project_id) for one in left]
    owners = OwnerRows(waits, [*held, *used, *behind], queue_row)
    more = _allowed(queues, [*holding, *suspended], queue_row)
    claims = {*memory.claims, *(one.displaced_by for one in holding if one.displaced_by)}
    lines, room, busy = _lines(work, queues, waits, holding, room, now)
    occupied = waits.among({one.job_id for one in work.workers if one.job_id})
    policy_of = [selection_of(one) for one in queues]
    policies = {one: row for row, one in enumerate(dict.fromkeys(policy_of))}
    running = running_columns(
        holding, work.attempts, room.host_of, work.lifecycles, _rows(holding, queue_row), owners.rows(held)
    )  # fmt: skip
    running = _with_left(running, left, owners.rows(behind), room, queue_row, now)
    waiting = waits.columns(owners.of_waiting, claims | _promised(lines, waits))
    seen = JobSnapshot(
        now=now,
        waiting=waiting,
        running=_held(running, lines, waiting, now),
        queues=_queue_columns(queues, [policies[one] for one in policy_of], room),
        owners=owners.columns(queues, work.usage),
        hosts=Hosts(capacity=room.capacity, free=room.free, aggregates=room.aggregates),
        state=state_of(memory.order, [one.id for one in queues]),
        candidates=waits.is_suspended | ((more[waits.queue] > 0) & ~occupied),
        calendar=room.calendar,
        price=np.zeros(len(AXES)) if price is None else price,
        settings=settings or JobSettings(),
        lines=lines,
    )
    return PassInput(
        snapshot=seen, job_ids=waits.ids, suspended=suspended, running=holding, attempts=work.attempts,
        queues=queues, policies=tuple(policies), room=room, more=more, number=waits.number, busy=busy,
        reasons=waits.reasons, expected=waits.expected, claims=frozenset(claims), tender=work.tender,
    )  # fmt: skip


def _active(
    jobs: Sequence[StoredJob], queue_row: Mapping[str, int]
) -> tuple[tuple[StoredJob, ...], tuple[StoredJob, ...]]:
    """(those that hold room, those that are suspended and are to go on)."""
    active = [one for one in jobs if one.queue_id in queue_row]
    return (
        tuple(one for one in active if one.state in HOLDS_ROOM),
        tuple(one for one in active if one.state is JobState.SUSPENDED and one.wish is JobWish.RUN),
    )


def _promised(lines: Sequence[Line], waits: WaitingColumns) -> set[str]:
    """Ids of jobs that were promised a worker."""
    return {waits.ids[row] for line in lines for row in (*line.jobs, *line.new)}


def _lines(
    work: StoredWork,
    queues: Sequence[StoredQueue],
    waits: WaitingColumns,
    holding: Sequence[StoredJob],
    room: CloudRoom,
    now: float,
) -> tuple[tuple[Line, ...], CloudRoom, frozenset[str]]:
    """(of all tender queues, the room without what they hold, ids of workers that are busy or held)."""
    mine, busy = [row for row, one in enumerate(queues) if one.is_tender], _busy(work)
    if not mine:
        return (), room, busy
    rows = np.flatnonzero(np.isin(waits.queue, mine)).tolist()
    waiting = [(row, waits.ids[row], queues[waits.queue[row]].id) for row in rows]
    workers = workers_of(
        work.tender, queues, holding, work.attempts, work.workers, room.host_of, busy, now
    )
    servers = {row: int(waits.servers[row]) for row in rows}
    lines = lines_of(work.tender, queues, waiting, servers, workers)
    held = frozenset(name for line in lines for name in line.held)
    free = room.free.copy()
    for one in work.workers:
        if one.id in held:
            free[:, room.host_of[one.id]] -= [one.cores, one.memory_mib, one.disk_gib]
    return lines, replace(room, free=np.maximum(free, 0.0)), busy | held


def _held(
    running: RunningJobs, lines: Sequence[Line], waiting: WaitingJobs, now: float
) -> RunningJobs:
    """Running jobs, whose workers stay where they are for the jobs that were promised them."""
    held = held_until(lines, waiting.servers.tolist(), waiting.time_limit.tolist(), now)
    if not held:
        return running
    ends = running.ends.copy()
    for row, end in held.items():
        ends[row] = max(ends[row], end)
    return replace(running, ends=ends)


def _left_behind(
    room: CloudRoom, holding: Sequence[StoredJob], queue_row: Mapping[str, int]
) -> list[StoredWorker]:
    """Workers that are to go and whose jobs hold nothing any more."""
    counted = {one.id for one in holding}
    return [one for one in room.leaving if one.job_id not in counted and one.queue_id in queue_row]


def _with_left(
    running: RunningJobs,
    left: Sequence[StoredWorker],
    owner: Rows,
    room: CloudRoom,
    queue_row: Mapping[str, int],
    now: float,
) -> RunningJobs:
    queue = np.array([queue_row[one.queue_id] for one in left], dtype=np.intp)
    return with_leaving(running, left, room.host_of, now, queue, owner)


def _queue_columns(queues: Sequence[StoredQueue], policy: Sequence[int], room: CloudRoom) -> Queues:
    return Queues(
        share=np.array([one.share for one in queues], dtype=np.float64),
        aggregate=np.array([room.aggregate_row[one.aggregate] for one in queues], dtype=np.intp),
        short_below=np.array([one.short_below for one in queues], dtype=np.float64),
        policy=np.array(policy, dtype=np.intp),
    )


def selection_of(queue: StoredQueue) -> Policy:
    """The policy of a queue, with its parameters: one selection serves all queues that have the same."""
    return queue.policy, tuple(sorted(queue.parameters.items()))


def _allowed(
    queues: Sequence[StoredQueue], active: Sequence[StoredJob], queue_row: Mapping[str, int]
) -> Array:
    """(queues,): how many more jobs each may have active at once."""
    most = np.array([_most(one) for one in queues], dtype=np.float64)
    return np.maximum(most - _counts(active, queue_row), 0.0)


def _most(queue: StoredQueue) -> float:
    """Jobs that may be active at once."""
    limit = queue.limits.max_running
    return np.inf if limit is None else float(limit)


def _counts(jobs: Sequence[StoredJob], queue_row: Mapping[str, int]) -> Array:
    """(queues,): how many of these jobs each has."""
    rows = _rows(jobs, queue_row)
    return np.bincount(rows, minlength=len(queue_row)).astype(np.float64)


def _rows(jobs: Sequence[StoredJob], queue_row: Mapping[str, int]) -> Rows:
    """(jobs,): row of the queue of each."""
    return np.array([queue_row[one.queue_id] for one in jobs], dtype=np.intp)


def _busy(work: StoredWork) -> frozenset[str]:
    return frozenset(
        one.worker_id
        for parts in work.attempts.values()
        for one in parts
        if one.state in OPEN_ATTEMPT
    )
