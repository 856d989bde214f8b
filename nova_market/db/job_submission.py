# SPDX-License-Identifier: Apache-2.0
"""A submission is stored: one transaction, whatever number of jobs it has.

For rule J2 of doc/source/specs/jobs.rst (SVMSched, section 4.2.1). Its order makes the quotas hold for
submissions that are made at the same moment: what is counted is locked before anything is read, so that a
count sees whatever was stored before it. Submissions of one project wait for each other; those of a queue
only where the queue has a limit. Nobody looks for an earlier submission with the same ids: the rows are
inserted, and found to be there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, Select, bindparam, func, insert, select

from nova_market.core.job.queue import QueueState
from nova_market.core.job.record import QUEUED, JobContent, StoredJob
from nova_market.core.job.store_values import JobQuotas, NewJobs
from nova_market.db.apps import packed
from nova_market.db.job_rows import JOB_COLUMNS, job_values, stored_job
from nova_market.db.job_tables import job_contents, job_projects, job_queues, jobs
from nova_market.db.ledger import post_in, slices
from nova_market.db.sound_rows import sound_rows
from nova_market.errors import KeyReused, QueueChanged, QueueClosed, QueueFull, TooManyJobs

WAIT = tuple(str(state) for state in QUEUED)

# built once: SQLAlchemy takes longer to build a statement than to send it
OWNER = (
    select(job_projects.c.project_id)
    .where(job_projects.c.project_id == bindparam('project'))
    .with_for_update()
)
OPEN_QUEUE = select(job_queues.c.state, job_queues.c.generation).where(
    job_queues.c.id == bindparam('queue')
)
SHARED, ALONE = OPEN_QUEUE.with_for_update(read=True), OPEN_QUEUE.with_for_update()
WAITING = jobs.c.state.in_(WAIT)


def _counted(query: Select[Any]) -> Select[Any]:
    """How many rows it has; never counts far beyond what matters."""
    return select(func.count()).select_from(query.limit(bindparam('most')).subquery())


OF_PROJECT = _counted(
    select(jobs.c.number).where(WAITING, jobs.c.project_id == bindparam('project'))
)
OF_QUEUE = _counted(select(jobs.c.number).where(WAITING, jobs.c.queue_id == bindparam('queue')))
INSERT_CONTENT, INSERT_JOB = insert(job_contents), insert(jobs)


class StoredBefore(Exception):
    """Rows with these ids are there: the same request, or another one with its key."""


def store_new(
    connection: Connection, new: NewJobs, quotas: JobQuotas, now: float
) -> list[StoredJob]:
    """The jobs as stored.

    :raises StoredBefore: see stored_before.
    :raises TooManyJobs, QueueClosed, QueueChanged, BalanceTooLow: nothing is stored.
    """
    try:
        _lock_owner(connection, new.jobs[0].project_id)
        for queue_id in sorted({job.queue_id for job in new.jobs}):
            _check_queue(connection, queue_id, quotas, new.generations.get(queue_id))
        _check_quotas(connection, new.jobs, quotas)
        post_in(connection, new.holds, new.jobs[0].user_id, now)
    except (TooManyJobs, QueueClosed):
        # what was accepted once stays so, whatever has become of queue and quota
        there = select(jobs.c.number).where(jobs.c.id == new.jobs[0].id)
        if connection.execute(there).first() is not None:
            raise StoredBefore from None
        raise
    try:
        contents = [_content_values(one) for one in new.contents]
        connection.execute(INSERT_CONTENT, contents if len(contents) > 1 else contents[0])
        if len(new.jobs) == 1:
            inserted = connection.execute(INSERT_JOB, job_values(new.jobs[0]))
            (number,) = inserted.inserted_primary_key or (0,)
            return [_numbered(new.jobs[0], int(number))]
        connection.execute(INSERT_JOB, [job_values(job) for job in new.jobs])
    except DBDuplicateEntry as error:
        raise StoredBefore from error
    return _in_order(connection, [job.id for job in new.jobs])


def check_again(connection: Connection, job: StoredJob, quotas: JobQuotas | None) -> None:
    """A job that has ended may wait once more where a new one might. None: whatever waits beside it

    :raises TooManyJobs, QueueClosed: it may not.
    """
    _lock_owner(connection, job.project_id)
    _check_queue(connection, job.queue_id, quotas)
    if quotas is not None:
        _check_quotas(connection, [job], quotas)


def stored_before(connection: Connection, new: NewJobs) -> list[StoredJob]:
    """What an earlier request with these ids has stored: the same key, or a lost answer.

    :raises KeyReused: it was another request.
    """
    query = select(job_contents.c.digest).where(job_contents.c.id == new.contents[0].id)
    if connection.execute(query).scalar() != new.contents[0].digest:
        raise KeyReused('Idempotency-Key: it was used for another submission: choose a new one')
    return _in_order(connection, [job.id for job in new.jobs])


def states_of(connection: Connection, names: Sequence[str]) -> dict[str, list[str]]:
    """States of jobs by id, and of the elements of arrays by the array's."""
    found: dict[str, list[str]] = {}
    for part in slices(names):
        for column in (jobs.c.id, jobs.c.array_id):
            for name, state in connection.execute(
                select(column, jobs.c.state).where(column.in_(part)).order_by(jobs.c.number)
            ):
                found.setdefault(str(name), []).append(state)
    return found


def jobs_by_ids(connection: Connection, job_ids: Sequence[str]) -> dict[str, StoredJob]:
    """Jobs that are there, by id."""
    found: dict[str, StoredJob] = {}
    for part in slices(job_ids):
        rows = connection.execute(select(*JOB_COLUMNS).where(jobs.c.id.in_(part)))
        found |= {one.id: one for one in sound_rows(connection, 'job', rows, stored_job)}
    return found


def _lock_owner(connection: Connection, project_id: str) -> None:
    """Other submissions of this project wait until this transaction ends."""
    if connection.execute(OWNER, {'project': project_id}).first() is not None:
        return
    try:
        connection.execute(insert(job_projects).values(project_id=project_id))
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error


def _check_queue(
    connection: Connection, queue_id: str, quotas: JobQuotas | None, generation: int | None = None
) -> None:
    """Jobs are not stored in a queue that was closed, or changed since this generation of it was read."""
    limited = quotas is not None and quotas.of_queue.get(queue_id) is not None
    # shared, so that submissions do not wait for each other, but a deletion does
    query = ALONE if limited else SHARED
    row = connection.execute(query, {'queue': queue_id}).first()
    if row is None or row.state != QueueState.OPEN:
        raise QueueClosed(f'queue {queue_id} takes no jobs any more: name another one')
    if generation not in {None, row.generation}:
        raise QueueChanged(f'queue {queue_id} was changed meanwhile: submit again')


def _check_quotas(connection: Connection, new: Sequence[StoredJob], quotas: JobQuotas) -> None:
    most = quotas.most_waiting
    limits = {'project': new[0].project_id, 'most': most + 1}
    count = int(connection.execute(OF_PROJECT, limits).scalar() or 0) + len(new)
    if count > most:
        raise TooManyJobs(
            f'the project would have {count} jobs that wait: the limit is {most}: wait until some have '
            'started, or cancel some'
        )
    for queue_id, of_queue in quotas.of_queue.items():
        more = sum(job.queue_id == queue_id for job in new)
        if of_queue is None or not more:
            continue
        limits = {'queue': queue_id, 'most': of_queue + 1}
        count = int(connection.execute(OF_QUEUE, limits).scalar() or 0) + more
        if count > of_queue:
            raise QueueFull(
                f'the queue would have {count} jobs that wait: its limit is {of_queue}: wait until some '
                'have started, or ask its owner'
            )


def _numbered(job: StoredJob, number: int) -> StoredJob:
    values = {name: getattr(job, name) for name in StoredJob.__slots__}
    return StoredJob(**{**values, 'number': number})


def _in_order(connection: Connection, ids: Sequence[str]) -> list[StoredJob]:
    found = jobs_by_ids(connection, ids)
    return [found[name] for name in ids if name in found]


def _content_values(one: JobContent) -> Mapping[str, Any]:
    return {
        'id': one.id,
        'script': one.script.encode(),
        'environment': packed(one.environment),
        'checkpoint': one.checkpoint.encode(),
        'output_url': one.output_url,
        'digest': one.digest,
    }
