# SPDX-License-Identifier: Apache-2.0
"""Jobs: submitted, listed, shown, cancelled, requeued; their output and events (rules J2, J5, J6).

A job is seen and changed by the project that submitted it and by the project of its queue. HTTP becomes a
submission (services.job.submission) and back; the service of jobs acts on what is stored.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nova_market.api import microversion
from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_header, takes_query
from nova_market.api.errors import ApiError, not_found
from nova_market.api.handlers.job_view import (
    event,
    job_in_force_shown,
    short,
    shown,
    summary,
)
from nova_market.api.handlers.queue import visible
from nova_market.api.schemas import job as schemas
from nova_market.api.schemas.account import IDEMPOTENCY_KEY
from nova_market.api.schemas.shape import (
    ALL_PROJECTS,
    LIMIT,
    OF_PROJECT,
    PROJECT_ID,
    SERVER_ID,
    marker,
)
from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.queue_access import Submitter, may_submit
from nova_market.core.job.record import JobAction, JobEvent, JobState, JobWish, StoredJob
from nova_market.core.job.request import check_limits
from nova_market.core.job.store_values import JobFilter, JobQuotas
from nova_market.core.json_schema import described
from nova_market.errors import BadJob
from nova_market.services.job.submission import SubmissionQuotas, Submissions, SubmissionStores

HEADER = 'Idempotency-Key'
NUMBER = {'type': 'integer', 'minimum': 0, 'maximum': 2**53}
ATTEMPT = {'type': 'integer', 'minimum': 1, 'maximum': 2**31 - 1}
RANK = {'type': 'integer', 'minimum': 0, 'maximum': 2**31 - 1}
SUBMITTED = 0
"""Number of the event of a submission: all that are stored have larger ones."""

STATES = '|'.join(JobState)
STATE_LIST = {
    'type': 'string',
    'pattern': f'^({STATES})(,({STATES}))*$',
    'maxLength': 200,
    'description': 'those in one of these states, with commas between them',
}


@takes_query(
    project_id=described(OF_PROJECT, "of this project; default: the token's, or all of `queue`"),
    all_projects=ALL_PROJECTS,
    queue=described(schemas.QUEUE_REF, "of this queue; its own project sees everybody's"),
    user_id=described(PROJECT_ID, 'of this user'),
    state=STATE_LIST,
    name=schemas.JOB_NAME,
    array_id=described(SERVER_ID, 'elements of this array'),
    limit=LIMIT,
    marker=marker(NUMBER),
)
@gives(200, schemas.JOBS)
def index(call: Call) -> Any:
    """Jobs, newest first."""
    queue = visible(call, call.query['queue']) if 'queue' in call.query else None
    state = call.query.get('state')
    chosen = JobFilter(
        project_id=_project(call, queue),
        queue_id=queue.id if queue else None,
        user_id=call.query.get('user_id'),
        array_id=call.query.get('array_id'),
        states=tuple(JobState(one) for one in state.split(',')) if state else (),
        name=call.query.get('name'),
    )
    found = call.stores.jobs.jobs(chosen, call.query.get('marker', 0), call.limit + 1)
    names = call.stores.queues.names([one.queue_id for one in found])
    lines = [summary(one, names.get(one.queue_id, '')) for one in found]
    return call.page('jobs', lines, found, lambda one: one.number)


@takes_header(HEADER, IDEMPOTENCY_KEY)
@takes_body(schemas.JOBS_NEW)
@gives(200, schemas.SUBMITTED)
@gives(201, schemas.SUBMITTED)
def create(call: Call) -> Any:
    """Submit jobs in the project of the token: all of the request, or none.

    200: the same request with the same Idempotency-Key was made before; these are its jobs.
    """
    call.authorize('jobs:create', call.project_id)
    submissions = submissions_of(call, lambda queue: call.may('jobs:prioritize', queue.project_id))
    made, new = submissions.submit(call.body['jobs'], call.key)
    return Answer(body={'jobs': [short(one) for one in made]}, status=201 if new else 200)


def submitter(call: Call) -> Submitter:
    """Who asks."""
    assert call.context is not None, 'a public route has no caller'
    return Submitter(
        user_id=call.user_id, project_id=call.project_id, roles=tuple(call.context.roles)
    )


def submissions_of(call: Call, prioritizes: Callable[[StoredQueue], bool]) -> Submissions:
    """Submissions by who asks. prioritizes: whether he may set priorities in a queue."""
    stores, settings = call.stores, call.settings
    return Submissions(
        SubmissionStores(
            queues=stores.queues,
            jobs=stores.jobs,
            ledger=stores.ledger,
            flavors=stores.flavors,
            wall=stores.wall,
        ),
        submitter(call),
        SubmissionQuotas(
            most_waiting=settings.max_waiting_jobs,
            most_jobs=settings.max_jobs_per_request,
            limits=settings.job_limits,
        ),
        prioritizes,
    )


@gives(200, schemas.JOB)
def show(call: Call) -> Any:
    """One job, with what it runs and its attempts."""
    job, _ = _seen(call)
    return _one(call, job)


@gives(202, schemas.JOB)
def delete(call: Call) -> Any:
    """Cancel a job: at once while it waits, otherwise its service ends it."""
    return _want(call, JobWish.CANCEL)


@gives(202, schemas.JOB)
def requeue(call: Call) -> Any:
    """Have a job run again from its beginning: one that has ended, or one that runs."""
    return _want(call, JobWish.REQUEUE)


@takes_query(
    attempt=described(ATTEMPT, 'default: the newest one'),
    rank=described(RANK, 'of the server within the gang', default=0),
)
@gives(200, schemas.OUTPUT)
def output(call: Call) -> Any:
    """The last of what a job wrote, while it runs and afterwards."""
    job, _ = _seen(call)
    number, rank = call.query.get('attempt', job.attempt), call.query['rank']
    found = call.stores.attempts.output(job.id, number, rank)
    if found is None:
        _check_attempt(call, job, number, rank)
    tail = found.tail if found else b''
    return {
        'output': {
            'job_id': job.id,
            'attempt': number,
            'rank': rank,
            'text': tail.decode(errors='replace'),
            'bytes': len(tail),
            'total_bytes': found.total if found else 0,
        }
    }


@takes_query(limit=LIMIT, marker=marker(NUMBER))
@gives(200, schemas.EVENTS)
def events(call: Call) -> Any:
    """What happened and why, newest first; the oldest is the submission, which is in the job's row."""
    job, _ = _seen(call)
    before = call.query.get('marker')
    found = [*call.stores.attempts.events(job.id, before, call.limit + 1)]
    if len(found) <= call.limit and before != SUBMITTED:
        found.append(_submission(job))
    return call.page('events', [event(one) for one in found], found, lambda one: one.number)


def _check_attempt(call: Call, job: StoredJob, number: int, rank: int) -> None:
    """:raises ApiError: 404; the job has no such attempt, or no server of that rank."""
    attempts = call.stores.attempts.attempts_of(job.id)
    ranks = [one.rank for one in attempts if one.number == number]
    if rank in ranks or (number == job.attempt and rank < job.servers):
        return  # it has written nothing yet
    if ranks or number == job.attempt:
        raise not_found('rank', f'{rank} in attempt {number}: give 0 to {job.servers - 1}')
    last = max((one.number for one in attempts), default=0)
    raise not_found(
        'attempt', f'{number}: ' + (f'give 1 to {last}' if last else 'none has started')
    )


def _submission(job: StoredJob) -> JobEvent:
    """Not stored apart: submissions are many, and come in bursts."""
    return JobEvent(
        job_id=job.id,
        at=job.submitted_at,
        action=JobAction.SUBMITTED,
        reason=f'by {job.user_id[:64]}',
        number=SUBMITTED,
    )


def _project(call: Call, queue: StoredQueue | None) -> str | None:
    """Whose jobs to list; None: those of all projects."""
    named = call.query.get('project_id') is not None or call.query.get('all_projects')
    if queue is not None and call.may('jobs:list_queue', queue.project_id):
        return call.query.get('project_id') if named else None
    return call.whose('jobs:list')


def _seen(call: Call) -> tuple[StoredJob, str]:
    """(the job, the project of its queue).

    :raises ApiError: 404, in the same words when there is none.
    """
    name = call.path['job_id']
    job = call.stores.jobs.job(name)
    allowed = call.may('jobs:show', job.project_id if job else '')
    if job is None:
        raise not_found('job', name)
    queue = call.stores.queues.queue(job.queue_id)
    owner = queue.project_id if queue else ''
    if not allowed and not call.may('jobs:show_queue', owner):
        raise not_found('job', name)
    return job, owner


def _want(call: Call, wish: JobWish) -> Answer:
    job, owner = _seen(call)
    # who is paid for a run must not order it at the cost of who pays
    of_payer_only = wish is JobWish.REQUEUE and job.cost_limit > 0
    in_queue = not of_payer_only and call.may('jobs:change_queue', owner)
    if not call.may('jobs:change', job.project_id) and not in_queue:
        raise ApiError(
            403,
            'market.policy.forbidden',
            'your roles in this project do not allow market:jobs:change; ask an administrator',
        )
    quotas = _quotas_of_requeue(call, job) if wish is JobWish.REQUEUE else None
    found = call.stores.jobs.want(job.id, wish, f'by {call.user_id[:64]}', quotas)
    if found is None:
        raise not_found('job', job.id)
    return Answer(body=_one(call, found), status=202)


def _quotas_of_requeue(call: Call, job: StoredJob) -> JobQuotas:
    """Within which it may wait again.

    :raises BadJob: its queue does not take jobs of its project any more, or of the caller; or it would run at
        a price of which nobody has made an offer.
    """
    queue = call.stores.queues.queue(job.queue_id)
    if queue is None:
        raise not_found('queue', job.queue_id)
    if queue.is_tender:
        raise BadJob(
            f'job {job.id}: queue {queue.name} takes jobs for offers only: accept a new offer for it'
        )
    by = replace(submitter(call), project_id=job.project_id)
    if call.project_id != job.project_id:
        by = replace(by, roles=queue.roles)  # the owner of the queue, who lets in whom he likes
    if not may_submit(queue, by):
        raise BadJob(f'job {job.id}: its queue takes no jobs of yours any more: ask its owner')
    check_limits(f'job {job.id}', {'time_limit': job.time_limit, 'servers': job.servers}, queue)
    return JobQuotas(
        most_waiting=call.settings.max_waiting_jobs, of_queue={queue.id: queue.limits.max_waiting}
    )


def _one(call: Call, job: StoredJob) -> dict[str, Any]:
    stores = call.stores
    attempts = stores.attempts.attempts_of(job.id)
    here = list(stores.attempts.workers_by_ids([one.worker_id for one in attempts]))
    queue = stores.queues.queue(job.queue_id)
    if not call.may('jobs:show_host'):
        here = [replace(one, host='') for one in here]
    found = shown(
        job, queue.name if queue else '', stores.jobs.content(job.content_id), attempts, here
    )
    if call.version >= microversion.LIMITS:
        found['in_force'] = job_in_force_shown(job, queue, call.settings.job_limits)
    return {'job': found}
