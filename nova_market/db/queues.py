# SPDX-License-Identifier: Apache-2.0
"""Queues.

For rule J1 of doc/source/specs/jobs.rst (SVMSched, section 4.2). Whoever makes or changes a queue locks the
rows of all queues, so that shares cannot exceed 1 and a quota holds however many ask at once: there are few
queues, and they change seldom.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, Row, delete, func, insert, select, tuple_, update

from nova_market.core.job.queue import OF, QueueMinute, QueueName, QueueState, StoredQueue
from nova_market.core.job.queue_request import shares_above_one
from nova_market.core.job.record import ACTIVE, QUEUED
from nova_market.core.job.store_values import QueueCount
from nova_market.db import queue_figures
from nova_market.db.database import Database
from nova_market.db.job_tables import (
    BESIDE_QUEUES,
    job_attempts,
    job_contents,
    job_events,
    job_hosts,
    job_queue_trusts,
    job_queues,
    jobs,
)
from nova_market.db.ledger import MAX_PAGE, slices
from nova_market.db.queue_names import (
    accept,
    accepted,
    by_key,
    invite,
    leave_name,
    reject,
    serves,
    take_name,
)
from nova_market.db.queue_rows import COLUMNS, SETTINGS, queue_values, stored_queue
from nova_market.db.queue_trusts import replaced_trusts, trust_ended
from nova_market.db.sound_rows import sound_page, sound_row, sound_rows
from nova_market.errors import (
    BadAmount,
    Conflict,
    QueueDeleting,
    QueueNotEmpty,
    SharesExceeded,
    TooManyQueues,
)

FIXED = frozenset({'id', 'project_id', 'generation', 'created_at', 'changed_at'})
LIVE = tuple(str(state) for state in (*QUEUED, *ACTIVE))

ADMISSION_AGE = 10.0
"""Seconds for which admission takes a queue as it was read. The transaction that stores a job checks it."""

MOST_ADMITTED = 10_000
"""Names of queues that are remembered; beyond it all are read again."""

Hosts = Sequence[tuple[float, float, float]]


class DatabaseQueues:
    """Implements ports.QueueStore."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall
        self._admitted: dict[str, tuple[float, StoredQueue]] = {}
        self._largest: tuple[float, Hosts] = (-math.inf, ())

    def create(self, queue: StoredQueue, most: int, rest: float = 0.0) -> StoredQueue:
        """Keep a new queue; the stored one when it is there. rest: seconds of a name that was given up.

        :raises QueueNameTaken, TooManyQueues, SharesExceeded: nothing is stored.
        """
        now = self._wall()
        made = replace(queue, generation=1, created_at=now, changed_at=now)
        return self._database.write(_create, made, most, rest)

    def check(self, project_id: str, most: int) -> None:
        """:raises TooManyQueues: the project has `most` queues."""
        self._database.read(_check_room, project_id, most)

    def owned(self, project_id: str) -> int:
        """How many queues a project has."""
        return self._database.read(_owned, project_id)

    def queue(self, name: str) -> StoredQueue | None:
        """One queue, by id or key (queue_access.key_of); None when there is none."""
        return self._database.read(_queue, name)

    def named(self, name: str) -> Sequence[StoredQueue]:
        """Those that have this name, by project."""
        return self._database.read(_named, name)

    def admission(
        self, names: Sequence[str], *, fresh: bool
    ) -> tuple[Mapping[str, StoredQueue], Hosts]:
        """(queues by the key that is given; what the largest hosts have), read at once.

        fresh: False: some seconds old, where they are there: a submission reads them for each job otherwise
        """
        now = self._wall()
        last, hosts = self._largest
        known = {name: self._admitted.get(name) for name in names}
        if not fresh and 0 <= now - last < ADMISSION_AGE:
            young = {n: k[1] for n, k in known.items() if k and 0 <= now - k[0] < ADMISSION_AGE}
            if len(young) == len(known):
                return young, hosts
        found, hosts = self._database.read(_admission, tuple(names))
        if len(self._admitted) > MOST_ADMITTED:
            self._admitted.clear()
        self._admitted |= {name: (now, one) for name, one in found.items()}
        self._largest = (now, hosts)
        return found, hosts

    def queues(
        self, project_id: str | None = None, after: str = '', limit: int = 1000
    ) -> Sequence[StoredQueue]:
        """Queues by name: all, or of a project and those that take its jobs; `after`: the last one's key."""
        return self._database.read(_queues, project_id, after, min(limit, MAX_PAGE))

    def accept(self, queue_id: str, name: QueueName, most: int, rest: float = 0.0) -> None:
        """A project's name for a queue of another one, in place of the one before.

        :raises QueueNameTaken, TooManyQueues, Conflict: nothing is changed.
        """
        self._database.write(_accept, queue_id, name, most, self._wall() - rest)

    def reject(self, queue_id: str, project_id: str) -> None:
        """The project has no name for it any more."""
        self._database.write(reject, queue_id, project_id)

    def accepted(self, project_id: str) -> Mapping[str, str]:
        """What a project calls queues of others, by their ids."""
        return self._database.read(accepted, project_id)

    def names(self, queue_ids: Sequence[str]) -> Mapping[str, str]:
        """Names of queues, by id."""
        return self._database.read(_names, tuple(queue_ids))

    def change(
        self, queue_id: str, changed: Mapping[str, Any], generation: int, rest: float = 0.0
    ) -> StoredQueue:
        """Set these fields; the queue as it is then. rest: as in `create`.

        :raises Conflict: it was changed since it was read, or there is none.
        :raises QueueDeleting, QueueNameTaken, SharesExceeded: nothing is changed.
        """
        if unknown := sorted(changed.keys() & FIXED or changed.keys() - {*COLUMNS, *SETTINGS}):
            raise BadAmount(f'{unknown[0]!r:.80} of a queue: give what can be changed')
        return self._database.write(
            _change, queue_id, dict(changed), generation, self._wall(), rest
        )

    def delete(self, queue_id: str) -> StoredQueue | None:
        """Let it be deleted: it takes no jobs any more, and the service removes it. None: there is none.

        :raises QueueNotEmpty: jobs of it have not ended.
        """
        return self._database.write(_delete, queue_id, self._wall())

    def remove(self, queue_id: str) -> None:
        """Forget a queue with all that belongs to it."""
        self._database.write(_remove, queue_id, self._wall())

    def counts(self, queue_ids: Sequence[str]) -> Mapping[str, QueueCount]:
        """How many jobs are where, by queue."""
        return self._database.read(_counts, tuple(queue_ids))

    def replaced_trusts(self) -> Mapping[str, Sequence[str]]:
        """Trusts that queues had before, and that are not ended yet, by queue."""
        return self._database.read(replaced_trusts)

    def trust_ended(self, trust_id: str) -> None:
        """Forget one of them."""
        self._database.write(trust_ended, trust_id)

    def note_hosts(self, sizes: Sequence[tuple[float, float, float]]) -> None:
        """Keep what the largest hosts have."""
        self._database.write(queue_figures.note_hosts, [list(one) for one in sizes])

    def hosts(self) -> Sequence[tuple[float, float, float]]:
        """What was noted last."""
        return self._database.read(queue_figures.hosts)

    def note(self, minutes: Sequence[QueueMinute]) -> None:
        """Keep what queues did in a minute, over what is there for it."""
        self._database.write(queue_figures.note, tuple(minutes))

    def minutes(
        self, queue_id: str, first: int, last: int, limit: int = 1000, *, newest_first: bool = False
    ) -> Sequence[QueueMinute]:
        """Minutes of one queue, in their order."""
        given = queue_id, first, last, min(limit, MAX_PAGE)
        return self._database.read(queue_figures.minutes, *given, newest_first)


def _create(connection: Connection, queue: StoredQueue, most: int, rest: float) -> StoredQueue:
    others = _locked(connection)
    if queue.id in others:
        # ours, when the answer to an earlier try got lost
        return sound_row(connection, 'queue', others[queue.id], stored_queue)
    _check_room(connection, queue.project_id, most)
    _check_shares(queue, others)
    take_name(connection, queue.own_name, queue.created_at - rest)
    try:
        connection.execute(insert(job_queues), queue_values(queue))
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error
    invite(connection, queue)
    return queue


def _check_room(connection: Connection, project_id: str, most: int) -> None:
    own = _owned(connection, project_id)
    if own >= most:
        raise TooManyQueues(f'the project has {own} queues: delete one first')


def _owned(connection: Connection, project_id: str) -> int:
    count = select(func.count()).where(job_queues.c.project_id == project_id)
    return int(connection.execute(count).scalar() or 0)


def _change(
    connection: Connection,
    queue_id: str,
    changed: Mapping[str, Any],
    generation: int,
    now: float,
    rest: float,
) -> StoredQueue:
    others = _locked(connection)
    row = others.pop(queue_id, None)
    if row is None:
        raise Conflict(f'there is no queue {queue_id}')
    found = sound_row(connection, 'queue', row, stored_queue)
    if found.state is QueueState.DELETING and changed.keys() != {'trust_id'}:
        raise QueueDeleting(f'queue {found.name} is being deleted')
    if found.generation != generation:
        if found.generation == generation + 1 and replace(found, **changed) == found:
            return found  # ours, when the answer to an earlier try got lost
        raise Conflict(
            f'queue {found.name} is at generation {found.generation}, not {generation}: read it again'
        )
    made = replace(found, **changed, generation=generation + 1, changed_at=now)
    _check_shares(made, others)
    if made.name != found.name:
        take_name(connection, made.own_name, now - rest)
        leave_name(connection, found.own_name, now)
    connection.execute(
        update(job_queues).where(job_queues.c.id == queue_id).values(**queue_values(made))
    )
    if made.projects != found.projects:
        invite(connection, made)
    if found.trust_id not in {'', made.trust_id}:
        before = {'queue_id': queue_id, 'trust_id': found.trust_id}
        connection.execute(insert(job_queue_trusts), before)
    return made


def _check_shares(made: StoredQueue, others: Mapping[str, Row[Any]]) -> None:
    """Against the rows of all others, also of those that are set aside."""
    beside = {
        one.id: one.share
        for one in others.values()
        if one.aggregate == made.aggregate and isinstance(one.share, int | float)
    }
    total = shares_above_one({**beside, made.id: made.share})
    if made.share > 0 and total is not None:
        where = f'aggregate {made.aggregate}' if made.aggregate else 'the cloud'
        left = max(1 - sum(beside.values()), 0.0)
        raise SharesExceeded(
            f'share: {made.share:g}: all shares of {where} would be {total:g}: give at most {left:g}'
        )


def _accept(
    connection: Connection, queue_id: str, name: QueueName, most: int, since: float
) -> None:
    if queue_id not in _locked(connection):
        raise Conflict(f'there is no queue {queue_id}')
    accept(connection, queue_id, name, most, since)


def _delete(connection: Connection, queue_id: str, now: float) -> StoredQueue | None:
    row = _locked(connection).get(queue_id)
    found = None if row is None else sound_row(connection, 'queue', row, stored_queue)
    if found is None or found.state is QueueState.DELETING:
        return found
    live = select(func.count()).where(jobs.c.queue_id == queue_id, jobs.c.state.in_(LIVE))
    if count := int(connection.execute(live).scalar() or 0):
        raise QueueNotEmpty(
            f'queue {found.name} has {count} jobs that have not ended: cancel them first'
        )
    made = replace(
        found, state=QueueState.DELETING, generation=found.generation + 1, changed_at=now
    )
    connection.execute(
        update(job_queues).where(job_queues.c.id == queue_id).values(**queue_values(made))
    )
    return made


def _remove(connection: Connection, queue_id: str, now: float) -> None:
    row = connection.execute(
        select(job_queues).where(job_queues.c.id == queue_id).with_for_update()
    ).first()
    if row is None:
        return
    leave_name(connection, stored_queue(row).own_name, now)
    own = select(jobs.c.id).where(jobs.c.queue_id == queue_id)
    contents = select(func.coalesce(jobs.c.array_id, jobs.c.id)).where(jobs.c.queue_id == queue_id)
    for table in (job_attempts, job_events):
        connection.execute(delete(table).where(table.c.job_id.in_(own)))
    connection.execute(delete(job_contents).where(job_contents.c.id.in_(contents)))
    for table in (*BESIDE_QUEUES, jobs):
        connection.execute(delete(table).where(table.c.queue_id == queue_id))
    connection.execute(delete(job_queues).where(job_queues.c.id == queue_id))


def _locked(connection: Connection) -> dict[str, Row[Any]]:
    """All queues, which nobody else changes until this transaction ends."""
    # a row that is always there: locking no row locks nothing
    first = select(job_hosts).where(job_hosts.c.name == queue_figures.LARGEST)
    connection.execute(first.with_for_update())
    rows = connection.execute(select(job_queues).order_by(job_queues.c.id).with_for_update())
    return {row.id: row for row in rows}


def _queue(connection: Connection, name: str) -> StoredQueue | None:
    row = connection.execute(select(job_queues).where(by_key(name))).first()
    return sound_row(connection, 'queue', row, stored_queue) if row else None


def _named(connection: Connection, name: str) -> list[StoredQueue]:
    query = select(job_queues).where(job_queues.c.name == name)
    rows = connection.execute(query.order_by(job_queues.c.project_id))
    return sound_rows(connection, 'queue', rows, stored_queue)


def _admission(
    connection: Connection, names: Sequence[str]
) -> tuple[dict[str, StoredQueue], list[tuple[float, float, float]]]:
    found = {name: _queue(connection, name) for name in names}
    there = {name: one for name, one in found.items() if one is not None}
    return there, queue_figures.hosts(connection)


def _queues(
    connection: Connection, project_id: str | None, after: str, limit: int
) -> list[StoredQueue]:
    project, _, name = after.rpartition(OF)
    order = (job_queues.c.name, job_queues.c.project_id)
    query = select(job_queues).where(tuple_(*order) > (name, project))
    if project_id is not None:
        query = query.where(serves(project_id))
    return sound_page(connection, 'queue', query.order_by(*order), limit, stored_queue)


def _names(connection: Connection, queue_ids: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in slices(sorted(set(queue_ids))):
        query = select(job_queues.c.id, job_queues.c.name).where(job_queues.c.id.in_(part))
        found |= {row.id: row.name for row in connection.execute(query)}
    return found


def _counts(connection: Connection, queue_ids: Sequence[str]) -> dict[str, QueueCount]:
    found = {name: dict.fromkeys(('waiting', 'held', 'active'), 0) for name in queue_ids}
    query = select(jobs.c.queue_id, jobs.c.state, func.count()).where(jobs.c.state.in_(LIVE))
    for queue_id, state, count in connection.execute(query.group_by(jobs.c.queue_id, jobs.c.state)):
        if queue_id in found:
            name = str(state) if state in QUEUED else 'active'
            found[queue_id][name] += int(count)
    return {name: QueueCount(**counted) for name, counted in found.items()}
