# SPDX-License-Identifier: Apache-2.0
"""What becomes of a job and its workers when its attempt has ended, or when one of its parts ends it.

Implements rules J2 (a gang fails when one of its servers fails), J4 (what becomes of a preempted job) and J5
(lost workers, retries) of doc/source/specs/jobs.rst. By precedence, with the wish of the owner:

    requeue  WAITING, however it has ended
    cancel   FINISHED or FAILED if its scripts had come to their own end before, otherwise CANCELLED
    run      a part LOST before it had begun: WAITING after a pause that grows; the job's retries count only
                 where there was a server whose agent never called
             LOST: WAITING while its retries last, otherwise FAILED. Of a job that was leaving, or had come
                 back from a shelf, it is no loss that counts
             FAILED: FAILED
             PREEMPTED: WAITING, or FAILED where that is what the job asked for (`stop`)
             CANCELLED: CANCELLED; all FINISHED: FINISHED

A worker is free again when its agent has reported the end, or had nothing to end. Otherwise its server goes;
its row keeps the job for so long as its script may still run there, and the job waits for that (JW8). A lost
worker of a job with one server is kept for a grace, in which a message of it takes the job back (JW5):
core.job.worker_upkeep lets it go.
"""

from dataclasses import replace
from typing import Any

from nova_market.core.job.attempt import SLACK, runs_again
from nova_market.core.job.part_fate import (
    ActiveJob,
    Circumstances,
    StartFailure,
    start_failure,
    stays,
)
from nova_market.core.job.queue import DesiredWorkerState, StoredWorker, WorkerState
from nova_market.core.job.record import (
    OPEN_ATTEMPT,
    AttemptState,
    JobAction,
    JobEvent,
    JobReason,
    JobState,
    JobWish,
    PreemptAction,
    StoredAttempt,
)
from nova_market.core.job.store_values import JobStep

_ACTIONS = {
    JobState.FINISHED: JobAction.FINISHED,
    JobState.FAILED: JobAction.FAILED,
    JobState.CANCELLED: JobAction.CANCELLED,
}


class _Outcome:
    """then: the job's next state; before: what happened first, as an event; changed: more columns."""

    def __init__(
        self,
        then: JobState,
        reason: JobReason,
        before: JobAction | None = None,
        **changed: Any,
    ) -> None:
        self.then, self.reason, self.before, self.changed = then, reason, before, changed


def ended(active: ActiveJob, parts: list[StoredAttempt], known: Circumstances) -> JobStep:
    """The step that ends this attempt. parts: of it, as they are now; those that are open end with it."""
    job, now = active.job, known.now
    outcome = _outcome(active, parts, known)
    over = [_with_the_others(one, now) for one in parts]
    changed: dict[str, Any] = {
        'state': outcome.then, 'attempt': job.attempt, 'reason': outcome.reason,
        'expected_start': None, **outcome.changed,
    }  # fmt: skip
    events = []
    started = [one.started_at for one in over]
    if job.state is JobState.STARTING and not job.started_at and started and all(started):
        changed['started_at'] = max(started)
        events.append(_event(active, now, JobAction.STARTED, 'all of its servers have called'))
    if outcome.then is JobState.WAITING:
        changed |= {'wish': JobWish.RUN, 'ended_at': 0.0, 'exit_code': None}
    else:
        changed |= {'ended_at': now, 'exit_code': _exit_code(over)}
    if outcome.before is not None:
        events.append(_event(active, now, outcome.before, outcome.reason.text))
    last = _ACTIONS.get(outcome.then, JobAction.REQUEUED)
    events.append(_event(active, now, last, outcome.reason.text))
    return JobStep(
        job_id=job.id,
        before=job.state,
        changed=changed,
        attempts=tuple(
            new for old, new in zip(active.parts, over, strict=True) if new.state is not old.state
        ),
        workers=_workers(active, over, outcome, known),
        events=tuple(events),
    )


def _outcome(active: ActiveJob, parts: list[StoredAttempt], known: Circumstances) -> _Outcome:
    job = active.job
    if job.wish is JobWish.REQUEUE:
        return _again(active, JobReason(code='requeued', text='its owner wants it to begin again'))
    states = [one.state for one in parts]
    if states and all(one is AttemptState.FINISHED for one in states):
        text = 'exit code 0'
        return _Outcome(
            JobState.FINISHED, JobReason(code='exit', text=text, numbers={'exit_code': 0})
        )
    failed = [one for one in parts if one.state is AttemptState.FAILED]
    if failed and AttemptState.LOST not in states:
        return _Outcome(JobState.FAILED, _failure(job.time_limit, failed[0], job.servers))
    if job.wish is JobWish.CANCEL:
        return _Outcome(
            JobState.CANCELLED, JobReason(code='cancelled', text='cancelled by its owner')
        )
    if AttemptState.LOST in states or not states:
        return _lost(active, parts, known)
    if AttemptState.PREEMPTED in states:
        reason = JobReason(code='preempted', text=_text(parts, AttemptState.PREEMPTED))
        if job.preempt_action is PreemptAction.STOP and job.displaced_by:
            return _Outcome(JobState.FAILED, reason, JobAction.PREEMPTED)
        return _again(active, reason, JobAction.PREEMPTED)
    text = _text(parts, AttemptState.CANCELLED)
    return _Outcome(JobState.CANCELLED, JobReason(code='cancelled', text=text))


def _lost(active: ActiveJob, parts: list[StoredAttempt], known: Circumstances) -> _Outcome:
    job = active.job
    text = _text(parts, AttemptState.LOST)
    never = [
        found
        for one in active.parts
        if one.state is AttemptState.STARTING
        and (found := start_failure(active, one, known)) is not None
    ]
    if never and all(why is StartFailure.NO_SERVER for why, _ in never):
        pause = _pause(active, known)
        text = f'{text}; it is tried again in {pause:.0f} s'
        reason = JobReason(code='server', text=text, numbers={'seconds': pause})
        return _Outcome(JobState.WAITING, reason, not_before=known.now + pause)
    reason = JobReason(code='lost', text=text)
    if job.state is JobState.PREEMPTING:
        return _again(active, JobReason(code='preempted', text=text), JobAction.PREEMPTED)
    if job.preempt_action is PreemptAction.SHELVE and job.requeues > 0:
        return _again(active, reason)
    if not runs_again(job):
        return _Outcome(JobState.FAILED, reason, JobAction.LOST, lost=job.lost + 1)
    later = {'not_before': known.now + _pause(active, known)} if never else {}
    return _Outcome(JobState.WAITING, reason, JobAction.LOST, lost=job.lost + 1, **later)


def _again(active: ActiveJob, reason: JobReason, before: JobAction | None = None) -> _Outcome:
    return _Outcome(JobState.WAITING, reason, before, requeues=active.job.requeues + 1)


def _pause(active: ActiveJob, known: Circumstances) -> float:
    """first_pause * 2^k, at most longest_pause; k: attempts in a row before this one that never began."""
    by_number: dict[int, list[StoredAttempt]] = {}
    for one in active.attempts:
        by_number.setdefault(one.number, []).append(one)
    in_row = 0
    for number in sorted(by_number, reverse=True):
        if number >= active.job.attempt:
            continue
        if not all(not one.started_at for one in by_number[number]):
            break
        if not any(one.state is AttemptState.LOST for one in by_number[number]):
            break
        in_row += 1
    settings = known.settings
    return min(settings.first_pause * 2.0 ** min(in_row, 32), settings.longest_pause)


def _with_the_others(part: StoredAttempt, now: float) -> StoredAttempt:
    if part.state not in OPEN_ATTEMPT:
        return part
    text = 'another server of the job has ended'
    return replace(part, state=AttemptState.CANCELLED, ended_at=now, text=text)


def _workers(
    active: ActiveJob, over: list[StoredAttempt], outcome: _Outcome, known: Circumstances
) -> tuple[StoredWorker, ...]:
    found = []
    for old, new in zip(active.parts, over, strict=True):
        worker = active.workers.get(new.worker_id)
        if worker is not None and (worker.job_id, worker.attempt) == (new.job_id, new.number):
            found.append(_worker(active, worker, old, new, outcome, known))
    return tuple(found)


def _worker(
    active: ActiveJob,
    worker: StoredWorker,
    old: StoredAttempt,
    new: StoredAttempt,
    outcome: _Outcome,
    known: Circumstances,
) -> StoredWorker:
    """What becomes of the worker of this part. old: the part as its worker has left it."""
    lost = new.state is AttemptState.LOST
    begun = old.state is not AttemptState.STARTING
    heard = old.state not in OPEN_ATTEMPT and not lost
    called = not begun and not lost and worker.seen_at >= old.created_at > 0.0
    if (heard or called) and active.reuse and not active.job.displaced_by and stays(worker, known):
        return replace(
            worker, state=WorkerState.IDLE, job_id='', attempt=0, rank=0, idle_since=known.now,
            tries=0, retry_at=0.0,
        )  # fmt: skip
    silent = known.now - worker.seen_at > known.pace.silence
    alone = active.job.servers == 1 and outcome.then is JobState.WAITING
    if lost and begun and alone and silent and not active.rests and stays(worker, known):
        return replace(worker, idle_since=known.now)
    gone = replace(worker, intention=DesiredWorkerState.GONE)
    if heard or not begun:
        return replace(gone, job_id='', attempt=0, rank=0)
    return gone


def _failure(time_limit: float, part: StoredAttempt, servers: int) -> JobReason:
    where = f' on server {part.rank}' if servers > 1 else ''
    ran = part.ended_at - part.started_at
    if part.exit_code is None and part.started_at and ran >= time_limit - SLACK:
        numbers = {'time_limit': float(time_limit), 'seconds': round(ran, 3)}
        return JobReason(code='time_limit', text=f'{part.text}{where}', numbers=numbers)
    named = {} if part.exit_code is None else {'exit_code': float(part.exit_code)}
    code = f'exit code {part.exit_code}' if named else ''
    text = ', '.join(one for one in (code, part.text) if one)
    return JobReason(code='exit', text=f'{text}{where}', numbers=named)


def _exit_code(parts: list[StoredAttempt]) -> int | None:
    """Of the first server that has failed; 0 when all have finished."""
    for one in parts:
        if one.state is AttemptState.FAILED:
            return one.exit_code
    return 0 if parts and all(one.state is AttemptState.FINISHED for one in parts) else None


def _text(parts: list[StoredAttempt], state: AttemptState) -> str:
    """Why the first one has ended so."""
    texts = [one.text for one in parts if one.state is state and one.text]
    return texts[0] if texts else f'its worker has reported: {state}'


def _event(active: ActiveJob, now: float, action: JobAction, reason: str) -> JobEvent:
    return JobEvent(
        job_id=active.job.id, at=now, action=action, attempt=active.job.attempt, reason=reason
    )
