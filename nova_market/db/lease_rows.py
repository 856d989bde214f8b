# SPDX-License-Identifier: Apache-2.0
"""Rows of leases as values, and back; and their events."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from nova_market.core.lease.record import (
    MAX_EVENTS,
    LeaseEvent,
    LeaseNode,
    LeaseState,
    StoredLease,
)
from nova_market.db.app_tables import ACTION_LENGTH, REASON_LENGTH
from nova_market.db.apps import packed
from nova_market.db.event_log import keep_newest
from nova_market.db.lease_tables import lease_events, lease_nodes, leases
from nova_market.db.ledger import slices

OTHERWISE = frozenset({'number', 'amounts', 'hosts', 'state', 'nodes'})
PLAIN = tuple(one.name for one in fields(StoredLease) if one.name not in OTHERWISE)


def lease_values(lease: StoredLease) -> dict[str, Any]:
    """The columns of its row."""
    cores, memory, disk = lease.amounts
    return {
        **{name: getattr(lease, name) for name in PLAIN},
        'cores': cores,
        'memory_mib': memory,
        'disk_gib': disk,
        'hosts': packed({'hosts': list(lease.hosts)}),
        'state': str(lease.state),
    }


def stored_leases(connection: Connection, rows: Iterable[Row[Any]]) -> list[StoredLease]:
    """With their nodes, in the order of the rows."""
    found = [_stored(row) for row in rows]
    nodes: dict[str, list[LeaseNode]] = {}
    for part in slices([one.id for one in found]):
        query = select(lease_nodes).where(lease_nodes.c.lease_id.in_(part))
        for row in connection.execute(query.order_by(lease_nodes.c.lease_id, lease_nodes.c.place)):
            amounts = (row.cores, row.memory_mib, row.disk_gib)
            nodes.setdefault(row.lease_id, []).append(LeaseNode(host=row.host, amounts=amounts))
    return [replace(one, nodes=tuple(nodes.get(one.id, ()))) for one in found]


def put_nodes(connection: Connection, lease: StoredLease, *, there: bool) -> None:
    """Its nodes, in place of those that are there."""
    if there:
        connection.execute(delete(lease_nodes).where(lease_nodes.c.lease_id == lease.id))
    rows = [
        {
            'lease_id': lease.id, 'place': place, 'host': node.host,
            'cores': node.amounts[0], 'memory_mib': node.amounts[1], 'disk_gib': node.amounts[2],
        }
        for place, node in enumerate(lease.nodes)
    ]  # fmt: skip
    if rows:
        connection.execute(insert(lease_nodes), rows)


def insert_events(connection: Connection, events: Sequence[LeaseEvent]) -> None:
    """Keep events; the oldest of a lease that has too many go."""
    if not events:
        return
    rows = [
        {
            'lease_id': one.lease_id, 'at': one.at, 'action': one.action[:ACTION_LENGTH],
            'reason': one.reason[:REASON_LENGTH], 'numbers': packed(one.numbers),
        }
        for one in events
    ]  # fmt: skip
    connection.execute(insert(lease_events), rows)
    for name in sorted({one.lease_id for one in events}):
        keep_newest(connection, lease_events, lease_events.c.lease_id == name, MAX_EVENTS)


def events_of(
    connection: Connection, lease_id: str, before: int | None, limit: int
) -> list[LeaseEvent]:
    """Newest first; `before`: number of the last one of a page."""
    query = select(lease_events).where(lease_events.c.lease_id == lease_id)
    if before is not None:
        query = query.where(lease_events.c.id < before)
    rows = connection.execute(query.order_by(lease_events.c.id.desc()).limit(limit))
    return [_event(row) for row in rows]


def events_since(connection: Connection, after: int, limit: int) -> list[LeaseEvent]:
    """Of all leases, oldest first."""
    query = select(lease_events).where(lease_events.c.id > after).order_by(lease_events.c.id)
    return [_event(row) for row in connection.execute(query.limit(limit))]


def remove_leases(connection: Connection, ids: Sequence[str]) -> None:
    """With their nodes and events."""
    for part in slices(ids):
        for column in (lease_nodes.c.lease_id, lease_events.c.lease_id, leases.c.id):
            connection.execute(delete(column.table).where(column.in_(part)))


def _stored(row: Row[Any]) -> StoredLease:
    found = row._mapping
    return StoredLease(
        **{name: found[name] for name in PLAIN},
        amounts=(found['cores'], found['memory_mib'], found['disk_gib']),
        hosts=tuple(json.loads(found['hosts'])['hosts']),
        state=LeaseState(found['state']),
        number=found['number'],
    )


def _event(row: Row[Any]) -> LeaseEvent:
    return LeaseEvent(
        lease_id=row.lease_id,
        at=row.at,
        action=row.action,
        reason=row.reason,
        numbers=json.loads(row.numbers),
        number=row.id,
    )
