# SPDX-License-Identifier: Apache-2.0
"""What projects call queues: their own ones, and those of others that they have accepted. Names that rest.

For rule J9 of doc/source/specs/jobs.rst. Who gives a name holds the lock of all queues (db.queues), so that a
name stands for one queue in a project.
"""

from dataclasses import asdict

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select

from nova_market.core.job.queue import OF, QueueName, StoredQueue
from nova_market.core.timestamp import stamp
from nova_market.db.job_tables import (
    job_queue_aliases,
    job_queue_invitations,
    job_queue_names,
    job_queues,
)
from nova_market.errors import QueueNameTaken, TooManyQueues

ALIASES = job_queue_aliases.c


def by_key(key: str) -> ColumnElement[bool]:
    """The queue that core.job.queue_access.key_of stands for."""
    project_id, _, name = key.rpartition(OF)
    return known_as(project_id, name) if project_id else job_queues.c.id == key


def known_as(project_id: object, name: object) -> ColumnElement[bool]:
    """The queue that a project calls so."""
    accepted = select(ALIASES.queue_id).where(
        ALIASES.project_id == project_id, ALIASES.name == name
    )
    return or_(
        and_(job_queues.c.project_id == project_id, job_queues.c.name == name),
        job_queues.c.id.in_(accepted),
    )


def accept(connection: Connection, queue_id: str, name: QueueName, most: int, since: float) -> None:
    """The name of a project for a queue of another one.

    :raises QueueNameTaken: as take_name. :raises TooManyQueues: it has accepted `most`.
    """
    project_id = name.project_id
    reject(connection, queue_id, project_id)
    take_name(connection, name, since)
    count = select(func.count()).where(ALIASES.project_id == project_id)
    if int(connection.execute(count).scalar() or 0) >= most:
        raise TooManyQueues(f'the project has accepted {most} queues: reject one first')
    made = {'project_id': project_id, 'name': name.name, 'queue_id': queue_id}
    connection.execute(insert(job_queue_aliases), made)


def reject(connection: Connection, queue_id: str, project_id: str) -> None:
    """The project has no name for it any more."""
    own = (ALIASES.project_id == project_id, ALIASES.queue_id == queue_id)
    connection.execute(delete(job_queue_aliases).where(*own))


def accepted(connection: Connection, project_id: str) -> dict[str, str]:
    """What a project calls queues of others, by their ids."""
    query = select(ALIASES.queue_id, ALIASES.name).where(ALIASES.project_id == project_id)
    return {row.queue_id: row.name for row in connection.execute(query)}


def invite(connection: Connection, queue: StoredQueue) -> None:
    """Note the other projects whose jobs a queue takes, in place of those before."""
    before = job_queue_invitations.c.queue_id == queue.id
    connection.execute(delete(job_queue_invitations).where(before))
    rows = [
        {'project_id': one, 'queue_id': queue.id}
        for one in sorted(set(queue.projects) - {queue.project_id})
    ]
    if rows:
        connection.execute(insert(job_queue_invitations), rows)


def serves(project_id: str) -> ColumnElement[bool]:
    """Queues of a project, and those that take its jobs."""
    invited = select(job_queue_invitations.c.queue_id).where(
        job_queue_invitations.c.project_id == project_id
    )
    return or_(job_queues.c.project_id == project_id, job_queues.c.id.in_(invited))


def take_name(connection: Connection, name: QueueName, since: float) -> None:
    """A name that was given up after `since` goes to nobody but the one who had it (J9).

    :raises QueueNameTaken: it rests, or the project calls another queue so.
    """
    named = select(job_queues.c.id).where(known_as(name.project_id, name.name))
    if (queue_id := connection.execute(named).scalar()) is not None:
        raise QueueNameTaken(
            f'name: the project calls queue {queue_id} {name.name} already: give another name'
        )
    names = job_queue_names.c
    connection.execute(delete(job_queue_names).where(names.left_at <= since))
    own = (names.project_id == name.project_id, names.name == name.name)
    row = connection.execute(select(job_queue_names).where(*own)).first()
    if row is not None and row.user_id != name.user_id:
        raise QueueNameTaken(
            f'name: a queue {name.name} of another user has gone at {stamp(row.left_at)}, and its '
            'submitters may still use the name: give another one, or let that user take it'
        )
    connection.execute(delete(job_queue_names).where(*own))


def leave_name(connection: Connection, name: QueueName, now: float) -> None:
    """Until it has rested nobody else gets it."""
    connection.execute(insert(job_queue_names), {**asdict(name), 'left_at': now})
