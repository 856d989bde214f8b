# SPDX-License-Identifier: Apache-2.0
"""What the largest hosts have, by which requests are admitted, and what queues did each minute.

For rule J6 of doc/source/specs/jobs.rst. One that cannot be read is not known.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from nova_market.core.job.queue import QueueMinute
from nova_market.core.row_check import checked
from nova_market.db.apps import packed
from nova_market.db.job_tables import job_hosts, job_minutes
from nova_market.db.ledger import slices
from nova_market.db.sound_rows import boundary_of, sound_page
from nova_market.row_boundary import READ

LARGEST = 'largest'
"""Name of the row that has the hosts."""

MINUTE = tuple(field.name for field in fields(QueueMinute))


def note_hosts(connection: Connection, sizes: Sequence[Sequence[float]]) -> None:
    """Keep cores, MiB and GiB of the largest hosts."""
    change = update(job_hosts).where(job_hosts.c.name == LARGEST)
    connection.execute(change.values(sizes=packed({'hosts': sizes})))


def hosts(connection: Connection) -> list[tuple[float, float, float]]:
    """What was noted last."""
    found = connection.execute(
        select(job_hosts.c.sizes).where(job_hosts.c.name == LARGEST)
    ).scalar()
    return host_sizes(connection, found)


def host_sizes(connection: Connection, document: bytes | None) -> list[tuple[float, float, float]]:
    """Cores, MiB and GiB of the largest hosts, of the document that is kept of them; []: not known."""
    with boundary_of(connection).row('document', 'job_hosts', READ):
        sizes = json.loads(document)['hosts'] if document else ()
        return [(float(cores), float(memory), float(disk)) for cores, memory, disk in sizes]
    return []


def note(connection: Connection, minutes: Sequence[QueueMinute]) -> None:
    """Keep what queues did in a minute, over what is there for it."""
    queues: dict[int, list[str]] = {}
    for one in minutes:
        queues.setdefault(one.minute, []).append(one.queue_id)
    for number, names in queues.items():
        for part in slices(names):
            chosen = (job_minutes.c.minute == number, job_minutes.c.queue_id.in_(part))
            connection.execute(delete(job_minutes).where(*chosen))
    if minutes:
        connection.execute(insert(job_minutes), [asdict(one) for one in minutes])


def minutes(
    connection: Connection, queue_id: str, first: int, last: int, limit: int, newest_first: bool
) -> list[QueueMinute]:
    """Minutes of one queue, in their order."""
    query = select(job_minutes).where(
        job_minutes.c.queue_id == queue_id, job_minutes.c.minute.between(first, last)
    )
    minute = job_minutes.c.minute
    query = query.order_by(minute.desc() if newest_first else minute)
    return sound_page(connection, 'minute', query, limit, _minute, _name)


def _minute(row: Row[Any]) -> QueueMinute:
    return checked(QueueMinute(**{name: getattr(row, name) for name in MINUTE}))


def _name(row: Row[Any]) -> str:
    return f'{row.queue_id}/{row.minute}'
