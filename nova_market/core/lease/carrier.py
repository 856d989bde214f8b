# SPDX-License-Identifier: Apache-2.0
"""Servers that carry a lease: they use what it reserves.

Implements rule L5 of doc/source/specs/leases.rst. A server names the lease in its metadata, which its owner
may change, or in a scheduler hint, which it was made with; the metadata goes first. It counts only where the
server's project has the lease. Amounts in the order of AXES.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from nova_market.core.calendar.axes import AXES, COUNTED
from nova_market.core.lease.record import StoredLease
from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import Array
from nova_market.core.scheduler.request import LEASE_HINT

LEASE = 'market:lease'
"""Metadata of a server that uses what a lease reserves: its id."""


def lease_of(server: CloudServer, leases: Mapping[str, StoredLease]) -> StoredLease | None:
    """The lease that a server carries. leases: those that count, by id"""
    named = server.metadata.get(LEASE) or server.hints.get(LEASE_HINT, '')
    lease = leases.get(named)
    return lease if lease is not None and lease.project_id == server.project_id else None


def carried_amounts(
    servers: Iterable[CloudServer], leases: Mapping[str, StoredLease]
) -> dict[tuple[str, str], Array]:
    """What servers that carry them take, by id of the lease and name of the host."""
    found: dict[tuple[str, str], Array] = {}
    for server in servers:
        if (lease := lease_of(server, leases)) is not None:
            key = lease.id, str(server.host)
            amounts = np.array([server.counted.get(name, 0.0) for name in COUNTED])
            found[key] = found.get(key, np.zeros(len(AXES))) + amounts
    return found


def carried_room(
    servers: Iterable[CloudServer], leases: Mapping[str, StoredLease]
) -> Iterator[tuple[str, Array]]:
    """Host and what is used there, of each node of the leases; what is beyond a node is not reserved."""
    taken = carried_amounts(servers, leases)
    for lease in leases.values():
        for node in lease.nodes:
            if (carried := taken.get((lease.id, node.host))) is not None:
                yield node.host, np.minimum(carried, node.amounts)
