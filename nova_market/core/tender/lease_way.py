# SPDX-License-Identifier: Apache-2.0
"""All ways to have a lease that are offered: starts in its window, cheaper hosts, near options.

Implements rule O1 of doc/source/specs/tender.rst for leases, after CloudAlloc, section 4 and fig. 7. Nothing
of it is booked. Units: seconds, micro-credits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.lease.billing import LeasePrices, lease_cost
from nova_market.core.lease.cluster import Cluster, eligible
from nova_market.core.lease.greedy import first_place
from nova_market.core.lease.near_option import Change, near_options
from nova_market.core.lease.objective import price
from nova_market.core.lease.place import LeasePlace
from nova_market.core.lease.record import LeaseNode
from nova_market.core.lease.repair import stored_nodes
from nova_market.core.lease.request import LeaseRequest
from nova_market.core.resource import Rows
from nova_market.core.tender.offer import Offers
from nova_market.core.tender.place import NOBODY, Kind

PARTS = 4
"""Parts of a window, in each of which the first possible start is offered."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LeaseWay:
    """row: of the request; asked: as it would be booked; change: '' or a near option"""

    row: int
    asked: LeaseRequest
    nodes: tuple[LeaseNode, ...]
    start: float
    cost: int
    change: Change | None = None


def lease_ways(
    hosts: Cluster,
    requests: Sequence[LeaseRequest],
    planned: Sequence[LeasePlace | None],
    prices: LeasePrices,
) -> list[LeaseWay]:
    """Of each request: where the algorithm puts it, the cheapest hosts, and the starts of later parts.

    planned: by the algorithm in force, one for each request
    Where no request can be had, near options of the first one that has some.

    :raises BadLease: a host that is named is not there.
    """
    found: dict[tuple[float, int, int], LeaseWay] = {}
    for row, asked in enumerate(requests):
        order = cheapest_first(hosts, asked)
        for place in (planned[row], *_places(hosts, asked, order)):
            if place is not None:
                way = _way(hosts, asked, row, place, prices)
                # of equal ones the algorithm's
                found.setdefault((way.start, way.cost, len(way.nodes)), way)
    for row, asked in enumerate(requests):
        if found:
            break
        for way in _near(hosts, asked, row, prices):
            found.setdefault((way.start, way.cost, len(way.nodes)), way)
    return list(found.values())


def cheapest_first(hosts: Cluster, asked: LeaseRequest) -> Rows:
    """Rows of hosts that it may have; whole ones by their price, and of equal ones by their row."""
    rows = eligible(hosts, asked)
    if not asked.whole or asked.hosts:
        return rows
    cost = (hosts.price * hosts.whole).sum(axis=0)[rows]
    cheapest: Rows = rows[np.argsort(cost, kind='stable')]
    return cheapest


def way_columns(ways: Sequence[LeaseWay], now: float) -> Offers:
    """For utilities (O4): seconds from now to the end."""
    count = len(ways)
    nobody = np.full(count, NOBODY, dtype=np.intp)
    return Offers(
        cost=np.array([one.cost for one in ways], dtype=np.int64),
        seconds=np.array([one.start + one.asked.duration - now for one in ways], dtype=np.float64),
        kind=np.full(count, int(Kind.NEW), dtype=np.intp),
        flavor=np.zeros(count, dtype=np.intp),
        count=np.ones(count, dtype=np.intp),
        pe=nobody,
        host=nobody,
        source=np.zeros(count, dtype=np.intp),
    )


def _places(hosts: Cluster, asked: LeaseRequest, order: Rows) -> list[LeasePlace | None]:
    """The cheapest hosts at the earliest start, the cheapest at all, and the first start in later parts."""
    found = [first_place(hosts, asked, order)]
    if asked.whole and not asked.hosts:
        found.append(_cheapest(hosts, asked, order))
    if not asked.fixed:
        step = (asked.latest - asked.earliest) / PARTS
        for part in range(1, PARTS):
            later = replace(asked, earliest=float(np.ceil(asked.earliest + part * step)))
            found.append(
                first_place(hosts, later, order) if later.latest >= later.earliest else None
            )
    return found


def _cheapest(hosts: Cluster, asked: LeaseRequest, order: Rows) -> LeasePlace | None:
    """Where the dearest host is as cheap as possible, whenever in the window that is."""
    least, most = asked.nodes, len(order)
    if least > most or first_place(hosts, asked, order) is None:
        return None
    while least < most:
        half = (least + most) // 2
        if first_place(hosts, asked, order[:half]) is None:
            least = half + 1
        else:
            most = half
    return first_place(hosts, asked, order[:least])


def _near(hosts: Cluster, asked: LeaseRequest, row: int, prices: LeasePrices) -> list[LeaseWay]:
    number = {name: at for at, name in enumerate(hosts.names)}
    found = []
    for option in near_options(hosts, asked, price(hosts)):
        manual = bool(asked.hosts) and option.change is not Change.OTHER_HOSTS
        changed = replace(
            asked,
            nodes=len(option.hosts),
            earliest=option.start,
            finish=max(asked.finish, option.end),
            hosts=option.hosts if manual else (),
        )
        place = LeasePlace(start=option.start, hosts=tuple(number[name] for name in option.hosts))
        found.append(replace(_way(hosts, changed, row, place, prices), change=option.change))
    return found


def _way(
    hosts: Cluster, asked: LeaseRequest, row: int, place: LeasePlace, prices: LeasePrices
) -> LeaseWay:
    nodes = stored_nodes(hosts, asked, place.hosts)
    cost = lease_cost(nodes, asked.duration, prices)
    return LeaseWay(row=row, asked=asked, nodes=nodes, start=place.start, cost=cost)
