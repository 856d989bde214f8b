# SPDX-License-Identifier: Apache-2.0
"""Applications and their servers, as the controller and the API keep them.

For the virtual platforms of Merkat (INRIA RR-8648), section 2.3. A change is made where what was read is
still there, so of the owner and the controller nobody overwrites what the other wrote meanwhile.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import groupby
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, Row, delete, func, insert, select, update

from nova_market.core.app_record import (
    ENDED,
    AppState,
    Intention,
    StoredApp,
    StoredSlot,
    Wish,
)
from nova_market.core.ledger import account
from nova_market.db.app_tables import app_events, app_reports, app_servers, apps
from nova_market.db.database import Database
from nova_market.db.ledger import MAX_PAGE, lock_accounts
from nova_market.errors import BadAmount, Conflict

COLUMNS = tuple(field.name for field in fields(StoredApp))
SLOT = tuple(field.name for field in fields(StoredSlot))
DOCUMENTS = frozenset({'template', 'memory', 'figures'})
OWNERS = frozenset({'template', 'wish', 'credential', 'trust_id'})
CONTROLLERS = frozenset({'state', 'period', 'memory', 'figures', 'closed'})
OVER = sorted(ENDED)


class DatabaseApps:
    """Implements ports.AppStore and ports.SlotStore."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall

    def create(self, app: StoredApp, most: int) -> StoredApp:
        """Keep a new application; of those that ask at once only `most` in a project result.

        :raises Conflict: the project has that many that have not ended.
        :raises UnknownAccount: the project has no account.
        """
        now = self._wall()
        return self._database.write(
            _create, replace(app, generation=1, created_at=now, changed_at=now), most
        )

    def app(self, app_id: str) -> StoredApp | None:
        """One application; None when there is none."""
        return self._database.read(_app, app_id)

    def list(
        self, project_id: str | None = None, after: str = '', limit: int = 1000
    ) -> Sequence[StoredApp]:
        """Applications by id; `after`: last id of a page."""
        query = select(apps).where(apps.c.id > after)
        if project_id is not None:
            query = query.where(apps.c.project_id == project_id)
        return self._database.read(_rows, query.order_by(apps.c.id).limit(min(limit, MAX_PAGE)))

    def change(self, app_id: str, changed: Mapping[str, Any], generation: int) -> StoredApp:
        """What the owner may change; the application as it is then.

        :raises Conflict: it was changed since it was read, it is being deleted, or there is none.
        """
        _refuse_others(changed, OWNERS)
        return self._database.write(_change, app_id, dict(changed), generation, self._wall())

    def open(self) -> Sequence[StoredApp]:
        """All that are not closed, by id."""
        return self._database.read(
            _rows, select(apps).where(apps.c.closed.is_(False)).order_by(apps.c.id)
        )

    def decide(
        self, app_id: str, before: AppState, changed: Mapping[str, Any], slots: Sequence[StoredSlot]
    ) -> None:
        """The controller's columns and the slots, together.

        :raises Conflict: its state is not `before`, or there is none.
        """
        _refuse_others(changed, CONTROLLERS)
        self._database.write(_decide, app_id, before, dict(changed), tuple(slots), self._wall())

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
    for table in (app_servers, app_events, app_reports):
        connection.execute(delete(table).where(table.c.app_id.in_(app_ids)))
    connection.execute(delete(apps).where(apps.c.id.in_(app_ids)))


def packed(document: Mapping[str, object]) -> bytes:
    """JSON, the same for the same document."""
    return json.dumps(document, sort_keys=True, separators=(',', ':')).encode()


def _refuse_others(changed: Mapping[str, Any], allowed: frozenset[str]) -> None:
    if unknown := sorted(changed.keys() - allowed):
        raise BadAmount(f'{unknown[0]!r:.80} of an application: give {", ".join(sorted(allowed))}')


def _create(connection: Connection, app: StoredApp, most: int) -> StoredApp:
    # before anything is read: whoever comes second sees what the first one has made
    lock_accounts(connection, [account('project', app.project_id)])
    found = _app(connection, app.id)
    if found is not None:
        return found  # ours, when the answer to an earlier try got lost
    query = select(func.count()).where(
        apps.c.project_id == app.project_id, apps.c.state.not_in(OVER)
    )
    if (connection.execute(query).scalar() or 0) >= most:
        raise Conflict(f'the project has {most} applications: delete one first')
    try:
        connection.execute(insert(apps), _values({n: getattr(app, n) for n in COLUMNS}))
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error
    return app


def _change(
    connection: Connection, app_id: str, changed: Mapping[str, Any], generation: int, now: float
) -> StoredApp:
    found = _app(connection, app_id)
    if found is None:
        raise Conflict(f'there is no application {app_id}')
    after = {**changed, 'generation': generation + 1}
    if changed.get('wish') is Wish.DELETE:
        # what was closed is looked at once more, to be forgotten
        after |= {'state': AppState.DELETING, 'changed_at': now, 'closed': False}
    elif found.wish is Wish.DELETE:
        raise Conflict(f'application {app_id} is being deleted')
    change = update(apps).where(apps.c.id == app_id, apps.c.generation == generation)
    if connection.execute(change.values(**_values(after))).rowcount != 1 and not (
        found.generation == generation + 1
        and all(getattr(found, name) == value for name, value in changed.items())
    ):
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
        if connection.execute(change.values(**_values(values))).rowcount != 1:
            found = _app(connection, app_id)
            if found is None or any(getattr(found, name) != changed[name] for name in changed):
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
        gone = delete(app_reports).where(
            app_reports.c.app_id == app_id,
            app_reports.c.server_id != '',
            app_reports.c.server_id.not_in(own),
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
    row = connection.execute(select(apps).where(apps.c.id == app_id)).first()
    return _stored(row) if row else None


def _rows(connection: Connection, query: object) -> list[StoredApp]:
    return [_stored(row) for row in connection.execute(query)]  # type: ignore[call-overload]


def _slots(connection: Connection, app_id: str) -> list[StoredSlot]:
    query = select(app_servers).where(app_servers.c.app_id == app_id)
    query = query.order_by(app_servers.c.component, app_servers.c.number)
    return [_slot(row) for row in connection.execute(query)]


def _all_slots(connection: Connection) -> dict[str, list[StoredSlot]]:
    query = select(app_servers).join(apps, apps.c.id == app_servers.c.app_id)
    query = query.where(apps.c.closed.is_(False))
    query = query.order_by(app_servers.c.app_id, app_servers.c.component, app_servers.c.number)
    found = (_slot(row) for row in connection.execute(query))
    return {app_id: list(group) for app_id, group in groupby(found, key=lambda one: one.app_id)}


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    """As columns have them."""
    shown = {n: packed(v) if n in DOCUMENTS else v for n, v in given.items()}
    states = (AppState, Wish, Intention)
    return {n: str(v) if isinstance(v, states) else v for n, v in shown.items()}


def _stored(row: Row[Any]) -> StoredApp:
    values = {name: getattr(row, name) for name in COLUMNS}
    for name in DOCUMENTS:
        values[name] = json.loads(values[name])
    return StoredApp(
        **{**values, 'wish': Wish(row.wish), 'state': AppState(row.state)},
    )


def _slot(row: Row[Any]) -> StoredSlot:
    values = {name: getattr(row, name) for name in SLOT}
    return StoredSlot(**{**values, 'intention': Intention(row.intention)})
