# SPDX-License-Identifier: Apache-2.0
"""What the plan of power takes, from the cloud, the leases and what is remembered.

Implements the input of rule W3 of doc/source/specs/leases.rst. Seconds since the epoch; arrays (hosts,) and
(AXES, hosts), in the order of the view. What leases have reserved is neither room nor demand: their hosts are
woken by the calendar, and what is left of the cloud is weighed against everything else.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from nova_market.core.calendar.axes import AXES, COUNTED
from nova_market.core.calendar.booking import bookings
from nova_market.core.calendar.calendar import booked
from nova_market.core.job.cloud_room import Cloud
from nova_market.core.lease.carrier import carried_room
from nova_market.core.lease.host_view import HostView
from nova_market.core.lease.record import BEGUN, StoredLease
from nova_market.core.market.inventory import CloudServer
from nova_market.core.power.host_step import POWER, HostState, Phase
from nova_market.core.power.plan import HostsPower
from nova_market.core.power.watch import Watch
from nova_market.core.resource import Array, HostName

DOWN = frozenset({Phase.LEAVING, Phase.STOPPING, Phase.OFF, Phase.WAKING})
"""Phases of hosts that are not there, and come when they are needed."""


def as_awake(cloud: Cloud, asleep: Collection[str]) -> Cloud:
    """The cloud as it is when these hosts are there again."""
    hosts = [
        replace(one, enabled=True, answering=True) if one.name in asleep else one
        for one in cloud.hosts
    ]
    return replace(cloud, hosts=hosts)


def not_before(
    view: HostView, wait: Mapping[str, float], leases: Sequence[StoredLease], now: float
) -> HostView:
    """The view without the room that hosts have before they are awake. wait: seconds, by host

    A host on which a lease begins before that stays as it is: its room is booked already.
    """
    taken = {
        node.host
        for one in leases
        for node in one.nodes
        if one.start < now + wait.get(node.host, 0.0)
    }
    rows = [
        row
        for row, name in enumerate(view.names)
        if wait.get(name, 0.0) > 0 and name not in taken and (view.whole[:, row] > 0).any()
    ]
    made = bookings(
        host=rows,
        start=[now] * len(rows),
        end=[now + wait[view.names[row]] for row in rows],
        amounts=view.whole[:, rows],
    )
    return replace(view, calendar=booked(view.calendar, made))


def demand_of(servers: Collection[CloudServer], leases: Iterable[StoredLease]) -> Array:
    """(AXES,): what servers take besides the room of leases that have begun, and which they carry (L5)."""
    found = np.zeros(len(AXES))
    for one in servers:
        found += [one.counted.get(name, 0.0) for name in COUNTED]
    for _, amounts in carried_room(servers, {one.id: one for one in leases if one.state in BEGUN}):
        found -= amounts
    return found


def hosts_power(
    view: HostView,
    stored: Mapping[HostName, HostState],
    leases: Sequence[StoredLease],
    watch: Watch,
    bound: Collection[str],
    now: float,
    lead: float,
) -> HostsPower:
    """Everything about the hosts. bound: names of those that stay on now; lead: seconds that waking takes

    A host that cannot be used has no room, and stays as it is.
    """
    phases = [stored.get(HostName(name), HostState()).phase for name in view.names]
    needed, held = _leased(view, leases, now, lead)
    kept = np.array([name in bound for name in view.names], dtype=np.bool_)
    return HostsPower(
        state=np.array([POWER[one] for one in phases], dtype=np.int64),
        empty_for=np.array([now - watch.empty.get(name, now) for name in view.names]),
        needed_in=np.minimum(needed, _booked_in(view, now)),
        bound=view.stays_on | kept | ~view.good,
        capacity=np.where(view.good, np.maximum(view.whole - held, 0.0), 0.0),
        base_w=view.base_w,
    )


def _leased(
    view: HostView, leases: Sequence[StoredLease], now: float, lead: float
) -> tuple[Array, Array]:
    """(seconds until a lease needs each host, what leases have of it that have begun or soon begin)."""
    row = {name: number for number, name in enumerate(view.names)}
    needed = np.full(len(view.names), np.inf)
    held = np.zeros((len(AXES), len(view.names)))
    for one in leases:
        if one.over or (one.end <= now and one.state not in BEGUN):
            continue
        for node in one.nodes:
            if (place := row.get(node.host)) is None:
                continue
            needed[place] = min(needed[place], max(one.start - now, 0.0))
            if one.start <= now + lead:
                held[:, place] += node.amounts
    return needed, held


def _booked_in(view: HostView, now: float) -> Array:
    """(hosts,) seconds until something without a lease takes room: servers that are there, jobs to come."""
    calendar = view.calendar
    less = (calendar.free < view.whole[:, calendar.host]).any(axis=0) & view.good[calendar.host]
    found = np.full(len(view.names), np.inf)
    np.minimum.at(found, calendar.host[less], np.maximum(calendar.times[less] - now, 0.0))
    return found
