# SPDX-License-Identifier: Apache-2.0
"""Room on hosts that leases have reserved, and that no other server may take.

Implements rule L5 of doc/source/specs/leases.rst. Units as AXES, seconds since the epoch; arrays (leases,)
and, of a node of a lease on its host, (nodes,) and (AXES, nodes).

What must be kept free is a calendar of hosts: the room of all leases together, whoever has booked them, in a
bounded number of steps for each host. What is free in it is what others must leave, as a negative amount; it
has only hosts with a node. Leases and nodes are there for servers that carry one, and may be fewer: a lease
that is not among them keeps its room all the same.

What a node reserves is without what servers of its lease take there already: those Nova counts itself. A
whole host is WHOLE of everything.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.booking import Bookings, bookings
from nova_market.core.calendar.calendar import Calendar, booked, released, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.calendar.start import least_free
from nova_market.core.resource import Array, Rows
from nova_market.core.scheduler.request import ServerRequest
from nova_market.core.scheduler.snapshot_reader import (
    ReservedLeases,
    ReservedNodes,
    ReservedRoom,
    ReservedTable,
    array,
    rows,
)
from nova_market.errors import BadBooking, BadSnapshot

FORMAT = 2
"""Of the table; format 1, of services before, has the nodes of all leases in place of the room of hosts."""

WHOLE = 2.0**30
"""Of each amount, where a node is a whole host: more than any host has; exact in sums of the calendar."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reserved:
    """version: names the content; at: when it was true
    leases, begin, end, projects: by row of the leases; lease_row: by id
    hosts:    row in the calendar, by name; node_lease, nodes: the lease and the room of each node
    carriers: row of the lease that a server carries, by the server's id
    calendar: what all leases reserve on each host, those that are not among `leases` too
    """

    version: str
    at: float
    leases: tuple[str, ...]
    projects: tuple[str, ...]
    begin: Array
    end: Array
    lease_row: Mapping[str, int]
    hosts: Mapping[str, int]
    node_lease: Rows
    nodes: Bookings
    carriers: Mapping[str, int]
    calendar: Calendar

    def of_project(self, lease: str, project_id: str, now: float) -> int | None:
        """Row of a lease that is not over, if the project has it."""
        row = self.lease_row.get(lease)
        if row is None or self.projects[row] != project_id or self.end[row] <= now:
            return None
        return row

    def hosts_of(self, lease: int) -> Rows:
        """Rows of the hosts of a lease."""
        found: Rows = self.nodes.host[self.node_lease == lease]
        return found


def carried(reserved: Reserved, request: ServerRequest, now: float) -> int | None:
    """Row of the lease that a server carries: as its metadata had it, else as its hint; None: none."""
    row = reserved.carriers.get(request.server_id)
    if row is not None:
        return reserved.of_project(reserved.leases[row], request.project_id, now)
    return reserved.of_project(request.lease, request.project_id, now) if request.lease else None


def must_be_left(reserved: Reserved, lease: int | None, now: float, until: float) -> Array:
    """(AXES, hosts): the most that leases but this one reserve at once at some time in [now, until)."""
    calendar = reserved.calendar
    if lease is not None:
        calendar = released(calendar, reserved.nodes.take(reserved.node_lease == lease))
    return -least_free(calendar, now, until)


def reserved_from(table: ReservedTable) -> Reserved:
    """What was published.

    :raises BadSnapshot: names what is wrong.
    """
    if not 1 <= table.format <= FORMAT:
        raise BadSnapshot(
            f'format {table.format} of what is reserved: this version reads 1 to {FORMAT}'
        )
    leases, nodes = table.leases, table.nodes
    count, places = len(leases.id), len(nodes.lease)
    begin, end = (
        array(times, f'reserved.leases.{name}', (count,))
        for name, times in (('begin', leases.begin), ('end', leases.end))
    )
    if len(leases.project_id) != count:
        raise BadSnapshot('reserved.leases: its columns have different lengths')
    lease, host = (
        _rows_below(column, f'reserved.nodes.{name}', places, most)
        for name, column, most in (
            ('lease', nodes.lease, count),
            ('host', nodes.host, len(table.hosts)),
        )
    )
    amounts = array(nodes.amounts, 'reserved.nodes.amounts', (len(AXES), places))
    whole = array(nodes.whole, 'reserved.nodes.whole', (places,)) > 0
    try:
        made = bookings(
            host=host, start=begin[lease], end=end[lease],
            amounts=np.where(whole, WHOLE, amounts),
        )  # fmt: skip
    except (BadBooking, ValueError) as error:
        raise BadSnapshot(f'reserved: {error}') from None
    return Reserved(
        version=table.version,
        at=table.at,
        leases=tuple(leases.id),
        projects=tuple(leases.project_id),
        begin=begin,
        end=end,
        lease_row=rows(leases.id, 'reserved.leases'),
        hosts=rows(table.hosts, 'reserved.hosts'),
        node_lease=lease,
        nodes=made,
        carriers=_carriers_from(table),
        calendar=all_booked(made, len(table.hosts)) if table.room is None else _room_from(table),
    )


def all_booked(nodes: Bookings, hosts: int) -> Calendar:
    """What these nodes reserve together."""
    return booked(unbooked(capacity(np.zeros((len(AXES), hosts)))), nodes)


def room_of(calendar: Calendar) -> ReservedRoom:
    """What each host must keep free, as it is published."""
    steps = np.isfinite(calendar.times)
    return ReservedRoom(
        host=calendar.host[steps].tolist(),
        begin=calendar.times[steps].tolist(),
        amounts=(-calendar.free[:, steps] + 0.0).tolist(),
    )


def table_of(reserved: Reserved) -> ReservedTable:
    """As it is published: the inverse."""
    whole = (reserved.nodes.amounts == WHOLE).all(axis=0)
    return ReservedTable(
        version=reserved.version,
        at=reserved.at,
        format=FORMAT,
        room=room_of(reserved.calendar),
        leases=ReservedLeases(
            id=list(reserved.leases),
            project_id=list(reserved.projects),
            begin=reserved.begin.tolist(),
            end=reserved.end.tolist(),
        ),
        hosts=sorted(reserved.hosts, key=reserved.hosts.__getitem__),
        nodes=ReservedNodes(
            lease=reserved.node_lease.tolist(),
            host=reserved.nodes.host.tolist(),
            whole=whole.tolist(),
            amounts=np.where(whole, 0.0, reserved.nodes.amounts).tolist(),
        ),
        carriers=list(reserved.carriers.items()),
    )


def versioned(table: ReservedTable) -> ReservedTable:
    """With a version that changes with the content, and not with the time at which it is true."""
    content = msgspec.json.encode(msgspec.structs.replace(table, version='0', at=0.0))
    return msgspec.structs.replace(table, version=hashlib.sha256(content).hexdigest()[:16])


def plain(table: ReservedTable) -> dict[str, Any]:
    """The table as the values that JSON has."""
    found: dict[str, Any] = msgspec.to_builtins(table)
    return found


def read_reserved(document: Mapping[str, Any]) -> Reserved | None:
    """What was kept as `plain`; None of {}: nothing was published yet.

    :raises BadSnapshot: it is no sound table.
    """
    if not document:
        return None
    try:
        return reserved_from(msgspec.convert(document, ReservedTable))
    except msgspec.ValidationError as error:
        raise BadSnapshot(f'what leases have reserved: {error}') from None


def _carriers_from(table: ReservedTable) -> dict[str, int]:
    servers = rows([one for one, _ in table.carriers], 'reserved.carriers')
    of_server = [row for _, row in table.carriers]
    found = _rows_below(of_server, 'reserved.carriers', len(servers), len(table.leases.id))
    return dict(zip(servers, found.tolist(), strict=True))


def _room_from(table: ReservedTable) -> Calendar:
    """The inverse of room_of.

    :raises BadSnapshot: the steps are not host by host and in time.
    """
    assert table.room is not None, 'the caller has looked'
    room, hosts = table.room, len(table.hosts)
    steps = len(room.host)
    host = _rows_below(room.host, 'reserved.room.host', steps, hosts)
    begin = array(room.begin, 'reserved.room.begin', (steps,))
    amounts = array(room.amounts, 'reserved.room.amounts', (len(AXES), steps))
    next_host, later = np.diff(host), np.diff(begin)
    if not ((next_host > 0) | ((next_host == 0) & (later > 0))).all():
        raise BadSnapshot(
            'reserved.room: give the steps host by host, each later than the one before it'
        )
    # before its first step a host keeps nothing
    first = np.concatenate([[0], np.cumsum(np.bincount(host, minlength=hosts))])
    offsets = first + np.arange(hosts + 1)
    row = np.arange(steps) + host + 1
    times = np.full(steps + hosts, -np.inf)
    free = np.zeros((len(AXES), steps + hosts))
    times[row], free[:, row] = begin, -amounts
    return Calendar(
        offsets=offsets.astype(np.intp),
        times=times,
        free=free,
        largest=np.zeros((len(AXES), hosts)),
    )


def _rows_below(column: Sequence[int], name: str, length: int, most: int) -> Rows:
    found = np.array(column, dtype=np.intp)
    if found.shape != (length,) or (found >= most).any():
        raise BadSnapshot(f'{name}: give {length} rows below {most}')
    return found
