# SPDX-License-Identifier: Apache-2.0
"""Placement in one pass: leases by their start, each on the first hosts that have room.

Implements the greedy solution of CloudAlloc, section 2 (rule L3 of doc/source/specs/leases.rst): hosts are
sorted by a key once, leases by start; intervals are half open, so what ends when a lease starts has made room
for it. `greedy` has the key as printed, `greedy_consistent` the cost of a busy core of a full host under the
objective, which for power is what the objective means (core.lease.power).

Extended to windows and to several nodes: a lease starts at the earliest time in its window at which all of
its nodes can, and then on the first hosts of the order.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nova_market.core.calendar.calendar import booked
from nova_market.core.calendar.start import earliest_gang, least_free
from nova_market.core.lease.cluster import Cluster, eligible, view
from nova_market.core.lease.objective import full_host_key
from nova_market.core.lease.place import Assignment, LeasePlace, bookings_of
from nova_market.core.lease.placement_interface import PlacementInput, PlacementPlan
from nova_market.core.lease.power import printed_key
from nova_market.core.lease.request import LeaseRequest
from nova_market.core.lease.state import placement_cost
from nova_market.core.resource import Array, Rows


def greedy(seen: PlacementInput) -> PlacementPlan:
    """Hosts by the paper's printed key, whatever the objective is."""
    return _plan(seen, printed_key(seen.hosts))


def greedy_consistent(seen: PlacementInput) -> PlacementPlan:
    """Hosts by the cost of a busy core of a full host: (base + peak) / cores when the objective is power."""
    return _plan(seen, full_host_key(seen.hosts, seen.rates))


def first_fit(hosts: Cluster, leases: Sequence[LeaseRequest], order: Rows) -> Assignment:
    """The places of all leases, in the order of their earliest start. order: rows of the hosts."""
    places: list[LeasePlace | None] = [None] * len(leases)
    rank = np.empty(len(hosts), dtype=np.intp)
    rank[order] = np.arange(len(order))
    for row in sorted(range(len(leases)), key=lambda row: (leases[row].earliest, row)):
        lease = leases[row]
        allowed = eligible(hosts, lease)
        place = first_place(hosts, lease, allowed[np.argsort(rank[allowed], kind='stable')])
        if place is not None:
            places[row] = place
            made = bookings_of(hosts, [lease], [place])
            hosts = replace(hosts, calendar=booked(hosts.calendar, made))
    return tuple(places)


def first_place(hosts: Cluster, lease: LeaseRequest, preferred: Rows) -> LeasePlace | None:
    """The earliest start, and there the first of these hosts; None: never within the window."""
    calendar = view(hosts, lease)
    wanted = lease.window
    if lease.fixed:
        least = least_free(calendar, lease.earliest, lease.earliest + lease.duration)
        needed = wanted.amounts[:, None]
        fine = ((least >= needed) | (needed == 0.0)).all(axis=0)[preferred]
        chosen = preferred[fine][: lease.nodes]
        start = lease.earliest
        if len(chosen) < lease.nodes:
            return None
    else:
        found = earliest_gang(calendar, wanted, lease.nodes, 1, preferred)
        if found is None:
            return None
        chosen, start = found.hosts, found.start
    return LeasePlace(start=start, hosts=tuple(sorted(chosen.tolist())))


def _plan(seen: PlacementInput, key: Array) -> PlacementPlan:
    places = first_fit(seen.hosts, seen.leases, np.argsort(key, kind='stable'))
    return PlacementPlan(
        places=places, cost=placement_cost(seen.hosts, seen.leases, seen.rates, places)
    )
