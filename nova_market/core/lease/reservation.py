# SPDX-License-Identifier: Apache-2.0
"""What leases reserve, as it is published for Nova's scheduler and for whoever starts or moves servers.

Implements rule L5 of doc/source/specs/leases.rst. Seconds since the epoch; amounts in the order of AXES.

Two things are published. *Room*: what each host must keep free when, of all leases together, in at most so
many steps for each host; no lease is left out of it, however many others there are. *Nodes*: which leases
are where, so that servers can carry them. Of those there are so many at most, which projects that have booked
share evenly: who has fewer than an even part has all of them, and what he leaves is for the others.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.booking import bookings
from nova_market.core.calendar.calendar import Calendar
from nova_market.core.calendar.coarse import coarsened
from nova_market.core.lease.carrier import carried_amounts, lease_of
from nova_market.core.lease.record import LeaseNode, StoredLease
from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import Array
from nova_market.core.scheduler.reserved import FORMAT, WHOLE, all_booked, room_of, versioned
from nova_market.core.scheduler.snapshot_reader import (
    MAX_STEPS,
    ReservedLeases,
    ReservedNodes,
    ReservedTable,
)

MOST_NODES = 100_000
"""Nodes that are published."""

MOST_CARRIERS = 100_000
MOST_STEPS = 64
"""Of a host."""

Part = tuple[StoredLease, LeaseNode]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reservation:
    """table: what is published; left_out: leases that no server can carry, since they are too many"""

    table: ReservedTable
    left_out: int


def reservation(
    leases: Sequence[StoredLease],
    servers: Sequence[CloudServer],
    *,
    now: float,
    ahead: float,
    most: int = MOST_NODES,
    most_steps: int = MOST_STEPS,
) -> Reservation:
    """Of leases that begin within `ahead` and are not over; what their servers take already is left out."""
    near = [one for one in leases if not one.over and one.nodes and now < one.end]
    near = sorted(
        (one for one in near if one.start < now + ahead), key=lambda one: (one.start, one.number)
    )
    taken = carried_amounts(servers, {one.id: one for one in near})
    names = sorted({node.host for one in near for node in one.nodes})
    place = {name: number for number, name in enumerate(names)}
    fits = even_parts([one.payer_id for one in near], [len(one.nodes) for one in near], most)
    kept = [one for one, fit in zip(near, fits, strict=True) if fit]
    row = {one.id: number for number, one in enumerate(kept)}
    parts = [(one, node) for one in kept for node in one.nodes]
    table = ReservedTable(
        version='0',
        at=now,
        format=FORMAT,
        room=room_of(coarsened(_all(near, taken, place), _steps(len(names), most_steps))),
        leases=ReservedLeases(
            id=list(row),
            project_id=[one.project_id for one in kept],
            begin=[one.start for one in kept],
            end=[one.end for one in kept],
        ),
        hosts=names,
        nodes=ReservedNodes(
            lease=[row[one.id] for one, _ in parts],
            host=[place[node.host] for _, node in parts],
            whole=[one.whole for one, _ in parts],
            amounts=_left(parts, taken).tolist(),
        ),
        carriers=_carriers(servers, kept, row),
    )
    return Reservation(table=versioned(table), left_out=len(near) - len(kept))


def even_parts(groups: Sequence[Hashable], sizes: Sequence[int], most: int) -> list[bool]:
    """Which of these items fit into `most`, which their groups share evenly; of a group the first ones.

    The level is the greatest at which  sum over groups  min(what it has, level) <= most.
    """
    has: dict[Hashable, int] = {}
    for group, size in zip(groups, sizes, strict=True):
        has[group] = has.get(group, 0) + size
    level, left = most, most
    for number, total in enumerate(sorted(has.values())):
        level = left // (len(has) - number)
        if total > level:
            break
        left -= total
        level = most
    used: dict[Hashable, int] = {}
    found = []
    for group, size in zip(groups, sizes, strict=True):
        fits = used.get(group, 0) + size <= level
        used[group] = used.get(group, 0) + (size if fits else 0)
        found.append(fits)
    return found


def _all(
    leases: Sequence[StoredLease],
    taken: Mapping[tuple[str, str], Array],
    place: Mapping[str, int],
) -> Calendar:
    """What all these leases reserve."""
    parts = [(one, node) for one in leases for node in one.nodes]
    whole = np.array([one.whole for one, _ in parts], dtype=np.bool_)
    made = bookings(
        host=[place[node.host] for _, node in parts],
        start=[one.start for one, _ in parts],
        end=[one.end for one, _ in parts],
        amounts=np.where(whole, WHOLE, _left(parts, taken)),
    )
    return all_booked(made, len(place))


def _left(parts: Sequence[Part], taken: Mapping[tuple[str, str], Array]) -> Array:
    """(AXES, nodes): what is reserved of each node and not taken; nothing of a whole host."""
    found = np.zeros((len(parts), len(AXES)))
    for number, (lease, node) in enumerate(parts):
        if not lease.whole:
            used = taken.get((lease.id, node.host))
            amounts = np.array(node.amounts)
            found[number] = amounts if used is None else np.maximum(amounts - used, 0.0)
    return found.T


def _steps(hosts: int, most: int) -> int:
    """Of each host, that all of them together can be read."""
    return max(min(most, MAX_STEPS // max(hosts, 1)), 3)


def _carriers(
    servers: Sequence[CloudServer], leases: Sequence[StoredLease], row: Mapping[str, int]
) -> list[tuple[str, int]]:
    """(id of a server, row of the lease that it carries), shared evenly as nodes are."""
    by_id = {one.id: one for one in leases}
    found = [
        (server.id, lease)
        for server in sorted(servers, key=lambda one: one.id)
        if (lease := lease_of(server, by_id)) is not None
    ]
    fits = even_parts([lease.payer_id for _, lease in found], [1] * len(found), MOST_CARRIERS)
    return [(name, row[lease.id]) for (name, lease), fit in zip(found, fits, strict=True) if fit]
