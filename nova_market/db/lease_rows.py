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
from nova_market.db.apps import packed
from nova_market.db.event_log import EventLog
from nova_market.db.lease_tables import lease_events, lease_nodes, leases
from nova_market.db.ledger import slices

LEASE_EVENTS = EventLog(lease_events, LeaseEvent, 'lease_id', MAX_EVENTS)
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
