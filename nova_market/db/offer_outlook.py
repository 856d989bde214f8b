# SPDX-License-Identifier: Apache-2.0
"""What offers for jobs of a queue are made by, read in one transaction.

For rules O1 and O2 of doc/source/specs/tender.rst. The forecast is long and changes with each pass only, so
it is read by whoever does not have it yet.
"""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select

from nova_market.core.job.queue import OF, DesiredWorkerState, StoredQueue, WorkerState
from nova_market.core.tender.outlook import FORECAST, ForecastMark, OfferRows
from nova_market.core.tender.stored_offer import OfferState, StoredOffer
from nova_market.db.job_tables import job_hosts, job_queues, job_states, job_workers
from nova_market.db.offer_rows import promised_since
from nova_market.db.offer_tables import offer_turns
from nova_market.db.queue_figures import LARGEST, host_sizes
from nova_market.db.queue_names import known_as
from nova_market.db.queue_rows import stored_queue
from nova_market.db.sound_rows import sound_row
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
BY_NAME = _HEAD.where(known_as(bindparam('project'), bindparam('name')))
FORECAST_ROW = select(job_states.c.version, job_states.c.document).where(
    job_states.c.name == FORECAST
)
IDLE = (
    select(job_workers.c.flavor, job_workers.c.project_id, func.count())
    .where(
        job_workers.c.queue_id == bindparam('queue'),
        job_workers.c.intention == str(DesiredWorkerState.PRESENT),
        job_workers.c.state == str(WorkerState.IDLE),
        job_workers.c.job_id == '',
    )
    .group_by(job_workers.c.flavor, job_workers.c.project_id)
)
"""core.job.cloud_room.is_idle, counted by flavor and by whose jobs they have run."""


def read_outlook(
    connection: Connection, name: str, project_id: str, known: ForecastMark, now: float
) -> OfferRows | None:
    """name: queue_access.key_of; None: there is no such queue. project_id: who asks.

    known: the forecast that the reader has
    """
    # the turn first: what is promised after it was read is refused
    project, _, alone = name.rpartition(OF)
    chosen = (BY_NAME, {'project': project, 'name': alone}) if project else (BY_ID, {'queue': name})
    row = connection.execute(*chosen).first()
    if row is None:
        return None
    queue = sound_row(connection, 'queue', row, stored_queue)
    version, document = _forecast(connection, row, known.version)
    at = known.at if document is None else float(document.get('at', now))
    return OfferRows(
        queue=queue,
        hosts=host_sizes(connection, row.sizes),
        idle=_idle(connection, queue, project_id),
        version=version,
        forecast=document,
        turn=int(row.turn or 0),
        promised=_binding(connection, queue, project_id, promised_since(connection, at, now)),
    )


def _binding(
    connection: Connection, queue: StoredQueue, project_id: str, promised: Sequence[StoredOffer]
) -> list[StoredOffer]:
    """Of what was promised, what keeps room from this queue.

    One with a share is bound by no hold of one without (J10), but for what the asker holds himself.
    """
    held = {
        one.queue_id
        for one in promised
        if one.state is OfferState.HELD and project_id != one.project_id
    }
    if not held or queue.share <= 0:
        return list(promised)
    query = select(job_queues.c.id).where(job_queues.c.id.in_(held), job_queues.c.share > 0)
    strong = {*connection.execute(query).scalars(), queue.id}
    return [
        one
        for one in promised
        if one.state is not OfferState.HELD
        or one.project_id == project_id
        or one.queue_id in strong
    ]


def _idle(connection: Connection, queue: StoredQueue, project_id: str) -> dict[str, int]:
    """Idle workers that jobs of a project may have, by flavor."""
    found: dict[str, int] = {}
    for flavor, whose, count in connection.execute(IDLE, {'queue': queue.id}):
        if queue.projects_trust_each_other or whose == project_id:
            found[flavor] = found.get(flavor, 0) + int(count)
    return found


def _forecast(
    connection: Connection, head: Row[Any], known: int
) -> tuple[int, dict[str, Any] | None]:
    """(version of the forecast, and what it is; None: it has the version that is known)."""
    if known and head.version == known:
        return known, None
    row = connection.execute(FORECAST_ROW).first()
    return (int(row.version), json.loads(row.document)) if row else (0, {})
