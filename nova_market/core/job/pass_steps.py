# SPDX-License-Identifier: Apache-2.0
"""What one pass writes: jobs that start, jobs that are preempted, and why the others wait.

Implements rules J3, J4, J6 and F5 of doc/source/specs/jobs.rst: each job's part of the plan is one JobStep,
with its attempt and its workers, that is stored before the cloud is asked for anything, and only if the job
is still where it was. A job that has left WAITING meanwhile, or that the caller could not read, is passed
over; an attempt has the number behind the newest one, so a stale row starts nothing twice.

A job whose queue has too many active ones already does not start, and nothing is preempted for it.

The steps of a job that was suspended: SUSPENDED -> STARTING, with its workers wanted again;
core.job.progress sees them run. Seconds of the caller's clock.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.job.attempt import KEPT, WorkerPace
from nova_market.core.job.charge import Displacement, compensation_due
from nova_market.core.job.pass_input import PassInput, PassMemory
from nova_market.core.job.pass_reasons import explanations
from nova_market.core.job.pass_rows import newest
from nova_market.core.job.pass_starts import Staff, Start, amounts_of, staff_of
from nova_market.core.job.policy_interface import JobPlan
from nova_market.core.job.queue import DesiredWorkerState, StoredQueue, StoredWorker, WorkerState
from nova_market.core.job.queue_order import ids_of
from nova_market.core.job.record import (
    OPEN_ATTEMPT,
    AttemptState,
    JobAction,
    JobEvent,
    JobState,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.room import hosts_of
from nova_market.core.job.store_values import JobExplanation, JobStep
from nova_market.core.resource import Array

AT_REST = (DesiredWorkerState.SUSPENDED, DesiredWorkerState.SHELVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassSteps:
    """steps: for JobStore.decide; explanations: for JobStore.explain; memory: for the next pass."""

    steps: tuple[JobStep, ...]
    explanations: tuple[JobExplanation, ...]
    memory: PassMemory


def starting(plan: JobPlan, seen: PassInput) -> tuple[str, ...]:
    """Ids of jobs that start or displace others: their rows are what `steps_of` needs."""
    rows = dict.fromkeys([*plan.starts.tolist(), *plan.preemptions.displacer.tolist()])
    return tuple(seen.job_ids[row] for row in rows)


def steps_of(
    plan: JobPlan,
    seen: PassInput,
    *,
    jobs: Mapping[str, StoredJob],
    workers: Sequence[StoredWorker],
    new_id: Callable[[], str],
    digest_of: Callable[[str], str],
    turn: int,
    now: float,
    pace: WorkerPace | None = None,
) -> PassSteps:
    """What to write after this plan.

    jobs:    those that start or displace others, as they are now, by id
    workers: all that are stored
    new_id:  an id for a new worker; digest_of: SHA-256 of the credential of the worker with this id
    turn:    number of the pass (core.job.pass_reasons)
    """
    allowed = _within_limits(plan, seen)
    starts = _starts(plan, seen, jobs, allowed)

    def new_worker(job: StoredJob, rank: int, host: str) -> StoredWorker:
        worker_id = new_id()
        return StoredWorker(
            id=worker_id, queue_id=job.queue_id, flavor=job.flavor, cores=job.cores,
            memory_mib=job.memory_mib, disk_gib=job.disk_gib, host=host,
            credential=digest_of(worker_id), project_id=job.project_id, job_id=job.id,
            attempt=job.attempt + 1, rank=rank, created_at=now,
        )  # fmt: skip

    silence = (pace or WorkerPace()).silence
    staff, more_going = staff_of(
        starts, seen, workers, new_worker, now=now, silence=silence, back=_coming_back(plan, seen)
    )
    begun = [_start(one, its, now) for one, its in zip(starts, staff, strict=True)]
    preempted = _preemptions(plan, seen, allowed, jobs, {one.id: one for one in workers}, now)
    started = {one.job_id for one in begun}
    made = [seen.job_ids[row] for row in plan.preemptions.displacer.tolist() if row in allowed]
    ids = frozenset(seen.job_ids)
    claims = tuple(sorted({one for one in (*seen.claims, *made) if one in ids} - started))
    return PassSteps(
        steps=(*preempted, *begun, *_resumed(plan, seen, workers, more_going, now)),
        explanations=explanations(plan, seen, allowed, turn),
        memory=PassMemory(
            order=tuple(ids_of(plan.state, [one.id for one in seen.queues])), claims=claims
        ),
    )


def _within_limits(plan: JobPlan, seen: PassInput) -> frozenset[int]:
    """Rows of jobs for which their queues allow one more active job, in the order of the plan."""
    more = seen.more.copy()
    first_suspended = len(seen.job_ids) - len(seen.suspended)
    found = []
    for row in dict.fromkeys([*plan.starts.tolist(), *plan.preemptions.displacer.tolist()]):
        queue = seen.snapshot.waiting.queue[row]
        if row < first_suspended:
            if more[queue] < 1:
                continue
            more[queue] -= 1
        found.append(row)
    return frozenset(found)


def _starts(
    plan: JobPlan, seen: PassInput, jobs: Mapping[str, StoredJob], allowed: frozenset[int]
) -> list[Start]:
    """Jobs that wait indeed, each with the host of each of its servers."""
    first_suspended = len(seen.job_ids) - len(seen.suspended)
    hosts = hosts_of(plan.placement)
    found = []
    for row in plan.starts.tolist():
        job = jobs.get(seen.job_ids[row])
        if row >= first_suspended or row not in allowed or job is None:
            continue
        if job.state is JobState.WAITING and job.servers == len(hosts[row]):
            found.append(Start(row=row, job=job, hosts=tuple(hosts[row])))
    return found


def _start(start: Start, staff: Staff, now: float) -> JobStep:
    job, number = start.job, start.job.attempt + 1
    idle = sum(one.state is WorkerState.BUSY for one in staff.workers)
    return JobStep(
        job_id=job.id,
        before=JobState.WAITING,
        changed={
            'state': JobState.STARTING, 'attempt': number, 'started_at': 0.0, 'ended_at': 0.0,
            'exit_code': None, 'displaced_by': '', 'reason': None, 'expected_start': None,
        },
        attempts=tuple(
            StoredAttempt(
                job_id=job.id, number=number, rank=rank, worker_id=one.id, created_at=now
            )
            for rank, one in enumerate(staff.workers)
        ),
        workers=(*staff.workers, *staff.going),
        events=(
            JobEvent(
                job_id=job.id, at=now, action=JobAction.STARTING, attempt=number, reason='it fits',
                numbers={'idle_workers': idle, 'new_workers': len(staff.workers) - idle},
            ),
        ),
    )  # fmt: skip


def _preemptions(
    plan: JobPlan,
    seen: PassInput,
    allowed: frozenset[int],
    jobs: Mapping[str, StoredJob],
    workers: Mapping[str, StoredWorker],
    now: float,
) -> list[JobStep]:
    """The orders to end. Parts that have not begun end at once: there is nothing to save."""
    found = []
    orders, queues = plan.preemptions, {one.id: one for one in seen.queues}
    for victim, displacer, lost in zip(
        orders.victim.tolist(), orders.displacer.tolist(), orders.lost.tolist(), strict=True
    ):
        if displacer not in allowed:
            continue
        job, by = seen.running[victim], seen.job_ids[displacer]
        parts = [one for one in newest(job, seen.attempts) if one.state in OPEN_ATTEMPT]
        event = JobEvent(
            job_id=job.id, at=now, action=JobAction.PREEMPTING, attempt=job.attempt,
            reason='a production job needs its room',
            numbers={'notice': job.notice, 'lost_core_seconds': round(lost, 3)},
        )  # fmt: skip
        found.append(
            JobStep(
                job_id=job.id,
                before=job.state,
                changed={
                    'state': JobState.PREEMPTING, 'attempt': job.attempt, 'displaced_by': by,
                    'owed': _owed(job, jobs.get(by), parts, queues, now),
                },
                displacer=by,
                attempts=tuple(_ordered(one, now) for one in parts),
                workers=_kept(job, parts, workers),
                events=(event,),
            )
        )  # fmt: skip
    return found


def _owed(
    victim: StoredJob,
    by: StoredJob | None,
    parts: Sequence[StoredAttempt],
    queues: Mapping[str, StoredQueue],
    now: float,
) -> int:
    if by is None or by.queue_id not in queues or victim.queue_id not in queues:
        return 0
    order = Displacement(
        job=by, queue=queues[by.queue_id], victim=victim, victim_queue=queues[victim.queue_id],
        parts=parts,
    )  # fmt: skip
    return compensation_due(order, now)


def _ordered(part: StoredAttempt, now: float) -> StoredAttempt:
    if part.state is AttemptState.STARTING:
        text = 'preempted before it had begun'
        return replace(part, state=AttemptState.PREEMPTED, ended_at=now, text=text)
    return replace(part, state=AttemptState.PREEMPTING)


def _kept(
    job: StoredJob, parts: Iterable[StoredAttempt], workers: Mapping[str, StoredWorker]
) -> tuple[StoredWorker, ...]:
    """Workers that are put to rest with what runs in them; all of them, or none."""
    mine = list(parts)
    if job.preempt_action not in KEPT or any(one.state is AttemptState.STARTING for one in mine):
        return ()
    rest = DesiredWorkerState(AT_REST[KEPT.index(job.preempt_action)])
    found = [workers[one.worker_id] for one in mine if one.worker_id in workers]
    return tuple(replace(one, intention=rest) for one in found)


def _coming_back(plan: JobPlan, seen: PassInput) -> dict[int, Array]:
    """What servers of suspended jobs that go on take, by row of the host, (AXES,)."""
    first = len(seen.job_ids) - len(seen.suspended)
    found: dict[int, Array] = {}
    spots = plan.placement
    for row, host, servers in zip(
        spots.job.tolist(), spots.host.tolist(), spots.servers.tolist(), strict=True
    ):
        if row >= first:
            taken = servers * amounts_of(seen.suspended[row - first])
            found[host] = found.get(host, 0.0) + taken
    return found


def _resumed(
    plan: JobPlan,
    seen: PassInput,
    workers: Sequence[StoredWorker],
    going: tuple[StoredWorker, ...],
    now: float,
) -> list[JobStep]:
    """Suspended jobs for which there is room again; their servers come back where they were, or there."""
    first = len(seen.job_ids) - len(seen.suspended)
    of_job: dict[str, list[StoredWorker]] = {}
    for one in workers:
        if one.job_id:
            of_job.setdefault(one.job_id, []).append(one)
    found = []
    for row in plan.starts.tolist():
        if row < first:
            continue
        job = seen.suspended[row - first]
        mine = plan.placement.job == row
        hosts = np.repeat(plan.placement.host[mine], plan.placement.servers[mine]).tolist()
        its = sorted(of_job.get(job.id, ()), key=lambda one: one.rank)
        back = tuple(
            replace(
                one, intention=DesiredWorkerState.PRESENT, state=WorkerState.STARTING,
                host=seen.room.names[host],
            )
            for one, host in zip(its, hosts, strict=False)
        )  # fmt: skip
        event = JobEvent(
            job_id=job.id, at=now, action=JobAction.STARTING, attempt=job.attempt,
            reason='there is room for its servers again',
        )  # fmt: skip
        found.append(
            JobStep(
                job_id=job.id,
                before=JobState.SUSPENDED,
                changed={
                    'state': JobState.STARTING, 'attempt': job.attempt, 'displaced_by': '',
                },
                attempts=tuple(
                    replace(one, excluded=one.excluded + now - job.changed_at)
                    for one in newest(job, seen.attempts)
                    if one.state in OPEN_ATTEMPT
                ),
                workers=(*back, *going),
                events=(event,),
            )
        )  # fmt: skip
        going = ()  # the first one has sent them away
    return found
