# SPDX-License-Identifier: Apache-2.0
"""Where hosts are on their way down and up, in the database (rule W3 of doc/source/specs/leases.rst).

A step is written only in place of what it was decided from, so of two services one takes it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from oslo_db.exception import DBDuplicateEntry
from sqlalchemy import Connection, Row, and_, insert, select, update

from nova_market.core.power.host_step import HostState, Phase
from nova_market.core.power.record import MAX_EVENTS, PowerEvent, StoredPower
from nova_market.core.resource import HostName
from nova_market.core.row_check import TIME, check_fields, checked
from nova_market.db.app_tables import REASON_LENGTH
from nova_market.db.database import Database
from nova_market.db.event_log import EventLog
from nova_market.db.ledger import MAX_PAGE
from nova_market.db.power_tables import power_events, power_hosts
from nova_market.db.sound_rows import sound_rows

POWER_EVENTS = EventLog(power_events, PowerEvent, 'host', MAX_EVENTS)

UNSET = {'since': -math.inf, 'acted': -math.inf, 'empty': math.inf, 'until': -math.inf}
"""What NULL is in each column."""


class DatabasePower:
    """Implements ports.PowerStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def hosts(self) -> Mapping[HostName, StoredPower]:
        """All hosts on which a step was taken."""
        return self._database.read(_hosts)

    def change(
        self, host: HostName, before: StoredPower, state: HostState, event: PowerEvent | None
    ) -> bool:
        """Keep the next state of a host and its event; False: it was changed since `before` was read."""
        try:
            return self._database.write(_change, host, before, state, event)
        except DBDuplicateEntry:  # another service has taken its first step
            return False

    def events(
        self, host: str, before: int | None = None, limit: int = 100
    ) -> Sequence[PowerEvent]:
        """Newest first; `before`: number of the last one of a page."""
        return self._database.read(POWER_EVENTS.page, host, before, min(limit, MAX_PAGE))

    def events_since(self, after: int, limit: int = 1000) -> Sequence[PowerEvent]:
        """Of all hosts, oldest first."""
        return self._database.read(POWER_EVENTS.since, after, min(limit, MAX_PAGE))


def _hosts(connection: Connection) -> dict[HostName, StoredPower]:
    rows = connection.execute(select(power_hosts).order_by(power_hosts.c.host))
    return dict(sound_rows(connection, 'power of host', rows, _stored, lambda row: str(row.host)))


def _stored(row: Row[Any]) -> tuple[HostName, StoredPower]:
    times = {}
    for name, otherwise in UNSET.items():
        value = row._mapping[name]
        check_fields(HostState, {} if value is None else {name: value}, {name: TIME})
        times[name] = otherwise if value is None else value
    state = HostState(phase=Phase(row.phase), held=row.held, **times)
    return HostName(row.host), checked(StoredPower(state=state, why=row.why, revision=row.revision))


def _change(
    connection: Connection,
    host: HostName,
    before: StoredPower,
    state: HostState,
    event: PowerEvent | None,
) -> bool:
    values = asdict(state) | {
        'phase': str(state.phase),
        'why': event.reason[:REASON_LENGTH] if event else before.why,
        'revision': before.revision + 1,
    }
    values |= {name: None for name in UNSET if math.isinf(values[name])}
    if before.revision:
        own = and_(power_hosts.c.host == host, power_hosts.c.revision == before.revision)
        if connection.execute(update(power_hosts).where(own).values(**values)).rowcount != 1:
            return False
    else:
        connection.execute(insert(power_hosts).values(host=host, **values))
    POWER_EVENTS.insert(connection, [event] if event else [])
    return True
