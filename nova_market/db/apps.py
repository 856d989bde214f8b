# SPDX-License-Identifier: Apache-2.0
"""Applications and their servers, as the controller and the API keep them.

For the applications of Merkat (INRIA RR-8648), section 2.3. A change is made where what was read is
still there, so neither the owner nor the controller overwrites what the other wrote meanwhile.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import groupby
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, Row, Select, delete, func, insert, select, update

from nova_market.core.app.record import (
    APP_BOUNDS,
    ENDED,
    SLOT_BOUNDS,
    AppState,
    DesiredServerState,
    DesiredState,
    StoredApp,
    StoredSlot,
)
from nova_market.core.ledger.posting import account
from nova_market.core.row_check import checked
from nova_market.db.app_tables import (
    app_events,
    app_hooks,
    app_replaced_trusts,
    app_reports,
    app_servers,
    apps,
)
from nova_market.db.database import Database
from nova_market.db.ledger import MAX_PAGE, lock_accounts
from nova_market.db.sound_rows import sound_page, sound_row, sound_rows
from nova_market.errors import BadAmount, BadRow, Conflict, TooManyApps
from nova_market.row_boundary import READ

SERVERS = f'{READ} its servers'
COLUMNS = tuple(field.name for field in fields(StoredApp))
ROW = tuple(apps.c[name] for name in COLUMNS)
"""Without user_data: what is read of all applications at once should be short."""

SLOT = tuple(field.name for field in fields(StoredSlot))
DOCUMENTS = frozenset({'template', 'user_data', 'memory', 'figures'})
OWNERS = frozenset({'template', 'user_data', 'wish', 'credential', 'trust_id', 'user_id'})
CONTROLLERS = frozenset({'state', 'period', 'memory', 'figures', 'closed'})
OVER = sorted(ENDED)

MOST_KEPT = 10
"""Applications of a project, with those that have ended, for each that it may have at once."""


class DatabaseApps:
    """Implements ports.AppStore and ports.SlotStore."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall

    def create(
        self, app: StoredApp, most: int, user_data: Mapping[str, str] | None = None
    ) -> StoredApp:
        """Keep a new application; of those that ask at once only `most` in a project result.

        :raises TooManyApps: the project has that many that have not ended, or MOST_KEPT times as many in all.
        :raises UnknownAccount: the project has no account.
        """
        now = self._wall()
        made = replace(app, generation=1, created_at=now, changed_at=now)
        return self._database.write(_create, made, most, dict(user_data or {}))

    def check(self, project_id: str, most: int) -> None:
        """:raises TooManyApps: as create, for a project of so many applications."""
        self._database.read(_check_room, project_id, most)

    def app(self, app_id: str) -> StoredApp | None:
        """One application; None when there is none."""
        return self._database.read(_app, app_id)

    def user_data(self, app_id: str) -> Mapping[str, str]:
        """What runs on its servers, by component."""
        return self._database.read(_user_data, app_id)

    def list(
        self, project_id: str | None = None, after: str = '', limit: int = 1000
    ) -> Sequence[StoredApp]:
        """Applications by id; `after`: last id of a page."""
        query = select(*ROW).where(apps.c.id > after)
        if project_id is not None:
            query = query.where(apps.c.project_id == project_id)
        return self._database.read(_page, query.order_by(apps.c.id), min(limit, MAX_PAGE))

    def change(self, app_id: str, changed: Mapping[str, Any], generation: int) -> StoredApp:
        """What the owner may change; the application as it is then.

        :raises Conflict: it was changed since it was read, it is being deleted, or there is none.
        """
        _refuse_others(changed, OWNERS)
        return self._database.write(_change, app_id, dict(changed), generation, self._wall())

    def open(self) -> Sequence[StoredApp]:
        """All that are not closed, by id."""
        return self._database.read(
            _rows, select(*ROW).where(apps.c.closed.is_(False)).order_by(apps.c.id)
        )

    def decide(
        self, app_id: str, before: AppState, changed: Mapping[str, Any], slots: Sequence[StoredSlot]
    ) -> None:
        """The controller's columns and the slots, together.

        :raises Conflict: its state is not `before`, or there is none.
        """
        _refuse_others(changed, CONTROLLERS)
        self._database.write(_decide, app_id, before, dict(changed), tuple(slots), self._wall())

    def replaced_trusts(self) -> Mapping[str, Sequence[str]]:
        """Trusts that applications had before, and that are not ended yet."""
        return self._database.read(_replaced_trusts)

    def trust_ended(self, app_id: str, trust_id: str) -> None:
        """Forget one of them."""
        self._database.write(_trust_ended, app_id, trust_id)

    def remove(self, app_id: str) -> None:
        """Forget an application with all that belongs to it."""
        self._database.write(remove_apps, [app_id])

    def slots(self, app_id: str) -> Sequence[StoredSlot]:
        """By component and number."""
        return self._database.read(_slots, app_id)

    def all(self) -> Mapping[str, Sequence[StoredSlot]]:
        """The servers of all applications that are not closed."""
        return self._database.read(_all_slots)

    def put(self, slots: Sequence[StoredSlot]) -> None:
        """Write servers' rows, over those that are there."""
        self._database.write(_put, tuple(slots))

    def drop(self, slots: Sequence[StoredSlot]) -> None:
        """Forget servers' rows."""
        self._database.write(_forget_slots, tuple(slots))


def remove_apps(connection: Connection, app_ids: Sequence[str]) -> None:
    """Applications with everything that names them."""
    for table in (app_replaced_trusts, app_servers, app_events, app_reports, app_hooks):
        connection.execute(delete(table).where(table.c.app_id.in_(app_ids)))
    connection.execute(delete(apps).where(apps.c.id.in_(app_ids)))


def packed(document: Mapping[str, object]) -> bytes:
    """JSON, the same for the same document."""
    return json.dumps(document, sort_keys=True, separators=(',', ':')).encode()


def _refuse_others(changed: Mapping[str, Any], allowed: frozenset[str]) -> None:
    if unknown := sorted(changed.keys() - allowed):
        raise BadAmount(f'{unknown[0]!r:.80} of an application: give {", ".join(sorted(allowed))}')


def _create(
    connection: Connection, app: StoredApp, most: int, user_data: Mapping[str, str]
) -> StoredApp:
    # before anything is read: whoever comes second sees what the first one has made
    lock_accounts(connection, [account('project', app.project_id)])
    found = _app(connection, app.id)
    if found is not None:
        return found  # ours, when the answer to an earlier try got lost
    _check_room(connection, app.project_id, most)
    values = {**{n: getattr(app, n) for n in COLUMNS}, 'user_data': user_data}
    try:
        connection.execute(insert(apps), _values(values))
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error
    return app


def _check_room(connection: Connection, project_id: str, most: int) -> None:
    query = select(func.count()).where(apps.c.project_id == project_id)
    if _number(connection, query.where(apps.c.state.not_in(OVER))) >= most:
        raise TooManyApps(f'the project has {most} applications: delete one first')
    if _number(connection, query) >= most * MOST_KEPT:
        raise TooManyApps(
            f'the project has {most * MOST_KEPT} applications, with those that have ended: '
            'delete some of these first'
        )


def _change(
    connection: Connection, app_id: str, changed: Mapping[str, Any], generation: int, now: float
) -> StoredApp:
    found = _app(connection, app_id)
    if found is None:
        raise Conflict(f'there is no application {app_id}')
    after = {**changed, 'generation': generation + 1}
    if changed.get('wish') is DesiredState.DELETE:
        # what was closed is looked at once more, to be forgotten
        after |= {'state': AppState.DELETING, 'changed_at': now, 'closed': False}
    elif found.wish is DesiredState.DELETE:
        raise Conflict(f'application {app_id} is being deleted')
    change = update(apps).where(apps.c.id == app_id, apps.c.generation == generation)
    if connection.execute(change.values(**_values(after))).rowcount == 1:
        if changed.get('trust_id', found.trust_id) != found.trust_id and found.trust_id:
            before = {'app_id': app_id, 'trust_id': found.trust_id}
            connection.execute(insert(app_replaced_trusts), before)
    elif found.generation != generation + 1 or not _has(connection, app_id, changed):
        raise Conflict(
            f'application {app_id} is at generation {found.generation}, not {generation}: '
            'read it again'
        )
    return _app(connection, app_id) or found


def _decide(
    connection: Connection,
    app_id: str,
    before: AppState,
    changed: Mapping[str, Any],
    slots: Sequence[StoredSlot],
    now: float,
) -> None:
    values = dict(changed)
    if values.get('state', before) != before:
        values['changed_at'] = now
    if values:
        change = update(apps).where(apps.c.id == app_id, apps.c.state == str(before))
        written = connection.execute(change.values(**_values(values))).rowcount == 1
        # ours, when the answer to an earlier try got lost
        if not written and not _has(connection, app_id, changed):
            found = _app(connection, app_id)
            raise Conflict(
                f'application {app_id} is {found.state if found else "gone"}, not {before}'
            )
    _put(connection, slots)


def _put(connection: Connection, slots: Sequence[StoredSlot]) -> None:
    _drop(connection, slots)
    if slots:
        connection.execute(
            insert(app_servers), [_values({n: getattr(s, n) for n in SLOT}) for s in slots]
        )
    _drop_reports(connection, {one.app_id for one in slots if not one.server_id})


def _forget_slots(connection: Connection, slots: Sequence[StoredSlot]) -> None:
    _drop(connection, slots)
    _drop_reports(connection, {one.app_id for one in slots})


def _drop_reports(connection: Connection, app_ids: Iterable[str]) -> None:
    """Those of servers that the application has no more."""
    for app_id in sorted(app_ids):
        own = select(app_servers.c.server_id).where(app_servers.c.app_id == app_id)
        for table in (app_reports, app_hooks):
            gone = delete(table).where(
                table.c.app_id == app_id,
                table.c.server_id != '',
                table.c.server_id.not_in(own),
            )
            connection.execute(gone)


def _drop(connection: Connection, slots: Sequence[StoredSlot]) -> None:
    for one in slots:
        connection.execute(
            delete(app_servers).where(
                app_servers.c.app_id == one.app_id,
                app_servers.c.component == one.component,
                app_servers.c.number == one.number,
            )
        )


def _app(connection: Connection, app_id: str) -> StoredApp | None:
    row = connection.execute(select(*ROW).where(apps.c.id == app_id)).first()
    return sound_row(connection, 'app', row, _stored) if row else None


def _has(connection: Connection, app_id: str, values: Mapping[str, Any]) -> bool:
    """Whether the row has these values: the answer to an earlier try got lost."""
    wanted = _values(values)
    query = select(*(apps.c[name] for name in wanted)).where(apps.c.id == app_id)
    row = connection.execute(query).first()
    return row is not None and dict(row._mapping) == wanted


def _user_data(connection: Connection, app_id: str) -> dict[str, str]:
    found = connection.execute(select(apps.c.user_data).where(apps.c.id == app_id)).scalar()
    return dict(json.loads(found)) if found else {}


def _number(connection: Connection, query: Select[Any]) -> int:
    return int(connection.execute(query).scalar() or 0)


def _replaced_trusts(connection: Connection) -> dict[str, list[str]]:
    table = app_replaced_trusts
    rows = connection.execute(select(table).order_by(table.c.app_id, table.c.trust_id))
    return {
        app_id: [row.trust_id for row in group]
        for app_id, group in groupby(rows, key=lambda row: str(row.app_id))
    }


def _trust_ended(connection: Connection, app_id: str, trust_id: str) -> None:
    table = app_replaced_trusts
    ended = delete(table).where(table.c.app_id == app_id, table.c.trust_id == trust_id)
    connection.execute(ended)


def _rows(connection: Connection, query: Select[Any]) -> list[StoredApp]:
    return sound_rows(connection, 'app', connection.execute(query), _stored)


def _page(connection: Connection, query: Select[Any], limit: int) -> list[StoredApp]:
    return sound_page(connection, 'app', query, limit, _stored)


def _slots(connection: Connection, app_id: str) -> list[StoredSlot]:
    query = select(app_servers).where(app_servers.c.app_id == app_id)
    rows = list(connection.execute(query.order_by(app_servers.c.component, app_servers.c.number)))
    return sound_row(connection, 'app', rows, _own_slots, _app_of, SERVERS) if rows else []


def _all_slots(connection: Connection) -> dict[str, list[StoredSlot]]:
    query = select(app_servers).join(apps, apps.c.id == app_servers.c.app_id)
    query = query.where(apps.c.closed.is_(False))
    query = query.order_by(app_servers.c.app_id, app_servers.c.component, app_servers.c.number)
    rows = connection.execute(query)
    whole = [list(group) for _, group in groupby(rows, key=lambda row: row.app_id)]
    # of an application without one of its servers that one would be deleted, or made once more
    found = sound_rows(connection, 'app', whole, _own_slots, _app_of, SERVERS)
    return {slots[0].app_id: slots for slots in found}


def _own_slots(rows: Sequence[Row[Any]]) -> list[StoredSlot]:
    return [_slot(row) for row in rows]


def _app_of(rows: Sequence[Row[Any]]) -> str:
    return str(rows[0].app_id)


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    """As columns have them."""
    shown = {n: packed(v) if n in DOCUMENTS else v for n, v in given.items()}
    states = (AppState, DesiredState, DesiredServerState)
    return {n: str(v) if isinstance(v, states) else v for n, v in shown.items()}


def _stored(row: Row[Any]) -> StoredApp:
    values = {name: getattr(row, name) for name in COLUMNS}
    for name in DOCUMENTS & values.keys():
        values[name] = json.loads(values[name])
    made = StoredApp(
        **{**values, 'wish': DesiredState(row.wish), 'state': AppState(row.state)},
    )
    if not all(isinstance(getattr(made, name), dict) for name in DOCUMENTS & values.keys()):
        raise BadRow('template, memory and figures must be documents')
    return checked(made, APP_BOUNDS)


def _slot(row: Row[Any]) -> StoredSlot:
    values = {name: getattr(row, name) for name in SLOT}
    made = StoredSlot(**{**values, 'intention': DesiredServerState(row.intention)})
    return checked(made, SLOT_BOUNDS)
