# SPDX-License-Identifier: Apache-2.0
"""Jobs that have ended and old statistics are taken away, a batch in each transaction."""

from sqlalchemy import Connection, delete, exists, select

from nova_market.core.job.record import ENDED
from nova_market.db.job_tables import job_attempts, job_contents, job_events, job_minutes, jobs
from nova_market.db.ledger import slices

OVER = tuple(str(state) for state in ENDED)
MINUTE = 60


def some_jobs(connection: Connection, older_than: float, batch: int) -> int:
    """Jobs that ended before `older_than`, with attempts, events, and what no other job runs; how many."""
    query = select(jobs.c.id, jobs.c.array_id).where(
        jobs.c.state.in_(OVER), jobs.c.changed_at < older_than
    )
    # locked: a job that is requeued meanwhile stays
    rows = list(connection.execute(query.limit(batch).with_for_update()))
    for part in slices([row.id for row in rows]):
        for table in (job_attempts, job_events):
            connection.execute(delete(table).where(table.c.job_id.in_(part)))
        connection.execute(delete(jobs).where(jobs.c.id.in_(part)))
    for part in slices(sorted({row.array_id or row.id for row in rows})):
        # elements of the array that are kept run it still
        used = exists().where(jobs.c.array_id == job_contents.c.id)
        connection.execute(delete(job_contents).where(job_contents.c.id.in_(part), ~used))
    return len(rows)


def some_minutes(connection: Connection, older_than: float, batch: int) -> int:
    """Statistics of minutes that ended before `older_than`; how many rows."""
    last = int(older_than // MINUTE)
    query = select(job_minutes.c.minute).where(job_minutes.c.minute < last)
    found = list(connection.execute(query.order_by(job_minutes.c.minute).limit(batch)).scalars())
    if not found:
        return 0
    return int(
        connection.execute(delete(job_minutes).where(job_minutes.c.minute <= found[-1])).rowcount
    )
