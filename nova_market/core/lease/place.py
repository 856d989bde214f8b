# SPDX-License-Identifier: Apache-2.0
"""Where and when leases are: places, as bookings of the calendar.

Rule L3 of doc/source/specs/leases.rst. Units: seconds, amounts in the units of AXES. A row number is the
identity of a lease or a host within one decision.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.booking import Bookings, bookings
from nova_market.core.lease.cluster import Cluster, node_amounts
from nova_market.core.lease.request import LeaseRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasePlace:
    """When all nodes of a lease start, and their hosts: rows, ascending, or as the request names them."""

    start: float
    hosts: tuple[int, ...]


Assignment = tuple[LeasePlace | None, ...]
"""By the row of the lease; None: it has no place."""


def bookings_of(
    hosts: Cluster, leases: Sequence[LeaseRequest], places: Sequence[LeasePlace | None]
) -> Bookings:
    """One booking for each node that has a place; by lease, then in the order of its hosts."""
    host: list[int] = []
    start: list[float] = []
    end: list[float] = []
    taken = []
    for lease, place in zip(leases, places, strict=True):
        if place is None:
            continue
        rows = list(place.hosts)
        host += rows
        start += [place.start] * len(rows)
        end += [place.start + lease.duration] * len(rows)
        taken.append(node_amounts(hosts, lease)[:, rows])
    amounts = np.concatenate([np.empty((len(AXES), 0)), *taken], axis=1)
    return bookings(host=host, start=start, end=end, amounts=amounts)


def unplaced(places: Assignment) -> int:
    """How many leases have no place."""
    return sum(place is None for place in places)
