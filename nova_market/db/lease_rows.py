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
    check_lease,
    stand_in,
)
from nova_market.core.row_check import AMOUNT, checked, is_within
from nova_market.db.apps import packed
from nova_market.db.event_log import EventLog
from nova_market.db.lease_tables import lease_events, lease_nodes, leases
from nova_market.db.ledger import slices
from nova_market.db.sound_rows import sound_rows

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
    return sound_rows(connection, 'lease', _with_nodes(connection, rows), _whole, _id_of)


def held_leases(connection: Connection, rows: Iterable[Row[Any]]) -> list[StoredLease]:
    """The same, and in place of each that cannot be read what it may hold (core.lease.record.stand_in)."""
    found = []
    for one in _with_nodes(connection, rows):
        made = sound_rows(connection, 'lease', [one], _whole, _id_of)
        found += made or [stand_in(one[0]._asdict(), _sound_nodes(*one))]
    return found


Whole = tuple[Row[Any], Sequence[Row[Any]]]
"""A row of leases, and those of its nodes."""


def _with_nodes(connection: Connection, rows: Iterable[Row[Any]]) -> list[Whole]:
    every = list(rows)
    nodes: dict[str, list[Row[Any]]] = {}
    for part in slices([row.id for row in every]):
        query = select(lease_nodes).where(lease_nodes.c.lease_id.in_(part))
        for row in connection.execute(query.order_by(lease_nodes.c.lease_id, lease_nodes.c.place)):
            nodes.setdefault(row.lease_id, []).append(row)
    return [(row, nodes.get(row.id, ())) for row in every]


def _whole(found: Whole) -> StoredLease:
    row, nodes = found
    made = replace(_stored(row), nodes=tuple(map(_node, nodes)))
    check_lease(made)
    return made


def _id_of(found: Whole) -> str:
    return str(found[0].id)


def _sound_nodes(row: Row[Any], nodes: Sequence[Row[Any]]) -> tuple[LeaseNode, ...]:
    """Those of which it is known what they hold: what was asked for, where their own rows do not say it."""
    found = (
        (node.host, next(filter(_are_amounts, map(_amounts, (node, row))), None)) for node in nodes
    )
    return tuple(LeaseNode(host=host, amounts=held) for host, held in found if held is not None)


def _amounts(row: Row[Any]) -> tuple[float, float, float]:
    return row.cores, row.memory_mib, row.disk_gib


def _are_amounts(amounts: tuple[float, float, float]) -> bool:
    return all(is_within(one, AMOUNT) for one in amounts)


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


def _node(row: Row[Any]) -> LeaseNode:
    return checked(LeaseNode(host=row.host, amounts=_amounts(row)))


def _stored(row: Row[Any]) -> StoredLease:
    found = row._mapping
    return StoredLease(
        **{name: found[name] for name in PLAIN},
        amounts=_amounts(row),
        hosts=tuple(json.loads(found['hosts'])['hosts']),
        state=LeaseState(found['state']),
        number=found['number'],
    )
