# SPDX-License-Identifier: Apache-2.0
"""From the body of a request to a lease: what is asked for, the hosts, where it would be, its row.

Implements rules L1 to L3 and L10 of doc/source/specs/leases.rst around core.lease. Seconds since the epoch.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nova_market.core.calendar.axes import AXES
from nova_market.core.lease.billing import LeasePrices, lease_cost
from nova_market.core.lease.cluster import Cluster
from nova_market.core.lease.limit import LeaseQuota, unpriced
from nova_market.core.lease.placement_interface import PlacementInput, PlacementPlan
from nova_market.core.lease.record import LeaseNode, StoredLease
from nova_market.core.lease.request import LeaseRequest, automatic, manual
from nova_market.core.timestamp import LATEST, both_texts, seconds, stamp
from nova_market.errors import BadLease, BadTime, LeasesOff
from nova_market.ports import JobStateStore, LeaseStore
from nova_market.services.lease.known_hosts import KnownHosts
from nova_market.services.lease.settings import LeaseSettings

ASKED = ('cores', 'memory_mib', 'disk_gib')
PRICES = dict(
    zip(AXES, ('price_core_hour', 'price_memory_gib_hour', 'price_disk_gib_hour'), strict=True)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseStores:
    """What leases are booked with. wall: seconds since the epoch; known: of all requests of a process."""

    leases: LeaseStore
    states: JobStateStore
    wall: Callable[[], float]
    known: KnownHosts = field(default_factory=KnownHosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Booker:
    """Who asks."""

    project_id: str
    user_id: str


class TimeLeft:
    """Of one request, which decides again while others book; all its searches share the time."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._begun = False

    def again(self) -> bool:
        """Whether it may decide: once for sure, and then until its time is over."""
        begun, self._begun = self._begun, True
        return not begun or self.seconds > 0

    @property
    def seconds(self) -> float:
        """Until its time is over."""
        return max(self._end - time.monotonic(), 0.0)


def quota_of(hosts: Cluster, settings: LeaseSettings, now: float) -> LeaseQuota:
    """What a booking on these hosts is checked against."""
    total = hosts.whole.sum(axis=1).tolist()
    return LeaseQuota(limits=settings.limits, total=tuple(total), now=now)


def check_on(settings: LeaseSettings) -> None:
    """:raises LeasesOff: nothing has a price, and nothing bounds what a project has."""
    if not any(settings.prices.by_axis):
        check_worth(0, settings)


def check_worth(
    cost: int,
    settings: LeaseSettings,
    taken: Sequence[float] = (),
    total: Sequence[float] = (),
) -> None:
    """taken, total: by parts of hosts, and of all hosts; (): not known, or they are whole ones

    :raises LeasesOff: it is for nothing, or that of which it takes most is, and nothing bounds how much.
    """
    if settings.limits.bounds_projects:
        return
    if cost == 0:
        raise LeasesOff(
            'leases that cost nothing are off in this cloud: ask its operator, who can set a price '
            '([leases]price_core_hour, price_memory_gib_hour, price_disk_gib_hour) or a limit '
            '([leases]max_core_hours, or max_part below 1)'
        )
    if taken and (axis := unpriced(taken, total, settings.prices.by_axis)):
        raise LeasesOff(
            f'{axis}: the lease takes a greater part of it than of what has a price: lease less of it, or '
            f'ask the operator for its price ([leases]{PRICES[axis]}) or a limit (max_core_hours, max_part)'
        )


def check_lease(lease: StoredLease, settings: LeaseSettings, total: Sequence[float]) -> None:
    """The same of a lease as it would be booked. :raises LeasesOff: as there."""
    check_worth(lease.cost, settings, () if lease.whole else lease.span.amounts, total)


def seen_hosts(stores: LeaseStores, settings: LeaseSettings, now: float) -> tuple[int, Cluster]:
    """(the turn, the hosts with all leases on them).

    :raises LeaseRefused: the hosts are not known.
    """
    return stores.known.read(stores.leases, stores.states, settings, now)


def planned(
    hosts: Cluster,
    requests: Sequence[LeaseRequest],
    settings: LeaseSettings,
    now: float,
    seconds: float,
) -> tuple[PlacementPlan, Mapping[str, Any]]:
    """(where the algorithm in force puts them, its name and its objective's as a row has them).

    seconds: that it may search
    """
    first, algorithm, second, objective = settings.plugins(now)
    end = time.monotonic() + seconds
    plan = algorithm(
        PlacementInput(
            hosts=hosts,
            leases=tuple(requests),
            rates=objective(hosts),
            settings=replace(settings.placement, seconds=seconds),
            solver=settings.solver,
            go_on=lambda: time.monotonic() < end,
        )
    )
    return plan, {'algorithm': first, 'objective': second}


def booked_lease(
    asked: LeaseRequest,
    body: Mapping[str, Any],
    nodes: tuple[LeaseNode, ...],
    start: float,
    now: float,
    by: Booker,
    prices: LeasePrices,
) -> StoredLease:
    """As it is booked at this place."""
    cores, memory, disk = asked.amounts.tolist()
    return StoredLease(
        id=asked.id,
        project_id=by.project_id,
        payer_id=by.project_id,
        user_id=by.user_id,
        name=body.get('name', ''),
        purpose=body.get('purpose', ''),
        amounts=(cores, memory, disk),
        count=asked.nodes,
        whole=asked.whole,
        utilisation=asked.utilisation,
        duration=asked.duration,
        earliest=asked.earliest,
        finish=asked.finish,
        hosts=asked.hosts,
        flexible=bool(body.get('flexible', False)),
        start=start,
        end=start + asked.duration,
        nodes=nodes,
        cost=lease_cost(nodes, asked.duration, prices),
        created_at=now,
    )


def lease_request(
    lease_id: str, body: Mapping[str, Any], now: float, settings: LeaseSettings
) -> LeaseRequest:
    """:raises BadLease: names the entry, what was given and what is allowed."""
    earliest = _time(body, 'earliest', now)
    finish = _time(body, 'finish', None)
    if earliest is None or earliest < now - settings.view_age:
        raise BadLease(f'earliest: {_given(earliest)} is past: give a time after {stamp(now // 1)}')
    earliest = max(earliest, now)
    duration = float(body['duration'])
    if duration > settings.longest:
        raise BadLease(
            f'duration: {both_texts(duration)} is too long: give at most {both_texts(settings.longest)}'
        )
    end = earliest + duration if finish is None else finish
    if end > now + settings.horizon:
        raise BadLease(
            f'finish: {stamp(min(end, LATEST))} is too far away: give at most '
            f'{stamp(now + settings.horizon)}'
        )
    asked: dict[str, Any] = {name: float(body[name]) for name in ASKED if name in body}
    asked |= {
        'whole': bool(body.get('whole', False)),
        'utilisation': float(body.get('utilisation', 1.0)),
        'duration': duration,
        'earliest': earliest,
        'finish': finish,
    }
    if 'hosts' not in body:
        return automatic(lease_id, nodes=int(body.get('nodes', 1)), **asked)
    if 'nodes' in body:
        raise BadLease('nodes: give hosts or nodes: a lease has a node on each host it names')
    return manual(lease_id, hosts=body['hosts'], **asked)


def _given(earliest: float | None) -> str:
    return 'null' if earliest is None else stamp(earliest)


def _time(body: Mapping[str, Any], name: str, default: float | None) -> float | None:
    if name not in body:
        return default
    try:
        return seconds(body[name])
    except BadTime as error:
        raise BadLease(f'{name}: {error}') from None
