# SPDX-License-Identifier: Apache-2.0
"""What becomes of an active job, from its attempt, its workers and their servers: one step at a time.

Implements rules J4, J5 and F5 of doc/source/specs/jobs.rst for SVMSched, section 4.2.3. Pure: `progress`
gives the next step of one job, or None; stored and called again, it gives the one after it, and None in the
end.

    STARTING   --all of its servers have begun--> RUNNING
    RUNNING    --wish of its owner--> PREEMPTING (its notice runs)
    PREEMPTING --servers at rest (suspend, shelve)--> SUSPENDED --the pass has room--> STARTING
    any        --its attempt has ended--> WAITING, FINISHED, FAILED, CANCELLED (core.job.attempt_end)

The pass itself orders a preemption (core.job.pass_steps). Seconds of the service's clock.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from nova_market.core.job.attempt import WorkerPace
from nova_market.core.job.attempt_end import ended
from nova_market.core.job.part_fate import (
    ActiveJob,
    Circumstances,
    ProgressSettings,
    at_rest,
    judged,
    server_of,
)
from nova_market.core.job.queue import DesiredWorkerState, StoredWorker, WorkerState
from nova_market.core.job.record import (
    ACTIVE,
    OPEN_ATTEMPT,
    AttemptState,
    JobAction,
    JobEvent,
    JobState,
    JobWish,
    PreemptAction,
    StoredAttempt,
)
from nova_market.core.job.store_values import JobStep
from nova_market.core.market.inventory import CloudHost
from nova_market.core.market.owner_server import OwnerServer, ServerState

REST = {
    PreemptAction.SUSPEND: (DesiredWorkerState.SUSPENDED, ServerState.SUSPENDED),
    PreemptAction.SHELVE: (DesiredWorkerState.SHELVED, ServerState.SHELVED),
}

ENDS_ALL = (AttemptState.LOST, AttemptState.FAILED)
"""A gang is over when one of its servers has ended so."""


def progress(
    active: ActiveJob,
    servers: Mapping[str, OwnerServer],
    *,
    now: float,
    listening_since: float,
    pace: WorkerPace,
    settings: ProgressSettings | None = None,
    unknown: Collection[str] | None = (),
    hosts: Mapping[str, CloudHost] | None = None,
) -> JobStep | None:
    """The next step of this job; None: nothing is to be done.

    servers: what Nova shows, by the id of their worker
    unknown: ids of workers whose part of the cloud did not answer; None: nothing has answered
    hosts:   those that the workers' servers are on, by the id of the worker; without those that are not known
    listening_since: since when the API has answered without a gap
    """
    if active.job.state not in ACTIVE:
        return None
    known = Circumstances(
        servers=servers, hosts=hosts or {}, unknown=unknown, now=now, listening_since=listening_since,
        pace=pace, settings=settings or ProgressSettings(),
    )  # fmt: skip
    parts = [judged(active, one, known) for one in active.parts]
    if active.job.state is JobState.SUSPENDED and active.job.wish is not JobWish.RUN:
        parts = [_taken_from_rest(active, one, now) for one in parts]
    open_ = [one for one in parts if one.state in OPEN_ATTEMPT]
    if not open_ or any(one.state in ENDS_ALL for one in parts):
        return ended(active, parts, known)
    stopped = any(one.state in (AttemptState.CANCELLED, AttemptState.PREEMPTED) for one in parts)
    if active.job.state is JobState.PREEMPTING:
        return _rested(active, known)
    if active.job.state is JobState.SUSPENDED:
        return None
    if stopped or active.job.wish is not JobWish.RUN:
        return _ordered_to_end(active, parts, now)
    if active.job.state is JobState.STARTING:
        return _back(active, known) if active.rests else _begun(active, now)
    return _taken_back(active)


def _begun(active: ActiveJob, now: float) -> JobStep | None:
    """All of its servers have begun."""
    job, parts = active.job, active.parts
    if len(parts) < job.servers or not all(one.started_at > 0.0 for one in parts):
        return None
    workers = [active.workers[one.worker_id] for one in parts if one.worker_id in active.workers]
    return JobStep(
        job_id=job.id,
        before=JobState.STARTING,
        changed={
            'state': JobState.RUNNING, 'attempt': job.attempt,
            'started_at': max(one.started_at for one in parts),
        },
        workers=tuple(
            replace(one, state=WorkerState.BUSY)
            for one in workers
            if one.state is not WorkerState.BUSY
        ),
        events=(_event(active, now, JobAction.STARTED, 'all of its servers have called'),),
    )  # fmt: skip


def _ordered_to_end(active: ActiveJob, parts: list[StoredAttempt], now: float) -> JobStep:
    """Those that run get their notice; those that had not begun have ended."""
    job = active.job
    orders = {
        JobWish.CANCEL: 'its owner has cancelled it',
        JobWish.REQUEUE: 'its owner wants it to begin again',
        JobWish.RUN: 'one of its servers was stopped',
    }
    text = orders[job.wish]
    new = [
        replace(one, state=AttemptState.PREEMPTING) if one.state in OPEN_ATTEMPT else one
        for one in parts
    ]
    return JobStep(
        job_id=job.id,
        before=job.state,
        changed={'state': JobState.PREEMPTING, 'attempt': job.attempt},
        attempts=_changed(active, new),
        events=(_event(active, now, JobAction.PREEMPTING, text, notice=job.notice),),
    )


def _rested(active: ActiveJob, known: Circumstances) -> JobStep | None:
    """Its servers are suspended or shelved."""
    if not active.rests:
        return None
    job = active.job
    wanted, condition = REST[job.preempt_action]
    workers = [active.workers[one.worker_id] for one in active.parts]
    if any(_state_of(one, known) is not condition for one in workers):
        # where the order to rest got lost, or somebody has woken one up
        late = tuple(
            replace(one, intention=wanted) for one in workers if one.intention is not wanted
        )
        return None if not late else JobStep(job_id=job.id, before=job.state, workers=late)
    text = f'its servers are {condition}'
    return JobStep(
        job_id=job.id,
        before=job.state,
        changed={
            'state': JobState.SUSPENDED, 'attempt': job.attempt, 'requeues': job.requeues + 1,
        },
        workers=tuple(replace(one, state=WorkerState.SUSPENDED) for one in workers),
        events=(
            _event(active, known.now, JobAction.PREEMPTED, 'its room is given to another job'),
            _event(active, known.now, JobAction.SUSPENDED, text),
        ),
    )  # fmt: skip


def _back(active: ActiveJob, known: Circumstances) -> JobStep | None:
    """Its servers run again."""
    job, parts = active.job, active.parts
    workers = [active.workers[one.worker_id] for one in parts]
    if any(_state_of(one, known) is not ServerState.RUNNING for one in workers):
        return None
    return JobStep(
        job_id=job.id,
        before=job.state,
        changed={'state': JobState.RUNNING, 'attempt': job.attempt},
        attempts=tuple(_awake(active, one, known.now) for one in parts),
        workers=tuple(replace(one, state=WorkerState.BUSY) for one in workers),
        events=(_event(active, known.now, JobAction.RESUMED, 'its servers run again'),),
    )


def _awake(active: ActiveJob, part: StoredAttempt, now: float) -> StoredAttempt:
    excluded = part.excluded + at_rest(active, now)
    return replace(part, state=AttemptState.RUNNING, excluded=excluded)


def _taken_back(active: ActiveJob) -> JobStep | None:
    """Workers that had been given up, and whose job runs on (JW5), are wanted again."""
    back = tuple(
        replace(worker, idle_since=0.0)
        for one in active.parts
        if (worker := active.workers.get(one.worker_id)) is not None and worker.idle_since > 0.0
    )
    return (
        None if not back else JobStep(job_id=active.job.id, before=active.job.state, workers=back)
    )


def _taken_from_rest(active: ActiveJob, part: StoredAttempt, now: float) -> StoredAttempt:
    """A suspended job cannot be given notice."""
    if part.state not in OPEN_ATTEMPT:
        return part
    cancelled = active.job.wish is JobWish.CANCEL
    state = AttemptState.CANCELLED if cancelled else AttemptState.PREEMPTED
    return replace(
        part, state=state, ended_at=now, text='ended while it was suspended',
        excluded=part.excluded + at_rest(active, now),
    )  # fmt: skip


def _state_of(worker: StoredWorker, known: Circumstances) -> ServerState | None:
    server = server_of(worker, known)
    return None if server is None else server.state


def _changed(active: ActiveJob, parts: list[StoredAttempt]) -> tuple[StoredAttempt, ...]:
    return tuple(
        new for old, new in zip(active.parts, parts, strict=True) if new.state is not old.state
    )


def _event(
    active: ActiveJob, now: float, action: JobAction, reason: str, **numbers: float
) -> JobEvent:
    return JobEvent(
        job_id=active.job.id, at=now, action=action, attempt=active.job.attempt, reason=reason,
        numbers=numbers,
    )  # fmt: skip
