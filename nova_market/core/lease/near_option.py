# SPDX-License-Identifier: Apache-2.0
"""What could be had instead of a lease that was refused, with its cost.

Implements the second half of rule L2 of doc/source/specs/leases.rst, after CloudAlloc, section 4 and fig. 7
("she gets a list of available options that are close to her needs"). Nothing of it is booked. Units: seconds,
cost of the rates.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from nova_market.core.calendar.start import earliest_gang
from nova_market.core.lease.cluster import Cluster, eligible, view
from nova_market.core.lease.greedy import first_place
from nova_market.core.lease.objective import Rates, full_host_key
from nova_market.core.lease.place import LeasePlace
from nova_market.core.lease.request import LeaseRequest
from nova_market.core.lease.state import placement_cost
from nova_market.core.resource import Rows


class Change(StrEnum):
    """In what an option differs from what was asked for."""

    OTHER_HOSTS = 'other_hosts'
    LATER = 'later'
    """The same hosts, or any for an automatic request, after the window."""
    FEWER_NODES = 'fewer_nodes'


@dataclass(frozen=True, slots=True, kw_only=True)
class NearOption:
    """hosts: names; cost: in the unit of the rates"""

    change: Change
    start: float
    end: float
    hosts: tuple[str, ...]
    cost: float


def near_options(hosts: Cluster, lease: LeaseRequest, rates: Rates) -> tuple[NearOption, ...]:
    """Other hosts in the same window, another slot on the same hosts, fewer nodes: one of each that there is.

    Other hosts are cheapest first, and keep those of the named ones that have room.

    :raises BadLease: it names a host that is not there.
    """
    named = eligible(hosts, lease)
    order = np.argsort(full_host_key(hosts, rates), kind='stable')
    some = order[(hosts.whole[:, order] > 0).any(axis=0)]
    mine = named if lease.hosts else some
    free = replace(lease, hosts=())
    found = []
    if lease.hosts:
        wanted = np.concatenate([named, some[~np.isin(some, named)]])
        found.append((Change.OTHER_HOSTS, free, first_place(hosts, free, wanted)))
    found.append((Change.LATER, *_later(hosts, free, mine)))
    if nodes := most_nodes(hosts, free, mine):
        fewer = replace(free, nodes=nodes)
        found.append((Change.FEWER_NODES, fewer, first_place(hosts, fewer, mine)))
    return tuple(
        NearOption(
            change=change,
            start=place.start,
            end=place.start + lease.duration,
            hosts=tuple(hosts.names[row] for row in place.hosts),
            cost=placement_cost(hosts, [asked], rates, (place,)),
        )
        for change, asked, place in found
        if place is not None
    )


def most_nodes(hosts: Cluster, lease: LeaseRequest, rows: Rows) -> int:
    """The largest number of nodes below the lease's that has a place on these hosts; 0: none."""
    least, most = 0, max(min(lease.nodes - 1, len(rows)), 0)
    while least < most:
        nodes = (least + most + 1) // 2
        if first_place(hosts, replace(lease, nodes=nodes), rows) is None:
            most = nodes - 1
        else:
            least = nodes
    return least


def _later(
    hosts: Cluster, lease: LeaseRequest, rows: Rows
) -> tuple[LeaseRequest, LeasePlace | None]:
    wanted = replace(lease, finish=np.inf)
    found = earliest_gang(view(hosts, lease), wanted.window, lease.nodes, 1, rows)
    if found is None:
        return lease, None
    asked = replace(lease, earliest=found.start, finish=found.start + lease.duration)
    return asked, LeasePlace(start=found.start, hosts=tuple(sorted(found.hosts.tolist())))
