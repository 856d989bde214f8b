# SPDX-License-Identifier: Apache-2.0
"""The hosts that can be leased, read from the cloud, and published for whoever books.

Implements the input of rules L2 and L8 of doc/source/specs/leases.rst with rules C2 and C4 of
doc/source/specs/calendar.rst. Seconds. Of what is on a host without a lease, jobs and their reservations end
as the forecast of the service of jobs has it; every other server is assumed to stay. A server that carries a
lease (core.lease.carrier) is in the room of the lease.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.calendar import rebased, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.calendar.grain import on_grid
from nova_market.core.job.cloud_room import Cloud, cloud_room
from nova_market.core.job.forecast import Forecast
from nova_market.core.lease.carrier import carried_room
from nova_market.core.lease.host_view import (
    HostView,
    document_of,
    host_view_from,
    matching,
    watts_of,
)
from nova_market.core.lease.record import BEGUN, StoredLease
from nova_market.core.lease.reservation import Reservation
from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import Array
from nova_market.core.scheduler.reserved import plain
from nova_market.errors import LeaseRefused
from nova_market.ports import JobStateStore
from nova_market.services.lease.settings import LeaseSettings

STATE = 'lease_hosts'
"""Name of what is published, among the documents of the services."""

RESERVED = 'lease_reserved'
"""Name of what leases have reserved, published for Nova's scheduler."""


def observed(
    cloud: Cloud,
    forecast: Forecast | None,
    leases: Sequence[StoredLease],
    settings: LeaseSettings,
    now: float,
) -> HostView:
    """The hosts as they are now. forecast: of jobs; leases: that are not over."""
    room = cloud_room(cloud, ())
    by_name = {str(one.name): one for one in cloud.hosts}
    hosts = [by_name[name] for name in room.names]
    offered = matching(room.names, settings.hosts)
    good = offered & np.array([one.enabled and one.answering for one in hosts], dtype=np.bool_)
    whole = on_grid(np.where(offered, room.capacity, 0.0))
    free = room.free + _carried(cloud.servers, leases, room.names)
    free = on_grid(np.where(good, np.clip(free, 0.0, whole), 0.0))
    fresh = (
        forecast is not None
        and now - forecast.at <= settings.forecast_age
        and forecast.names == room.names
    )
    jobs = forecast.calendar if fresh and forecast is not None else unbooked(capacity(whole))
    base, peak = watts_of(room.names, settings.watts)
    calendar = rebased(jobs, free, now)
    # what runs on a lost host ends, but the room is of no use to anybody
    usable = np.where(good[calendar.host], calendar.free, np.minimum(calendar.free, 0.0))
    return HostView(
        at=now,
        names=room.names,
        good=good,
        whole=whole,
        cores=np.array([one.cores for one in hosts], dtype=np.float64),
        base_w=base,
        peak_w=peak,
        stays_on=matching(room.names, settings.stays_on),
        calendar=replace(calendar, free=usable),
    )


UNLISTED = 10.0
"""Times the patience for a host that Nova does not list: while a part of Nova is down, its answers leave out
hosts that run on."""


class LostHosts:
    """Hosts of leases that cannot be used for some time; remembers since when, and nothing of a restart.

    A host that Nova lists as down or disabled is lost earlier than one that it does not list.
    """

    def __init__(self, patience: float) -> None:
        """patience: seconds; a restart of nova-compute is no loss."""
        self._patience = patience
        self._since: dict[str, float] = {}

    def forget(self) -> None:
        """Another service has led meanwhile."""
        self._since = {}

    def lost(self, view: HostView, used: Collection[str], now: float) -> frozenset[str]:
        """Of these hosts. now: on a clock that only goes forward."""
        good, listed = good_hosts(view), frozenset(view.names)
        self._since = {name: self._since.get(name, now) for name in used if name not in good}
        patience = {True: self._patience, False: UNLISTED * self._patience}
        return frozenset(
            name for name, since in self._since.items() if now - since >= patience[name in listed]
        )


def all_silent(view: HostView, asleep: Collection[str] = ()) -> bool:
    """Whether none of several enabled hosts can be used. asleep: those that are powered down"""
    awake = np.array([name not in asleep for name in view.names], dtype=np.bool_)
    enabled = int(((view.whole > 0).any(axis=0) & awake).sum())
    return enabled > 1 and not (view.good & awake).any()


def good_hosts(view: HostView) -> frozenset[str]:
    """Names of those that can be used."""
    return frozenset(name for name, good in zip(view.names, view.good, strict=True) if good)


def publish(states: JobStateStore, view: HostView) -> None:
    """For whoever books."""
    states.write(STATE, document_of(view))


def publish_reserved(states: JobStateStore, found: Reservation) -> None:
    """For Nova's scheduler, and whoever starts or moves servers."""
    states.write(RESERVED, plain(found.table))


def read_view(states: JobStateStore, now: float, age: float) -> HostView:
    """What was published last.

    :raises LeaseRefused: nothing was, or it is older than `age` seconds.
    """
    return checked_view(host_view_from(states.read(STATE)), now, age)


def newer_view(
    states: JobStateStore, version: int = 0, known: HostView | None = None
) -> tuple[int, HostView | None]:
    """(version of what was published last, and what it is): what is known, where it has this version."""
    found, document = states.newer(STATE, version)
    return found, known if document is None else host_view_from(document)


def checked_view(view: HostView | None, now: float, age: float) -> HostView:
    """What was published. :raises LeaseRefused: nothing was, or it is older than `age` seconds."""
    if view is None:
        raise LeaseRefused(
            'the service of leases has not read the hosts yet: try again in a minute'
        )
    if now - view.at > age:
        raise LeaseRefused(
            f'the service of leases has last read the hosts {now - view.at:.0f} s ago: try again later'
        )
    return view


def _carried(
    servers: Sequence[CloudServer], leases: Sequence[StoredLease], names: Sequence[str]
) -> Array:
    """What servers that carry a lease take of its hosts, (AXES, hosts)."""
    begun = {one.id: one for one in leases if one.state in BEGUN}
    row = {name: number for number, name in enumerate(names)}
    found = np.zeros((len(AXES), len(names)))
    for host, amounts in carried_room(servers, begun):
        if host in row:
            found[:, row[host]] += amounts
    return found
