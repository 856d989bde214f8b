# SPDX-License-Identifier: Apache-2.0
"""Other hosts for a lease whose host is lost.

Implements rule L8 of doc/source/specs/leases.rst, after CloudAlloc, section 4, scenario 5 ("reallocate
workloads for the new configuration"): nothing that fits elsewhere is lost. Seconds.

A lease that has not begun is placed anew, within its window if it is flexible, else at its start. Of one that
has begun the lost nodes get other hosts for the rest of its time. A manual lease waits for the hosts that it
names.
"""

from collections.abc import Sequence, Set
from dataclasses import replace

import numpy as np

from nova_market.core.calendar.grain import not_before
from nova_market.core.lease.cluster import Cluster, eligible, node_amounts
from nova_market.core.lease.greedy import first_place
from nova_market.core.lease.objective import Rates, full_host_key
from nova_market.core.lease.place import LeasePlace
from nova_market.core.lease.record import BEGUN, LeaseNode, LeaseState, StoredLease
from nova_market.core.lease.request import LeaseRequest


def stored_nodes(hosts: Cluster, lease: LeaseRequest, rows: Sequence[int]) -> tuple[LeaseNode, ...]:
    """A node on each of these hosts, as it is kept."""
    taken = node_amounts(hosts, lease)
    found = []
    for row in rows:
        cores, memory, disk = taken[:, row].tolist()
        found.append(LeaseNode(host=hosts.names[row], amounts=(cores, memory, disk)))
    return tuple(found)


def repaired(
    lease: StoredLease, hosts: Cluster, rates: Rates, lost: Set[str], now: float
) -> StoredLease | None:
    """With other hosts in place of the lost ones; None: there are none.

    hosts: with all other leases booked, and not this one
    """
    if lease.hosts:
        return None
    begun = lease.state in BEGUN
    asked = lease.request
    kept = [one for one in lease.nodes if one.host not in lost] if begun else []
    if begun:
        asked = replace(
            asked,
            nodes=asked.nodes - len(kept),
            earliest=float(not_before(now)),
            duration=lease.end - float(not_before(now)),
            finish=lease.end,
        )
    elif lease.flexible and lease.state is LeaseState.PLANNED:
        asked = replace(asked, earliest=max(asked.earliest, float(not_before(now))))
    else:
        asked = replace(asked, earliest=lease.start, finish=lease.end)
    if asked.duration <= 0 or asked.latest < asked.earliest:
        return None
    place = _place(hosts, asked, rates, lost | {one.host for one in kept})
    if place is None:
        return None
    fresh = stored_nodes(hosts, asked, place.hosts)
    if begun:
        return replace(lease, nodes=(*kept, *fresh))
    return replace(lease, nodes=fresh, start=place.start, end=place.start + lease.duration)


def _place(hosts: Cluster, asked: LeaseRequest, rates: Rates, taken: Set[str]) -> LeasePlace | None:
    """On the cheapest hosts that are not among these."""
    rows = eligible(hosts, asked)
    key = full_host_key(hosts, rates)[rows]
    order = rows[np.argsort(key, kind='stable')]
    open_ = np.array([hosts.names[row] not in taken for row in order.tolist()], dtype=np.bool_)
    return first_place(hosts, asked, order[open_])
