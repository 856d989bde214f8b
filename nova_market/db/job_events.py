# SPDX-License-Identifier: Apache-2.0
"""What happened to jobs and why: so many events of each job are kept, the newest ones."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from nova_market.core.job.record import MAX_EVENTS, JobEvent
from nova_market.db.app_tables import ACTION_LENGTH, REASON_LENGTH
from nova_market.db.apps import packed
from nova_market.db.event_log import keep_newest
from nova_market.db.job_tables import job_events


def insert_events(connection: Connection, events: Sequence[JobEvent]) -> None:
    """Keep events; the oldest of a job that has too many go."""
    if not events:
        return
    rows = [
        {
            'job_id': one.job_id, 'at': one.at, 'attempt': one.attempt,
            'action': one.action[:ACTION_LENGTH], 'reason': one.reason[:REASON_LENGTH],
            'numbers': packed(one.numbers),
        }
        for one in events
    ]  # fmt: skip
    connection.execute(insert(job_events), rows)
    for name in sorted({one.job_id for one in events}):
        keep_newest(connection, job_events, job_events.c.job_id == name, MAX_EVENTS)


def events_of(
    connection: Connection, job_id: str, before: int | None, limit: int
) -> list[JobEvent]:
    """Newest first; `before`: number of the last one of a page."""
    query = select(job_events).where(job_events.c.job_id == job_id)
    if before is not None:
        query = query.where(job_events.c.id < before)
    rows = connection.execute(query.order_by(job_events.c.id.desc()).limit(limit))
    return [_event(row) for row in rows]


def events_since(connection: Connection, after: int, limit: int) -> list[JobEvent]:
    """Of all jobs, oldest first."""
    query = select(job_events).where(job_events.c.id > after).order_by(job_events.c.id)
    return [_event(row) for row in connection.execute(query.limit(limit))]


def _event(row: Row[Any]) -> JobEvent:
    return JobEvent(
        job_id=row.job_id,
        at=row.at,
        attempt=row.attempt,
        action=row.action,
        reason=row.reason,
        numbers=json.loads(row.numbers),
        number=row.id,
    )
