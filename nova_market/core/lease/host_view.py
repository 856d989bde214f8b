# SPDX-License-Identifier: Apache-2.0
"""The hosts that can be leased, as the service publishes them: what they have, draw, and have free when.

Implements the input of rules L2, L3 and W1 of doc/source/specs/leases.rst and rules C2 to C4 of
doc/source/specs/calendar.rst. Seconds since the epoch, watts, amounts in the units of AXES; arrays (hosts,)
and (AXES, hosts). The service makes one in each pass and publishes it as a document; whoever books reads it,
and books the leases on it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.booking import Bookings, bookings
from nova_market.core.calendar.calendar import Calendar, booked
from nova_market.core.lease.billing import LeasePrices
from nova_market.core.lease.cluster import Cluster, cluster
from nova_market.core.lease.record import StoredLease
from nova_market.core.resource import Array, Flags


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HostView:
    """at: when it was read; good: enabled and answering; whole: zeros for a host that is disabled

    calendar: with what is there without a lease
    """

    at: float
    names: tuple[str, ...]
    good: Flags
    whole: Array
    cores: Array
    base_w: Array
    peak_w: Array
    stays_on: Flags
    calendar: Calendar


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWatts:
    """Of hosts whose name matches the pattern, as of a shell: idle, and what a full load adds."""

    pattern: str
    base_w: float
    peak_w: float


def watts_of(names: Sequence[str], rules: Sequence[HostWatts]) -> tuple[Array, Array]:
    """(idle watts, watts that a full load adds), (hosts,): of the first rule that matches, else zeros."""
    found = [
        next(
            ((rule.base_w, rule.peak_w) for rule in rules if fnmatchcase(name, rule.pattern)),
            (0.0, 0.0),
        )
        for name in names
    ]
    values = np.array(found, dtype=np.float64).reshape(len(names), 2)
    return values[:, 0], values[:, 1]


def matching(names: Sequence[str], patterns: Sequence[str]) -> Flags:
    """(hosts,): whose name matches one of the patterns."""
    return np.array(
        [any(fnmatchcase(name, one) for one in patterns) for name in names], dtype=np.bool_
    )


def cluster_of(
    view: HostView, leases: Sequence[StoredLease], prices: LeasePrices, now: float
) -> Cluster:
    """The hosts as an algorithm takes them, with these leases on them."""
    return cluster_with(view, booked(view.calendar, lease_bookings(view, leases, now)), prices)


def cluster_with(view: HostView, calendar: Calendar, prices: LeasePrices) -> Cluster:
    """The hosts as an algorithm takes them, with what is booked in this calendar of them."""
    price = np.array([float(one) for one in prices.by_axis])
    # a host that is not there has no cores to draw power with
    return cluster(
        view.names,
        calendar,
        view.whole,
        base_w=view.base_w,
        peak_w=view.peak_w,
        cores=np.maximum(view.cores, 1.0),
        stays_on=view.stays_on,
        price=np.repeat(price[:, None], len(view.names), axis=1),
    )


def lease_bookings(view: HostView, leases: Sequence[StoredLease], now: float) -> Bookings:
    """What leases that are not over take of these hosts.

    One whose time has passed, and that nobody has ended yet, takes nothing of the time from now on.
    """
    row = {name: number for number, name in enumerate(view.names)}
    taken = [
        (row[node.host], one.start, one.end, node.amounts)
        for one in leases
        if not one.over and one.end > now
        for node in one.nodes
        if node.host in row
    ]
    return bookings(
        host=[one[0] for one in taken],
        start=[one[1] for one in taken],
        end=[one[2] for one in taken],
        amounts=np.array([one[3] for one in taken], dtype=np.float64).reshape(-1, len(AXES)).T,
    )


def document_of(view: HostView) -> dict[str, Any]:
    """As JSON has it."""
    calendar = view.calendar
    return {
        'at': view.at,
        'names': list(view.names),
        'good': view.good.tolist(),
        'whole': view.whole.tolist(),
        'cores': view.cores.tolist(),
        'base_w': view.base_w.tolist(),
        'peak_w': view.peak_w.tolist(),
        'stays_on': view.stays_on.tolist(),
        'offsets': calendar.offsets.tolist(),
        'times': [None if math.isinf(one) else one for one in calendar.times.tolist()],
        'free': calendar.free.tolist(),
        'largest': calendar.largest.tolist(),
    }


def host_view_from(document: Mapping[str, Any]) -> HostView | None:
    """The inverse; None of {}: nothing was published yet."""
    if not document:
        return None
    names = tuple(document['names'])

    def array(name: str) -> Array:
        return np.array(document[name], dtype=np.float64)

    def table(name: str) -> Array:
        return array(name).reshape(len(AXES), -1)

    times = [-math.inf if one is None else one for one in document['times']]
    return HostView(
        at=float(document['at']),
        names=names,
        good=np.array(document['good'], dtype=np.bool_),
        whole=table('whole'),
        cores=array('cores'),
        base_w=array('base_w'),
        peak_w=array('peak_w'),
        stays_on=np.array(document['stays_on'], dtype=np.bool_),
        calendar=Calendar(
            offsets=np.array(document['offsets'], dtype=np.intp),
            times=np.array(times, dtype=np.float64),
            free=table('free'),
            largest=table('largest'),
        ),
    )
