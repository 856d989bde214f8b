# SPDX-License-Identifier: Apache-2.0
"""Attempts of jobs, what they wrote, and the workers that run them.

For rule J5 of doc/source/specs/jobs.rst (SVMSched, section 4.2.3): a result counts for the attempt that it
names, from the worker that runs it, and once.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from nova_market.core.job.queue import StoredWorker
from nova_market.core.job.record import (
    MAX_OUTPUT,
    OPEN_ATTEMPT,
    AttemptOutput,
    AttemptState,
    JobEvent,
    StoredAttempt,
)
from nova_market.core.job.store_values import AttemptReport
from nova_market.db.app_tables import REASON_LENGTH
from nova_market.db.apps import packed
from nova_market.db.database import Database
from nova_market.db.job_decisions import put_workers
from nova_market.db.job_events import JOB_EVENTS
from nova_market.db.job_rows import (
    ATTEMPT_COLUMNS,
    stored_attempt,
    stored_worker,
)
from nova_market.db.job_tables import job_attempts, job_workers
from nova_market.db.ledger import MAX_PAGE, slices
from nova_market.db.sound_rows import sound_row, sound_rows
from nova_market.errors import AttemptEnded, BadRow, UnknownAttempt
from nova_market.row_boundary import READ


class DatabaseJobAttempts:
    """Implements ports.AttemptStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def attempts(self, job_ids: Sequence[str]) -> Mapping[str, Sequence[StoredAttempt]]:
        """All attempts of these jobs, by job, in order of number and rank."""
        return self._database.read(_attempts, tuple(job_ids))

    def attempts_of(self, job_id: str) -> Sequence[StoredAttempt]:
        """The same of one job.

        :raises BadRow: one of them cannot be read.
        """
        found = self._database.read(_attempts, (job_id,)).get(job_id)
        if found is None and job_id in self._database.boundary.unread('job'):
            raise BadRow(f'attempts of job {job_id} cannot be read')
        return found or ()

    def report(self, report: AttemptReport) -> StoredAttempt:
        """Keep a heartbeat or a result; the attempt as it was before.

        :raises UnknownAttempt: there is none such, or it is another worker's.
        :raises AttemptEnded: a result for an attempt that has ended otherwise.
        """
        return self._database.write(_report, report)

    def output(self, job_id: str, number: int, rank: int = 0) -> AttemptOutput | None:
        """The tail of what it has written; None when nothing was sent."""
        return self._database.read(_output, job_id, number, rank)

    def tell(self, events: Sequence[JobEvent]) -> None:
        """Keep events."""
        self._database.write(JOB_EVENTS.insert, tuple(events))

    def events(
        self, job_id: str, before: int | None = None, limit: int = 100
    ) -> Sequence[JobEvent]:
        """Newest first; `before`: number of the last one of a page."""
        return self._database.read(JOB_EVENTS.page, job_id, before, min(limit, MAX_PAGE))

    def events_since(self, after: int, limit: int = 1000) -> Sequence[JobEvent]:
        """Of all jobs, oldest first."""
        return self._database.read(JOB_EVENTS.since, after, min(limit, MAX_PAGE))

    def worker(self, worker_id: str) -> StoredWorker | None:
        """One worker; None when there is none."""
        return self._database.read(_worker, worker_id)

    def workers_by_ids(self, worker_ids: Sequence[str]) -> Sequence[StoredWorker]:
        """Those that are there, by id."""
        return self._database.read(_by_ids, tuple(worker_ids))

    def workers(self, queue_id: str | None = None) -> Sequence[StoredWorker]:
        """Those of one queue or of all, by id."""
        return self._database.read(_workers, queue_id)

    def put(self, workers: Sequence[StoredWorker]) -> None:
        """Write rows of workers, over those that are there."""
        self._database.write(put_workers, tuple(workers))

    def seen(self, worker_id: str, at: float, clock_offset: float, address: str = '') -> None:
        """Its agent has called; '': the address stays."""
        self._database.write(_seen, worker_id, at, clock_offset, address)

    def exchange(self, worker_id: str, credential: str, session: str) -> bool:
        """A session for the boot secret of a worker, both as digests: once; whether it is the one kept."""
        return self._database.write(_exchange, worker_id, credential, session)

    def drop(self, worker_ids: Sequence[str]) -> None:
        """Forget workers."""
        self._database.write(_drop, tuple(worker_ids))


def _attempts(connection: Connection, job_ids: Sequence[str]) -> dict[str, list[StoredAttempt]]:
    found: dict[str, list[StoredAttempt]] = {}
    for part in slices(sorted(set(job_ids))):
        query = select(*ATTEMPT_COLUMNS).where(job_attempts.c.job_id.in_(part))
        keys = (job_attempts.c.job_id, job_attempts.c.number, job_attempts.c.rank)
        rows = connection.execute(query.order_by(*keys))
        whole = [list(group) for _, group in groupby(rows, key=lambda row: row.job_id)]
        # a job without one of its attempts would be taken to have lost it
        for parts in sound_rows(connection, 'job', whole, _parts, _job_of, f'{READ} its attempts'):
            found[parts[0].job_id] = parts
    return found


def _parts(rows: Sequence[Row[Any]]) -> list[StoredAttempt]:
    return [stored_attempt(row) for row in rows]


def _job_of(rows: Sequence[Row[Any]]) -> str:
    return str(rows[0].job_id)


def _report(connection: Connection, report: AttemptReport) -> StoredAttempt:
    chosen = (
        job_attempts.c.job_id == report.job_id,
        job_attempts.c.number == report.number,
        job_attempts.c.rank == report.rank,
    )
    query = select(*ATTEMPT_COLUMNS).where(*chosen)
    row = connection.execute(query.with_for_update()).first()
    if row is None or row.worker_id != report.worker_id:
        raise UnknownAttempt(
            f'worker {report.worker_id} does not run attempt {report.number} of job {report.job_id}: '
            'ask for work'
        )
    before = sound_row(connection, 'attempt', row, stored_attempt, lambda one: str(one.job_id))
    if before.state in OPEN_ATTEMPT:
        if changes := _changes(before, report):
            connection.execute(update(job_attempts).where(*chosen).values(**changes))
        JOB_EVENTS.insert(connection, [_marked(report, mark) for mark in report.marks])
    elif AttemptState(report.state) not in OPEN_ATTEMPT and not _same(before, report):
        raise AttemptEnded(
            f'attempt {report.number} of job {report.job_id} is {before.state}: this result comes too late '
            'and does not count'
        )
    return before


def _marked(report: AttemptReport, mark: str) -> JobEvent:
    return JobEvent(
        job_id=report.job_id, at=report.at, action='marked', attempt=report.number, reason=mark
    )


def _same(before: StoredAttempt, report: AttemptReport) -> bool:
    """The result that was stored already, sent again as its answer got lost."""
    return before.state == report.state and before.exit_code == report.exit_code


def _changes(before: StoredAttempt, report: AttemptReport) -> dict[str, Any]:
    state = AttemptState(report.state)
    values: dict[str, Any] = {} if before.given_at else {'given_at': report.at}
    if state is AttemptState.STARTING:
        return values
    values['reported_at'] = report.at
    if not before.started_at:
        values['started_at'] = report.at
    if report.usage:
        values['usage'] = packed(report.usage)
    if report.text:
        values['text'] = report.text[:REASON_LENGTH]
    if report.saved:
        values['saved_at'] = report.at
    if report.output is not None:
        values |= {'output': report.output[-MAX_OUTPUT:], 'output_total': report.output_total}
    if state not in OPEN_ATTEMPT:
        values |= {'state': str(state), 'ended_at': report.at, 'exit_code': report.exit_code}
    elif before.state is AttemptState.STARTING:
        # a heartbeat does not take a preemption back
        values['state'] = str(AttemptState.RUNNING)
    return values


def _output(connection: Connection, job_id: str, number: int, rank: int) -> AttemptOutput | None:
    query = select(job_attempts.c.output, job_attempts.c.output_total).where(
        job_attempts.c.job_id == job_id,
        job_attempts.c.number == number,
        job_attempts.c.rank == rank,
    )
    row = connection.execute(query).first()
    if row is None or row.output is None:
        return None
    return AttemptOutput(tail=bytes(row.output), total=row.output_total)


def _worker(connection: Connection, worker_id: str) -> StoredWorker | None:
    row = connection.execute(select(job_workers).where(job_workers.c.id == worker_id)).first()
    return sound_row(connection, 'worker', row, stored_worker) if row else None


def _by_ids(connection: Connection, worker_ids: Sequence[str]) -> list[StoredWorker]:
    found: list[StoredWorker] = []
    for part in slices(sorted(set(worker_ids))):
        query = select(job_workers).where(job_workers.c.id.in_(part)).order_by(job_workers.c.id)
        found += sound_rows(connection, 'worker', connection.execute(query), stored_worker)
    return found


def _workers(connection: Connection, queue_id: str | None) -> list[StoredWorker]:
    query = select(job_workers)
    if queue_id is not None:
        query = query.where(job_workers.c.queue_id == queue_id)
    rows = connection.execute(query.order_by(job_workers.c.id))
    return sound_rows(connection, 'worker', rows, stored_worker)


def _seen(
    connection: Connection, worker_id: str, at: float, clock_offset: float, address: str
) -> None:
    values: dict[str, Any] = {'seen_at': at, 'clock_offset': clock_offset}
    if address:
        values['address'] = address
    connection.execute(update(job_workers).where(job_workers.c.id == worker_id).values(**values))


def _exchange(connection: Connection, worker_id: str, credential: str, session: str) -> bool:
    own = (job_workers.c.id == worker_id, job_workers.c.credential == credential)
    first = update(job_workers).where(*own, job_workers.c.session == '').values(session=session)
    connection.execute(first)
    kept = connection.execute(select(job_workers.c.session).where(*own)).scalar()
    return bool(kept) and kept == session


def _drop(connection: Connection, worker_ids: Sequence[str]) -> None:
    for part in slices(worker_ids):
        connection.execute(delete(job_workers).where(job_workers.c.id.in_(part)))
