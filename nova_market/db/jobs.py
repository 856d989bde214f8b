# SPDX-License-Identifier: Apache-2.0
"""Jobs as their owners see them: submitted, listed, cancelled, requeued.

For rule J2 of doc/source/specs/jobs.rst (SVMSched, section 4.2.1). job_submission stores what is submitted.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select, update

from nova_market.core.job.billing import another_hold, rest_release
from nova_market.core.job.charge import is_free, reserve_of
from nova_market.core.job.dependency import again
from nova_market.core.job.record import (
    ENDED,
    QUEUED,
    HeldJob,
    JobAction,
    JobContent,
    JobEvent,
    JobReason,
    JobState,
    JobWish,
    StoredJob,
)
from nova_market.core.job.store_values import JobFilter, JobQuotas, NewJobs
from nova_market.core.ledger.posting import Posting
from nova_market.db.database import Database
from nova_market.db.job_events import JOB_EVENTS
from nova_market.db.job_rows import JOB_COLUMNS, changed_values, stored_job
from nova_market.db.job_submission import (
    StoredBefore,
    check_again,
    jobs_by_ids,
    states_of,
    store_new,
    stored_before,
)
from nova_market.db.job_tables import job_contents, job_queues, jobs
from nova_market.db.ledger import MAX_PAGE, post_in, slices
from nova_market.db.queue_rows import stored_queue
from nova_market.db.sound_rows import sound_page, sound_row
from nova_market.errors import Conflict

BY_NAME = {'project_id', 'queue_id', 'user_id', 'array_id', 'name'}


class DatabaseJobs:
    """Implements the owners' part of ports.JobStore."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall

    def submit(self, new: NewJobs, quotas: JobQuotas) -> tuple[Sequence[StoredJob], bool]:
        """(the jobs as stored, whether they are new).

        :raises TooManyJobs, KeyReused, QueueClosed, QueueChanged, BalanceTooLow: nothing is stored.
        """
        try:
            return self._database.write(store_new, new, quotas, self._wall()), True
        except StoredBefore:
            return self._database.read(stored_before, new), False

    def job(self, job_id: str) -> StoredJob | None:
        """One job; None when there is none."""
        return self._database.read(_job, job_id)

    def jobs(self, chosen: JobFilter, before: int = 0, limit: int = 1000) -> Sequence[StoredJob]:
        """Newest first; before: number of the last one of a page."""
        return self._database.read(_page, chosen, before, min(limit, MAX_PAGE))

    def by_ids(self, job_ids: Sequence[str]) -> Mapping[str, StoredJob]:
        """Jobs that are there, by id."""
        return self._database.read(jobs_by_ids, tuple(job_ids))

    def members(self, ids: Sequence[str]) -> Mapping[str, str]:
        """The projects of the jobs and arrays that these ids name."""
        return self._database.read(_members, tuple(ids))

    def content(self, content_id: str) -> JobContent | None:
        """What a job runs."""
        return self._database.read(_content, content_id)

    def want(
        self, job_id: str, wish: JobWish, by: str, quotas: JobQuotas | None = None
    ) -> StoredJob | None:
        """Cancel or requeue a job; what it is then. None: there is none.

        :raises Conflict: `requeue` of a job that waits, or that what it comes after would cancel at once.
        :raises TooManyJobs, QueueClosed, BalanceTooLow: `requeue` of one that has ended; it stays so.
        """
        return self._database.write(_want, job_id, wish, by, quotas, self._wall())


def _job(connection: Connection, job_id: str) -> StoredJob | None:
    row = connection.execute(select(*JOB_COLUMNS).where(jobs.c.id == job_id)).first()
    return sound_row(connection, 'job', row, stored_job) if row else None


def _members(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in slices(ids):
        # two queries: no index serves `or`
        arrays = select(jobs.c.array_id, jobs.c.project_id).where(jobs.c.array_id.in_(part))
        found |= {row[0]: row[1] for row in connection.execute(arrays.distinct())}
        single = select(jobs.c.id, jobs.c.project_id).where(jobs.c.id.in_(part))
        found |= {row[0]: row[1] for row in connection.execute(single)}
    return found


def _page(connection: Connection, chosen: JobFilter, before: int, limit: int) -> list[StoredJob]:
    query = select(*JOB_COLUMNS)
    for name in sorted(BY_NAME):
        if (value := getattr(chosen, name)) is not None:
            query = query.where(jobs.c[name] == value)
    if chosen.states:
        query = query.where(jobs.c.state.in_([str(state) for state in chosen.states]))
    if before:
        query = query.where(jobs.c.number < before)
    return sound_page(connection, 'job', query.order_by(jobs.c.number.desc()), limit, stored_job)


def _want(
    connection: Connection,
    job_id: str,
    wish: JobWish,
    by: str,
    quotas: JobQuotas | None,
    now: float,
) -> StoredJob | None:
    query = select(*JOB_COLUMNS).where(jobs.c.id == job_id)
    row = connection.execute(query.with_for_update()).first()
    if row is None:
        return None
    job = sound_row(connection, 'job', row, stored_job)
    changed = _wanted(job, wish, by, now)
    if not changed:
        return job
    if changed.get('state') is JobState.WAITING:
        changed |= _after_others(connection, job)
        check_again(connection, job, quotas)
    money, reserve = _money(connection, job, changed)
    changed |= {'reserve': reserve} if money else {}
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(**changed_values(changed)))
    post_in(connection, money, by.removeprefix('by '), now)
    action = {
        JobState.CANCELLED: JobAction.CANCELLED,
        **dict.fromkeys(QUEUED, JobAction.REQUEUED),
    }.get(changed.get('state', job.state), f'{wish} asked')
    JOB_EVENTS.insert(
        connection, [JobEvent(job_id=job_id, at=now, action=action, attempt=job.attempt, reason=by)]
    )
    return _job(connection, job_id)


def _wanted(job: StoredJob, wish: JobWish, by: str, now: float) -> dict[str, Any]:
    """The columns that change; {}: nothing."""
    over, queued = job.state in ENDED, job.state in QUEUED
    if wish is JobWish.CANCEL and queued:
        reason = JobReason(code='cancelled', text=f'cancelled {by}')
        return {
            'state': JobState.CANCELLED,
            'changed_at': now,
            'ended_at': now,
            'reason': reason,
            'expected_start': None,
        }
    if wish is JobWish.REQUEUE and queued:
        raise Conflict(f'job {job.id} is {job.state}: only a job that has started can be requeued')
    if wish is JobWish.REQUEUE and over:
        return {
            'state': JobState.WAITING,
            'wish': JobWish.RUN,
            'changed_at': now,
            'ended_at': 0.0,
            'exit_code': None,
            'lost': 0,
            'requeues': job.requeues + 1,
            'reason': None,
        }
    # a cancellation is not taken back by a requeue that comes later
    if over or job.wish in {wish, JobWish.CANCEL}:
        return {}
    return {'wish': wish}


def _after_others(connection: Connection, job: StoredJob) -> dict[str, Any]:
    """State and reason of a job that waits again, after what it comes after.

    :raises Conflict: it would be cancelled at once.
    """
    states = states_of(connection, job.after)
    found = [JobState(one) for name in job.after for one in states.get(name, ())]
    state, reason = again(HeldJob(id=job.id, condition=job.after_condition, states=found))
    return {'state': state, 'reason': reason}


def _money(
    connection: Connection, job: StoredJob, changed: Mapping[str, Any]
) -> tuple[tuple[Posting, ...], int]:
    """(what is posted, the reserve then): all comes back of a job that is cancelled, another run is held."""
    state = changed.get('state')
    if not job.cost_limit or state is None:
        return (), 0
    row = connection.execute(select(job_queues).where(job_queues.c.id == job.queue_id)).one()
    queue = sound_row(connection, 'queue', row, stored_queue)
    if is_free(job, queue):
        return (), 0
    if state not in QUEUED:
        moved = rest_release(job, 0)
        return ((moved,) if moved else ()), 0
    reserve = reserve_of(job, queue)
    moved = another_hold(job, job.cost_limit + reserve)
    return ((moved,) if moved else ()), reserve


def _content(connection: Connection, content_id: str) -> JobContent | None:
    row = connection.execute(select(job_contents).where(job_contents.c.id == content_id)).first()
    return sound_row(connection, 'content', row, _stored_content) if row else None


def _stored_content(row: Row[Any]) -> JobContent:
    return JobContent(
        id=row.id,
        script=row.script.decode(),
        environment=json.loads(row.environment),
        checkpoint=row.checkpoint.decode(),
        output_url=row.output_url,
        digest=row.digest,
    )
