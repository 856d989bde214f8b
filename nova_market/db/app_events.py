# SPDX-License-Identifier: Apache-2.0
"""What happened to applications and why, and what was reported of them lately.

For Merkat (INRIA RR-8648), section 2.3.1: monitors, and what a user asks of a controller. Both are bounded:
so many events of each application, one report of each of its servers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, Row, Table, insert, select, update

from nova_market.core.app.record import MAX_EVENTS, AppEvent, AppReport, HookReport
from nova_market.core.row_check import checked
from nova_market.db.app_tables import (
    app_events,
    app_hooks,
    app_reports,
    app_servers,
    apps,
)
from nova_market.db.database import Database
from nova_market.db.event_log import EventLog
from nova_market.db.ledger import MAX_PAGE, slices
from nova_market.db.sound_rows import sound_rows
from nova_market.errors import Conflict

REPORT = tuple(field.name for field in fields(AppReport))
HOOKS = tuple(field.name for field in fields(HookReport))
APP_EVENTS = EventLog(app_events, AppEvent, 'app_id', MAX_EVENTS)
KEY = ('app_id', 'server_id')


class DatabaseAppEvents:
    """Implements ports.EventStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tell(self, events: Sequence[AppEvent]) -> None:
        """Keep events; the oldest of an application go. Those of one that is gone are nobody's."""
        self._database.write(_tell, tuple(events))

    def events(
        self, app_id: str, before: int | None = None, limit: int = 100
    ) -> Sequence[AppEvent]:
        """Newest first; `before`: number of the last one of a page."""
        return self._database.read(APP_EVENTS.page, app_id, before, min(limit, MAX_PAGE))

    def report(self, report: AppReport) -> None:
        """Keep it in place of the older one. Fields of None stay as they were.

        :raises Conflict: no such application, or it has no such server.
        """
        self._database.write(_report, app_reports, asdict(report))

    def report_hooks(self, report: HookReport) -> None:
        """As `report`, of what the hooks in a guest did."""
        self._database.write(_report, app_hooks, asdict(report))

    def reports(self, app_ids: Sequence[str]) -> Mapping[str, Sequence[AppReport]]:
        """The latest of each application and each server of it."""
        return self._database.read(_reports, tuple(app_ids))

    def hooks(self, app_ids: Sequence[str]) -> Mapping[str, Sequence[HookReport]]:
        """The latest of the hooks in each server of each application."""
        return self._database.read(_hooks, tuple(app_ids))


def _tell(connection: Connection, events: Sequence[AppEvent]) -> None:
    names = sorted({one.app_id for one in events})
    there: set[str] = set()
    for part in slices(names):
        there.update(connection.execute(select(apps.c.id).where(apps.c.id.in_(part))).scalars())
    APP_EVENTS.insert(connection, [one for one in events if one.app_id in there])


def _report(connection: Connection, table: Table, given: Mapping[str, Any]) -> None:
    app_id, server_id = given['app_id'], given['server_id']
    known = select(apps.c.id).where(apps.c.id == app_id)
    if server_id:
        # so there are never more reports than servers
        known = known.join(app_servers, app_servers.c.app_id == apps.c.id)
        known = known.where(app_servers.c.server_id == server_id)
    if connection.execute(known).first() is None:
        raise Conflict(f'application {app_id} has no server {server_id or "at all"}')
    changed = {n: v for n, v in given.items() if v is not None and n not in KEY}
    chosen = [table.c[name] == given[name] for name in KEY]
    if connection.execute(update(table).where(*chosen).values(**changed)).rowcount == 0:
        try:
            connection.execute(insert(table), dict(given))
        except DBDuplicateEntry as error:
            raise RetryRequest(error) from error


def _reports(connection: Connection, app_ids: Sequence[str]) -> dict[str, list[AppReport]]:
    found: dict[str, list[AppReport]] = {}
    rows = _latest(connection, app_reports, app_ids)
    for one in sound_rows(connection, 'report', rows, _report_of, _name_of):
        found.setdefault(one.app_id, []).append(one)
    return found


def _hooks(connection: Connection, app_ids: Sequence[str]) -> dict[str, list[HookReport]]:
    found: dict[str, list[HookReport]] = {}
    rows = _latest(connection, app_hooks, app_ids)
    for one in sound_rows(connection, 'hooks', rows, _hooks_of, _name_of):
        found.setdefault(one.app_id, []).append(one)
    return found


def _report_of(row: Row[Any]) -> AppReport:
    return checked(AppReport(**{name: getattr(row, name) for name in REPORT}))


def _hooks_of(row: Row[Any]) -> HookReport:
    return checked(HookReport(**{name: getattr(row, name) for name in HOOKS}))


def _name_of(row: Row[Any]) -> str:
    return f'{row.app_id}/{row.server_id}'


def _latest(connection: Connection, table: Table, app_ids: Sequence[str]) -> Iterator[Row[Any]]:
    """Rows of a table of reports, by application and server."""
    for part in slices(sorted(set(app_ids))):
        query = select(table).where(table.c.app_id.in_(part))
        yield from connection.execute(query.order_by(table.c.app_id, table.c.server_id))
