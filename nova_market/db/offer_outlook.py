# SPDX-License-Identifier: Apache-2.0
"""What offers for jobs of a queue are made by, read in one transaction.

For rules O1 and O2 of doc/source/specs/tender.rst. The forecast is long and changes with each pass only, so
it is read by whoever does not have it yet.
"""

import json
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select

from nova_market.core.job.queue import DesiredWorkerState, WorkerState
from nova_market.core.job.queue_request import UUID
from nova_market.core.tender.outlook import FORECAST, ForecastMark, OfferRows
from nova_market.db.job_tables import job_hosts, job_queues, job_states, job_workers
from nova_market.db.offer_rows import promised_since
from nova_market.db.offer_tables import offer_turns
from nova_market.db.queues import LARGEST, host_sizes, stored_queue
from nova_market.db.turns import OFFERS

# Made once: to make them for each request takes as long as to run them.
_HEAD = select(
    job_queues,
    select(offer_turns.c.turn).where(offer_turns.c.name == OFFERS).scalar_subquery().label('turn'),
    select(job_states.c.version)
    .where(job_states.c.name == FORECAST)
    .scalar_subquery()
    .label('version'),
    select(job_hosts.c.sizes).where(job_hosts.c.name == LARGEST).scalar_subquery().label('sizes'),
)
BY_ID = _HEAD.where(job_queues.c.id == bindparam('queue'))
BY_NAME = _HEAD.where(job_queues.c.name == bindparam('queue'))
FORECAST_ROW = select(job_states.c.version, job_states.c.document).where(
    job_states.c.name == FORECAST
)
IDLE = (
    select(job_workers.c.flavor, func.count())
    .where(
        job_workers.c.queue_id == bindparam('queue'),
        job_workers.c.intention == str(DesiredWorkerState.PRESENT),
        job_workers.c.state == str(WorkerState.IDLE),
        job_workers.c.job_id == '',
    )
    .group_by(job_workers.c.flavor)
)
"""core.job.cloud_room.is_idle, counted by flavor."""


def read_outlook(
    connection: Connection, name: str, known: ForecastMark, now: float
) -> OfferRows | None:
    """name: of the queue, or its id; None: there is none. known: the forecast that the reader has."""
    # the turn first: what is promised after it was read is refused
    row = connection.execute(BY_ID if UUID.fullmatch(name) else BY_NAME, {'queue': name}).first()
    if row is None:
        return None
    version, document = _forecast(connection, row, known.version)
    at = known.at if document is None else float(document.get('at', now))
    return OfferRows(
        queue=stored_queue(row),
        hosts=host_sizes(row.sizes),
        idle={flavor: int(count) for flavor, count in connection.execute(IDLE, {'queue': row.id})},
        version=version,
        forecast=document,
        turn=int(row.turn or 0),
        promised=promised_since(connection, at, now),
    )


def _forecast(
    connection: Connection, head: Row[Any], known: int
) -> tuple[int, dict[str, Any] | None]:
    """(version of the forecast, and what it is; None: it has the version that is known)."""
    if known and head.version == known:
        return known, None
    row = connection.execute(FORECAST_ROW).first()
    return (int(row.version), json.loads(row.document)) if row else (0, {})
