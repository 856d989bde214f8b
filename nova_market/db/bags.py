# SPDX-License-Identifier: Apache-2.0
"""Bags of tasks as their owners see them: created, filled, listed, changed, cancelled.

For rule T5 of doc/source/specs/tender.rst (INRIA RR-7837, section 3.5.2). Whoever changes a bag or its tasks
locks its row first, so that its owner and the service of jobs come one after the other.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oslo_db.exception import DBDuplicateEntry
from sqlalchemy import Connection, delete, func, insert, select, update

from nova_market.core.tender.bag import (
    BAG,
    BagAction,
    BagEvent,
    BagFilter,
    BagProgress,
    BagState,
    StoredBag,
    StoredTask,
    TaskState,
)
from nova_market.core.tender.bag_request import NewTasks
from nova_market.core.text import shown
from nova_market.db.apps import packed
from nova_market.db.bag_progress import end_if_over, read_progress
from nova_market.db.bag_rows import (
    BAG_EVENTS,
    bag_values,
    changed_values,
    locked_bag,
    stored_bag,
    stored_task,
    task_name,
    task_values,
)
from nova_market.db.bag_tables import bag_contents, bag_events, bag_tasks, bags
from nova_market.db.database import Database
from nova_market.db.ledger import MAX_PAGE, slices
from nova_market.db.sound_rows import sound_page, sound_row
from nova_market.errors import BadBag, BagEnded, KeyReused, TooManyBags

WAIT = (str(TaskState.WAITING), str(TaskState.TAKING))


class DatabaseOwnBags:
    """Implements ports.OwnBags."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall

    def create(self, bag: StoredBag, new: NewTasks, most: int) -> tuple[StoredBag, bool]:
        """(the bag as stored, whether it is new). One whose id is stored already: nothing is changed.

        :raises TooManyBags: its project would have more than `most` that have not ended.
        :raises KeyReused: its id is stored with another digest of the request.
        """
        try:
            return self._database.write(_create, bag, new, most)
        except DBDuplicateEntry:
            # the same request at the same moment
            return self._database.write(_create, bag, new, most)

    def check(self, project_id: str, most: int) -> None:
        """:raises TooManyBags: the project has `most` that have not ended."""
        self._database.read(_check_room, project_id, most)

    def add(self, bag_id: str, first: int, new: NewTasks, *, more: bool) -> StoredBag:
        """Store more tasks of a bag that is being filled; it is open then unless there are `more`.

        :raises BadBag: others have their names, or rows are left out.
        :raises BagEnded: the bag is not being filled.
        """
        return self._database.write(_add, bag_id, first, new, more, self._wall())

    def bag(self, bag_id: str) -> StoredBag | None:
        """One bag; None when there is none."""
        return self._database.read(_bag, bag_id)

    def bags(self, chosen: BagFilter, before: int = 0, limit: int = 1000) -> Sequence[StoredBag]:
        """Newest first; before: number of the last one of a page."""
        return self._database.read(_page, chosen, before, min(limit, MAX_PAGE))

    def progress(self, bag_ids: Sequence[str]) -> Mapping[str, BagProgress]:
        """How far they are, by id."""
        return self._database.read(read_progress, tuple(bag_ids))

    def tasks(
        self, bag_id: str, state: TaskState | None = None, after: int = -1, limit: int = 1000
    ) -> Sequence[StoredTask]:
        """By row; after: the row of the last one of a page."""
        return self._database.read(_tasks, bag_id, state, after, min(limit, MAX_PAGE))

    def events(
        self, bag_id: str, task: str | None = None, before: int | None = None, limit: int = 1000
    ) -> Sequence[BagEvent]:
        """Newest first. task: of one alone."""
        return self._database.read(_events, bag_id, task, before, limit)

    def change(
        self, bag_id: str, changed: Mapping[str, Any], deadline: float | None, event: BagEvent
    ) -> StoredBag:
        """The owner's settings; deadline: of all tasks that wait, 0: none, None: as it is.

        :raises BagEnded: it has ended or was cancelled.
        """
        return self._database.write(_change, bag_id, changed, deadline, event)

    def cancel(self, bag_id: str, event: BagEvent, *, jobs: bool) -> StoredBag:
        """What waits is dropped; jobs: its jobs are to be cancelled. What has ended stays as it is."""
        return self._database.write(_cancel, bag_id, event, jobs)


def some_bags(connection: Connection, older_than: float, batch: int) -> int:
    """Delete bags that ended before, with all that is theirs; how many."""
    query = select(bags.c.id).where(bags.c.ended_at > 0, bags.c.ended_at < older_than)
    # a bag has up to ten thousand tasks
    query = query.order_by(bags.c.number).limit(max(batch // 100, 1))
    found = list(connection.execute(query.with_for_update()).scalars())
    for table in (bag_tasks, bag_contents, bag_events):
        connection.execute(delete(table).where(table.c.bag_id.in_(found)))
    connection.execute(delete(bags).where(bags.c.id.in_(found)))
    return len(found)


def _create(
    connection: Connection, bag: StoredBag, new: NewTasks, most: int
) -> tuple[StoredBag, bool]:
    before = _bag(connection, bag.id)
    if before is not None:
        if before.digest != bag.digest:
            raise KeyReused('Idempotency-Key: it was used for another bag: choose a new one')
        return before, False
    _check_room(connection, bag.project_id, most)
    connection.execute(insert(bags).values(**bag_values(bag)))
    _insert_tasks(connection, bag.id, new)
    said = f'by {bag.user_id[:64]}'
    numbers = {'tasks': float(len(new.tasks))}
    event = BagEvent(
        bag_id=bag.id, at=bag.created_at, action=BagAction.CREATED, reason=said, numbers=numbers
    )
    BAG_EVENTS.insert(connection, [event])
    return _there(connection, bag.id), True


def _check_room(connection: Connection, project_id: str, most: int) -> None:
    own = (bags.c.project_id == project_id) & (bags.c.ended_at == 0)
    some = select(bags.c.number).where(own).limit(most + 1).subquery()
    count = int(connection.execute(select(func.count()).select_from(some)).scalar() or 0)
    if count >= most:
        raise TooManyBags(
            f'the project has {count} bags that have not ended: the limit is {most}: wait, or cancel some'
        )


def _add(
    connection: Connection, bag_id: str, first: int, new: NewTasks, more: bool, now: float
) -> StoredBag:
    bag = _locked(connection, bag_id)
    query = select(func.count()).where(bag_tasks.c.bag_id == bag_id)
    count = int(connection.execute(query).scalar() or 0)
    if first + len(new.tasks) <= count:
        return bag  # the same request once more: its answer was lost
    if bag.state is not BagState.FILLING:
        raise BagEnded(f'bag {bag_id} is {bag.state}: it takes no more tasks')
    if first != count:
        raise BadBag(f'first: {first}: the bag has {count} tasks: go on with {count}')
    for part in slices([one.name for one in new.tasks]):
        taken = (bag_tasks.c.bag_id == bag_id) & bag_tasks.c.name.in_(part)
        name = connection.execute(select(bag_tasks.c.name).where(taken).limit(1)).scalar()
        if name is not None:
            raise BadBag(f'tasks: a task of the bag has the name {shown(name)}: give each its own')
    _insert_tasks(connection, bag_id, new)
    if not more:
        values = {'state': str(BagState.OPEN), 'changed_at': now, 'next_at': now}
        connection.execute(update(bags).where(bags.c.id == bag_id).values(**values))
    return _there(connection, bag_id)


def _insert_tasks(connection: Connection, bag_id: str, new: NewTasks) -> None:
    query = select(bag_contents.c.digest).where(bag_contents.c.bag_id == bag_id)
    there = set(connection.execute(query).scalars())
    contents = [
        {'bag_id': bag_id, 'digest': digest, 'document': packed(document)}
        for digest, document in new.contents.items()
        if digest not in there
    ]
    if contents:
        connection.execute(insert(bag_contents), contents)
    if new.tasks:
        connection.execute(insert(bag_tasks), [task_values(one) for one in new.tasks])


def _bag(connection: Connection, bag_id: str) -> StoredBag | None:
    row = connection.execute(select(bags).where(bags.c.id == bag_id)).first()
    return sound_row(connection, 'bag', row, stored_bag) if row else None


def _there(connection: Connection, bag_id: str) -> StoredBag:
    found = _bag(connection, bag_id)
    assert found is not None, 'its row is locked'
    return found


def _locked(connection: Connection, bag_id: str) -> StoredBag:
    found = locked_bag(connection, bag_id)
    if found is None:
        raise BagEnded(f'bag {bag_id} is not kept any more')
    return found


def _page(connection: Connection, chosen: BagFilter, before: int, limit: int) -> list[StoredBag]:
    query = select(bags)
    if chosen.project_id is not None:
        query = query.where(bags.c.project_id == chosen.project_id)
    if chosen.name is not None:
        query = query.where(bags.c.name == chosen.name)
    if chosen.states:
        query = query.where(bags.c.state.in_([str(one) for one in chosen.states]))
    if before:
        query = query.where(bags.c.number < before)
    return sound_page(connection, 'bag', query.order_by(bags.c.number.desc()), limit, stored_bag)


def _tasks(
    connection: Connection, bag_id: str, state: TaskState | None, after: int, limit: int
) -> list[StoredTask]:
    query = select(bag_tasks).where(bag_tasks.c.bag_id == bag_id, bag_tasks.c.row > after)
    if state is not None:
        query = query.where(bag_tasks.c.state == str(state))
    query = query.order_by(bag_tasks.c.row)
    return sound_page(connection, 'task', query, limit, stored_task, task_name)


def _events(
    connection: Connection, bag_id: str, task: str | None, before: int | None, limit: int
) -> list[BagEvent]:
    only = [] if task is None else [bag_events.c.task.in_([task, BAG])]
    return BAG_EVENTS.page(connection, bag_id, before, limit, *only)


def _change(
    connection: Connection,
    bag_id: str,
    changed: Mapping[str, Any],
    deadline: float | None,
    event: BagEvent,
) -> StoredBag:
    bag = _locked(connection, bag_id)
    if bag.ended_at or bag.state is BagState.CANCELLED:
        raise BagEnded(f'bag {bag_id} is {bag.state}: it cannot be changed any more')
    # what did not suit before may suit now: all that wait are tried again
    values = {**changed_values(changed), 'round_at': 0.0, 'next_at': event.at}
    values['changed_at'] = event.at
    connection.execute(update(bags).where(bags.c.id == bag_id).values(**values))
    if deadline is not None:
        mine = (bag_tasks.c.bag_id == bag_id) & bag_tasks.c.state.in_(WAIT)
        connection.execute(update(bag_tasks).where(mine).values(deadline=deadline))
    BAG_EVENTS.insert(connection, [event])
    return _there(connection, bag_id)


def _cancel(connection: Connection, bag_id: str, event: BagEvent, jobs: bool) -> StoredBag:
    bag = _locked(connection, bag_id)
    if bag.ended_at or (bag.state is BagState.CANCELLED and (bag.cancel_jobs or not jobs)):
        return bag
    values = {
        'state': str(BagState.CANCELLED), 'cancel_jobs': jobs or bag.cancel_jobs, 'next_at': 0.0,
        'round_at': 0.0, 'changed_at': event.at, 'reason': '',
    }  # fmt: skip
    connection.execute(update(bags).where(bags.c.id == bag_id).values(**values))
    # one whose offer is being accepted is found by the service, and is cancelled or has its job then
    mine = (bag_tasks.c.bag_id == bag_id) & (bag_tasks.c.state == str(TaskState.WAITING))
    dropped = {'state': str(TaskState.CANCELLED), 'ended_at': event.at}
    connection.execute(update(bag_tasks).where(mine).values(**dropped))
    BAG_EVENTS.insert(connection, [event])
    end_if_over(connection, _there(connection, bag_id), event.at)
    return _there(connection, bag_id)
