# SPDX-License-Identifier: Apache-2.0
"""What leases reserve, as it is published for Nova's scheduler and for whoever starts or moves servers.

Implements rule L5 of doc/source/specs/leases.rst. Seconds since the epoch; amounts in the order of AXES.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.lease.carrier import carried_amounts, lease_of
from nova_market.core.lease.record import LeaseNode, StoredLease
from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import Array
from nova_market.core.scheduler.reserved import versioned
from nova_market.core.scheduler.snapshot_reader import (
    ReservedLeases,
    ReservedNodes,
    ReservedTable,
)

MOST_NODES = 100_000
"""Nodes that are published: those of the leases that begin first."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reservation:
    """table: what is published; left_out: leases that are not in it, since they are too many"""

    table: ReservedTable
    left_out: int


def reservation(
    leases: Sequence[StoredLease],
    servers: Sequence[CloudServer],
    *,
    now: float,
    ahead: float,
    most: int = MOST_NODES,
) -> Reservation:
    """Of leases that begin within `ahead` and are not over; what their servers take already is left out."""
    near = [one for one in leases if not one.over and one.nodes and now < one.end]
    near = sorted(
        (one for one in near if one.start < now + ahead), key=lambda one: (one.start, one.number)
    )
    nodes = np.cumsum([len(one.nodes) for one in near])
    kept = near[: int(np.searchsorted(nodes, most, side='right'))]
    row = {one.id: number for number, one in enumerate(kept)}
    by_id = {one.id: one for one in kept}
    taken = carried_amounts(servers, by_id)
    names = sorted({node.host for one in kept for node in one.nodes})
    place = {name: number for number, name in enumerate(names)}
    parts = [(one, node) for one in kept for node in one.nodes]
    carriers = [
        (server.id, row[lease.id])
        for server in sorted(servers, key=lambda one: one.id)
        if (lease := lease_of(server, by_id)) is not None
    ]
    left = [_left(one, node, taken.get((one.id, node.host))) for one, node in parts]
    table = ReservedTable(
        version='0',
        at=now,
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
            amounts=np.array(left).reshape(-1, len(AXES)).T.tolist(),
        ),
        carriers=carriers,
    )
    return Reservation(table=versioned(table), left_out=len(near) - len(kept))


def _left(lease: StoredLease, node: LeaseNode, taken: Array | None) -> Array:
    """What is reserved of a node and not taken."""
    if lease.whole:
        return np.zeros(len(AXES))
    amounts = np.array(node.amounts)
    return amounts if taken is None else np.maximum(amounts - taken, 0.0)
