# SPDX-License-Identifier: Apache-2.0
"""Rows of bags, their tasks and events as values, and back; what happened is kept, the newest of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, or_, select

from nova_market.core.row_check import check_fields, checked
from nova_market.core.tender.bag import (
    BAG_BOUNDS,
    LIVE,
    MAX_EVENTS,
    TASK_BOUNDS,
    BagEvent,
    BagState,
    StoredBag,
    StoredTask,
    TaskState,
    WaitingTasks,
)
from nova_market.core.tender.negotiation import BagTasks, Order
from nova_market.db.app_tables import REASON_LENGTH
from nova_market.db.apps import packed
from nova_market.db.bag_tables import bag_events, bag_tasks, bags
from nova_market.db.event_log import EventLog
from nova_market.db.sound_rows import sound_row, sound_rows, unknown_word

DOCUMENT = ('roles', 'queues', 'defaults')
BAG = tuple(one.name for one in fields(StoredBag) if one.name not in {*DOCUMENT, 'number'})
TASK = tuple(one.name for one in fields(StoredTask))
LIVE_STATES = tuple(str(state) for state in LIVE)
BAG_EVENTS = EventLog(bag_events, BagEvent, 'bag_id', MAX_EVENTS)


def bag_values(bag: StoredBag) -> dict[str, Any]:
    """A bag as columns have it; the number is the database's."""
    values = {name: _text(getattr(bag, name)) for name in BAG}
    document = {name: getattr(bag, name) for name in DOCUMENT}
    return {**values, 'reason': bag.reason[:REASON_LENGTH], 'document': packed(document)}


def stored_bag(row: Row[Any]) -> StoredBag:
    """A row of bags."""
    found = row._mapping
    document = json.loads(found['document'])
    values = {name: found[name] for name in BAG}
    values |= {
        'state': BagState(found['state']),
        'order': Order(found['order']),
        'roles': tuple(document['roles']),
        'queues': tuple(document['queues']),
        'defaults': document['defaults'],
        'number': found['number'],
    }
    return checked(StoredBag(**values), BAG_BOUNDS)


def task_values(task: StoredTask) -> dict[str, Any]:
    """A task as columns have it."""
    values = {name: _text(getattr(task, name)) for name in TASK}
    return {
        **values,
        'flavors': _listed(task.flavors),
        'environment': packed(task.environment),
    }


def stored_task(row: Row[Any]) -> StoredTask:
    """A row of bag_tasks."""
    values = {name: row._mapping[name] for name in TASK}
    values |= {
        'flavors': tuple(json.loads(values['flavors'])),
        'environment': json.loads(values['environment']),
        'state': TaskState(values['state']),
    }
    return checked(StoredTask(**values), TASK_BOUNDS)


def changed_values(changed: Mapping[str, Any]) -> dict[str, Any]:
    """What is changed of a bag or of a task, as columns have it."""
    values = {name: _text(value) for name, value in changed.items()}
    if 'reason' in values:
        values['reason'] = values['reason'][:REASON_LENGTH]
    return values


def waiting_tasks(connection: Connection, bag_id: str) -> WaitingTasks:
    """All tasks of a bag that wait, as columns."""
    table = bag_tasks.c
    query = select(
        table.row,
        table.name,
        table.why,
        table.time_limit,
        table.deadline,
        table.importance,
        table.tried_at,
        table.flavors,
        table.state,
    )
    waits = or_(table.state == str(TaskState.WAITING), unknown_word(table.state, TaskState))
    mine = (table.bag_id == bag_id) & waits
    every = list(connection.execute(query.where(mine).order_by(table.row)))
    rows = sound_rows(connection, 'task', every, _checked, lambda row: f'{bag_id}/{row.row}')
    kinds: dict[tuple[bytes, int], int] = {}
    group = [kinds.setdefault((bytes(row.flavors), row.time_limit), len(kinds)) for row in rows]
    deadline = np.array([row.deadline for row in rows], dtype=np.float64)
    return WaitingTasks(
        row=np.array([row.row for row in rows], dtype=np.intp),
        names=tuple(row.name for row in rows),
        why=tuple(row.why for row in rows),
        tasks=BagTasks(
            work=np.array([row.time_limit for row in rows], dtype=np.float64),
            deadline=np.where(deadline == 0, np.inf, deadline),
            importance=np.array([row.importance for row in rows], dtype=np.float64),
        ),
        tried_at=np.array([row.tried_at for row in rows], dtype=np.float64),
        group=np.array(group, dtype=np.int64),
        kinds=tuple((tuple(json.loads(names)), limit) for names, limit in kinds),
        unread=len(every) - len(rows),
    )


def _checked(row: Row[Any]) -> Row[Any]:
    """Itself. One at a time: what is made of all of them below is of arrays."""
    held = {**row._mapping, 'flavors': tuple(json.loads(row.flavors))}
    check_fields(StoredTask, {**held, 'state': TaskState(row.state)}, TASK_BOUNDS)
    return row


def task_name(row: Row[Any]) -> str:
    """As a task is named among what is set aside."""
    return f'{row.bag_id}/{row.row}'


def locked_bag(connection: Connection, bag_id: str) -> StoredBag | None:
    """Nobody else changes it or its tasks until this transaction ends."""
    query = select(bags).where(bags.c.id == bag_id).with_for_update()
    row = connection.execute(query).first()
    return sound_row(connection, 'bag', row, stored_bag) if row else None


def _listed(names: Sequence[str]) -> bytes:
    return json.dumps(list(names), separators=(',', ':')).encode()


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, StrEnum) else value
