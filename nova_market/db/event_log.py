# SPDX-License-Identifier: Apache-2.0
"""Tables of events, each event of one thing: of each thing the newest ones are kept."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, delete, insert, select

from nova_market.core.row_check import TIME, checked
from nova_market.db.app_tables import ACTION_LENGTH, REASON_LENGTH
from nova_market.db.apps import packed
from nova_market.db.sound_rows import sound_page

LENGTHS = {'action': ACTION_LENGTH, 'reason': REASON_LENGTH}


class Event(Protocol):
    """A dataclass with more fields: whose it is, when it was, what and why."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def numbers(self) -> Mapping[str, float]: ...


EventT = TypeVar('EventT', bound=Event)


class EventLog(Generic[EventT]):
    """The events of one kind of thing.

    kind: a dataclass with the table's columns as fields, but for its `number`, which is the column `id` and
    grows with time; its `numbers` are stored as JSON. owner: the field that says whose an event is. most: how
    many are kept of each thing
    """

    def __init__(self, table: Table, kind: type[EventT], owner: str, most: int) -> None:
        self._table, self._kind, self._most = table, kind, most
        self._owner = owner
        names = {one.name for one in fields(kind)}
        self._plain = tuple(sorted(names - {'number', 'numbers'}))

    def insert(self, connection: Connection, events: Sequence[EventT]) -> None:
        """Keep events; the oldest of a thing that has too many go."""
        if not events:
            return
        connection.execute(insert(self._table), [self._values(one) for one in events])
        for name in sorted({getattr(one, self._owner) for one in events}):
            mine = self._table.c[self._owner] == name
            newest = select(self._table.c.id).where(mine).order_by(self._table.c.id.desc())
            last = connection.execute(newest.offset(self._most).limit(1)).scalar()
            if last is not None:
                connection.execute(delete(self._table).where(mine, self._table.c.id <= last))

    def page(
        self,
        connection: Connection,
        owner: str,
        before: int | None,
        limit: int,
        *only: ColumnElement[bool],
    ) -> list[EventT]:
        """Those of one thing, newest first. before: number of the last one of the page before this one"""
        query = select(self._table).where(self._table.c[self._owner] == owner, *only)
        if before is not None:
            query = query.where(self._table.c.id < before)
        return self._events(connection, query.order_by(self._table.c.id.desc()), limit)

    def since(self, connection: Connection, after: int, limit: int) -> list[EventT]:
        """Of all things, oldest first. after: number of the last one that is known"""
        query = select(self._table).where(self._table.c.id > after).order_by(self._table.c.id)
        return self._events(connection, query, limit)

    def _values(self, event: EventT) -> dict[str, Any]:
        found = {name: getattr(event, name) for name in self._plain}
        cut = {name: found[name][:length] for name, length in LENGTHS.items()}
        return {**found, **cut, 'numbers': packed(event.numbers)}

    def _events(self, connection: Connection, query: Select[Any], limit: int) -> list[EventT]:
        kind = f'{self._owner.removesuffix("_id")} event'
        return sound_page(connection, kind, query, limit, self._event)

    def _event(self, row: Row[Any]) -> EventT:
        found = row._mapping
        values: dict[str, Any] = {name: found[name] for name in self._plain}
        values |= {'numbers': json.loads(found['numbers']), 'number': found['id']}
        return checked(self._kind(**values), {'at': TIME})
