# SPDX-License-Identifier: Apache-2.0
"""What workers ask and report (SVMSched, section 4.2.3), without a token of Keystone.

Implements doc/source/specs/worker.rst. A worker's session lets its bearer run the jobs that were given to
this worker, and nothing else. What a message does is decided by core.job.attempt; a worker changes its own
attempt's row, and the service the job's.
"""

import base64
import binascii
import math
from dataclasses import replace
from typing import Any

from nova_market.api.call import Call
from nova_market.api.contract import gives, takes_body, takes_plain
from nova_market.api.errors import ApiError
from nova_market.api.schemas import worker as schemas
from nova_market.api.worker_text import PLAIN
from nova_market.core.app.credential import digest, proves
from nova_market.core.job.attempt import (
    Fate,
    Order,
    fate_of_heartbeat,
    fate_of_result,
    gang_is_there,
    next_order,
    notice_left,
    part_of,
    running_order,
    verdict_of,
)
from nova_market.core.job.operator_limits import job_in_force, limits_for
from nova_market.core.job.queue import StoredQueue, StoredWorker
from nova_market.core.job.record import (
    AttemptState,
    JobAction,
    JobEvent,
    JobState,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.store_values import AttemptReport, JobStep
from nova_market.core.job.worker_job import worker_job
from nova_market.core.job.worker_message import End, Heartbeat, Output, Result, Usage
from nova_market.core.text import one_line
from nova_market.errors import AttemptEnded, BadAmount, UnknownAttempt


@takes_plain(PLAIN)
@takes_body(schemas.NEXT)
@gives(200, schemas.NEXT_ORDER)
def next_job(call: Call) -> Any:
    """Ask for the next job of a worker that is free."""
    worker = _proven(call)
    job, attempts = _job(call, worker.job_id)
    order = next_order(worker, job, attempts)
    own = part_of(worker, attempts)
    if order is Order.RUN and job is not None and own is not None:
        ranks = [one for one in attempts if one.number == own.number]
        workers = {one.id: one for one in call.stores.attempts.workers(worker.queue_id)}
        content = call.stores.jobs.content(job.content_id)
        queue = call.stores.queues.queue(job.queue_id)
        if content is not None and queue is not None and gang_is_there(job, attempts, workers):
            _report(call, own, state=AttemptState.STARTING)
            hosts = [workers[one.worker_id].address for one in ranks]
            return {
                'order': Order.RUN,
                'seconds': call.settings.worker_pace.heartbeat,
                'job': worker_job(_in_force(call, job, queue), content, own, queue.name, hosts),
            }
    if order is None and own is not None:
        text = 'its worker asked for a job while it ran'
        _report(call, own, state=AttemptState.LOST, text=text)
    done = Order.EXIT if order is Order.EXIT else Order.WAIT
    return {'order': done, 'seconds': call.settings.worker_pace.poll}


@takes_plain(PLAIN)
@takes_body(schemas.HEARTBEAT)
@gives(200, schemas.ORDER)
def heartbeat(call: Call) -> Any:
    """Report that a job is about to be started, or runs; the answer is the order for it."""
    worker = _proven(call)
    beat = _checked_heartbeat(call)
    job, own = _part(call, worker, beat.job_id, beat.attempt)
    fate = fate_of_heartbeat(worker, job, own)
    if fate is Fate.LATE:
        _take_back(call, job, own)
    elif fate is Fate.OVER:
        raise _over(own)
    _report(call, own, state=AttemptState.RUNNING, output=beat.output)
    order = running_order(worker, job, own)
    if order is Order.GO_ON:
        return {'order': order, 'seconds': call.settings.worker_pace.heartbeat}
    queue = call.stores.queues.queue(job.queue_id)
    seconds = notice_left(_in_force(call, job, queue), own, call.stores.wall())
    return {'order': order, 'seconds': seconds}


@takes_plain(PLAIN)
@takes_body(schemas.RESULT)
@gives(200, schemas.TAKEN)
def result(call: Call) -> Any:
    """Report how a job has ended; the same again is answered the same, and counts once."""
    worker = _proven(call)
    given = _checked_result(call)
    job, own = _part(call, worker, given.job_id, given.attempt)
    verdict = verdict_of(job, worker, own, given, call.stores.wall())
    fate = fate_of_result(job, own, verdict)
    if fate is Fate.OVER:
        raise _over(own)
    if fate is Fate.REPEATED:
        return {'order': Order.WAIT, 'seconds': 0}
    if fate is Fate.LATE:
        _take_back(call, job, own)
    _report(
        call, own, state=verdict.state, exit_code=verdict.exit_code, usage=verdict.usage,
        text=verdict.text, saved=given.checkpoint == 0, output=given.output, marks=verdict.marks,
    )  # fmt: skip
    return {'order': Order.WAIT, 'seconds': 0}


def _proven(call: Call) -> StoredWorker:
    """The worker whose session was given, or its boot secret for the first time; it has called now (JW1).

    :raises ApiError: 401, in the same words when there is no such worker.
    """
    found = call.stores.attempts.worker(call.path['worker_id'])
    given = call.body['credential']
    if not proves(given, found.session if found else '') and not _exchanged(call, found, given):
        found = None
    if found is None:
        raise ApiError(401, 'market.worker.credential', 'give the credential of this worker')
    now, clock = call.stores.wall(), call.body.get('clock')
    offset = found.clock_offset if clock is None else clock - now
    call.stores.attempts.seen(found.id, now, offset)
    return replace(found, seen_at=now, clock_offset=offset)


def _exchanged(call: Call, worker: StoredWorker | None, secret: str) -> bool:
    """Whether the session in the body is now that of this worker: its boot secret is good for one."""
    session = call.body.get('session', '')
    if not session or worker is None or not proves(secret, worker.credential):
        return False
    return call.stores.attempts.exchange(worker.id, worker.credential, digest(session))


def _job(call: Call, job_id: str) -> tuple[StoredJob | None, tuple[StoredAttempt, ...]]:
    """A job with all parts of its attempts."""
    job = call.stores.jobs.job(job_id) if job_id else None
    if job is None:
        return None, ()
    return job, tuple(call.stores.attempts.attempts_of(job_id))


def _part(
    call: Call, worker: StoredWorker, job_id: str, number: int
) -> tuple[StoredJob, StoredAttempt]:
    """A job, and the part of that attempt that this worker has.

    :raises ApiError: 409, in the same words when there is no such job.
    """
    job, attempts = _job(call, job_id)
    for one in attempts:
        if job is not None and (one.number, one.worker_id) == (number, worker.id):
            return job, one
    raise _foreign(job_id, number)


def _in_force(call: Call, job: StoredJob, queue: StoredQueue | None) -> StoredJob:
    """The job with what counts of its limits (J11). queue: its own, as stored; None: it is gone"""
    return job_in_force(job, limits_for(queue, call.settings.job_limits))


def _report(
    call: Call, own: StoredAttempt, state: AttemptState, output: Output | None = None, **more: Any
) -> None:
    """Keep it. :raises ApiError: 409, when the attempt has ended meanwhile."""
    report = AttemptReport(
        job_id=own.job_id,
        number=own.number,
        rank=own.rank,
        worker_id=own.worker_id,
        at=call.stores.wall(),
        state=state,
        output=None if output is None else output.tail,
        output_total=0 if output is None else output.total,
        **more,
    )
    try:
        call.stores.attempts.report(report)
    except UnknownAttempt:
        raise _foreign(own.job_id, own.number) from None
    except AttemptEnded:
        raise _over(own) from None


def _take_back(call: Call, job: StoredJob, own: StoredAttempt) -> None:
    """A job that waits to be run again runs after all: its attempt had been given up too early.

    :raises ApiError: 409, where the service has started it again meanwhile.
    """
    why = 'the worker was silent, and is there again: nothing had been started again'
    now = call.stores.wall()
    # until it was given up it has been charged; its time limit goes on
    since = own.ended_at - own.excluded if own.given_at else 0.0
    own = replace(own, state=AttemptState.RUNNING, ended_at=0.0, by_cloud=False, given_at=since)
    event = JobEvent(
        job_id=job.id, at=now, action=JobAction.RUNNING, attempt=own.number, reason=why
    )
    step = JobStep(
        job_id=job.id, before=job.state, attempts=(own,), events=(event,),
        changed={'state': JobState.RUNNING, 'attempt': own.number},
    )  # fmt: skip
    if not call.stores.jobs.decide([step]):
        raise _over(own)


def _foreign(job_id: str, number: int) -> ApiError:
    detail = f'attempt {number} of job {job_id} is not of this worker: end it'
    return ApiError(409, 'market.worker.foreign', detail)


def _over(own: StoredAttempt) -> ApiError:
    detail = f'attempt {own.number} of job {own.job_id} has ended: its result does not count'
    return ApiError(409, 'market.worker.over', detail)


def _checked_heartbeat(call: Call) -> Heartbeat:
    body = call.body
    try:
        return Heartbeat(
            job_id=body['job_id'],
            attempt=body['attempt'],
            ran=body.get('ran'),
            output=_output(call) if 'output_bytes' in body else None,
        )
    except BadAmount as error:
        raise _invalid(error) from None


def _checked_result(call: Call) -> Result:
    body = call.body
    try:
        return Result(
            job_id=body['job_id'],
            attempt=body['attempt'],
            end=End(body['end']),
            exit_code=body.get('exit_code'),
            signal=body.get('signal'),
            usage=Usage(
                wall_seconds=body['wall_seconds'],
                user_seconds=body.get('user_seconds', 0.0),
                system_seconds=body.get('system_seconds', 0.0),
                max_rss_mib=body.get('max_rss_mib', math.nan),
            ),
            output=_output(call),
            checkpoint=body.get('checkpoint'),
            uploaded=body.get('uploaded'),
            text=one_line(body.get('text', '')),
        )
    except BadAmount as error:
        raise _invalid(error) from None


def _output(call: Call) -> Output:
    try:
        tail = base64.b64decode(call.body.get('output', ''), validate=True)
    except binascii.Error as error:
        raise _invalid(f'output is not base64: {error}') from None
    return Output(tail=tail, total=call.body.get('output_bytes', len(tail)))


def _invalid(error: object) -> ApiError:
    return ApiError(400, 'market.worker.invalid', str(error))
