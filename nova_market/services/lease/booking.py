# SPDX-License-Identifier: Apache-2.0
"""Leases are booked, changed, deleted and given to another project.

Implements rules L1, L2, L3 and L6 of doc/source/specs/leases.rst around core.lease, after CloudAlloc, section
4, scenario 2. A booking decides by what was booked until then, and is stored only if nothing was booked since
(ports.LeaseStore): otherwise all is read and decided again. Seconds since the epoch.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from nova_market.core.lease.billing import hold, lease_cost, without_payer
from nova_market.core.lease.cluster import Cluster
from nova_market.core.lease.host_view import cluster_of
from nova_market.core.lease.life import deleted, event, given
from nova_market.core.lease.near_option import NearOption, near_options
from nova_market.core.lease.objective import price
from nova_market.core.lease.placement_interface import PlacementInput
from nova_market.core.lease.record import LeaseAction, LeaseNode, LeaseStep, StoredLease
from nova_market.core.lease.refusal import Fault, faults
from nova_market.core.lease.repair import stored_nodes
from nova_market.core.lease.request import LeaseRequest, automatic, manual
from nova_market.core.timestamp import LATEST, seconds, stamp
from nova_market.errors import (
    BadLease,
    BadTime,
    Conflict,
    KeyReused,
    LeaseOver,
    LeaseRefused,
    PromisesChanged,
    UnknownAccount,
)
from nova_market.ports import JobStateStore, LeaseStore
from nova_market.services.lease.observing import read_view
from nova_market.services.lease.settings import LeaseSettings

TRIES = 100
"""While others book: of n at once each tries at most n times."""

ASKED = ('cores', 'memory_mib', 'disk_gib')


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseStores:
    """What leases are booked with. wall: seconds since the epoch."""

    leases: LeaseStore
    states: JobStateStore
    wall: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Booker:
    """Who asks."""

    project_id: str
    user_id: str


class Refused(LeaseRefused):
    """With the requirements that fail, and what could be had instead."""

    def __init__(self, problem: str, found: Sequence[Fault], options: Sequence[NearOption]) -> None:
        super().__init__(problem)
        self.faults = found
        self.options = options


class LeaseRequests:
    """Requests of one caller."""

    def __init__(self, stores: LeaseStores, by: Booker, settings: LeaseSettings) -> None:
        self._stores = stores
        self._by = by
        self._settings = settings

    def book(self, body: Mapping[str, Any], key: str | None = None) -> tuple[StoredLease, bool]:
        """(the lease, whether it is new). key: the same one books once.

        :raises BadLease: names what is wrong.
        :raises KeyReused: the key is of another lease.
        :raises Refused, LeaseRefused: it cannot be met; nothing was booked.
        :raises TooManyLeases, BalanceTooLow, UnknownAccount: nothing was booked.
        """
        name = f'market:lease:{self._by.project_id}:{key}'
        lease_id = str(uuid5(NAMESPACE_URL, name)) if key else str(uuid4())
        for _ in range(TRIES):
            before = self._stores.leases.lease(lease_id)
            if before is not None:
                _check_same(before, body, self._by)
                return before, False
            lease, turn = self._placed(lease_id, body)
            booked = event(lease, lease.created_at, LeaseAction.BOOKED, _where(lease))
            try:
                return self._stores.leases.book(
                    lease, turn, hold(lease), [booked], self._settings.most
                ), True
            except PromisesChanged:
                continue
        raise Conflict('others book leases all the time: try again')

    def change(self, lease: StoredLease, body: Mapping[str, Any]) -> StoredLease:
        """Name, purpose, flexible.

        :raises LeaseOver, LeaseChanged: nothing was changed.
        """
        _check_live(lease)
        after = replace(lease, **body)
        if after == lease:
            return lease
        what = ', '.join(f'{name} is {value!r:.80}' for name, value in sorted(body.items()))
        told = event(lease, self._stores.wall(), LeaseAction.CHANGED, what)
        return self._written(LeaseStep(before=lease, after=after, events=(told,)))

    def delete(self, lease: StoredLease) -> StoredLease:
        """Give it up; a part of what is not used comes back.

        :raises LeaseOver, LeaseChanged: nothing was changed.
        """
        _check_live(lease)
        now = self._stores.wall()
        step = deleted(lease, now, self._settings.life, f'user {self._by.user_id}')
        return self._written(step)

    def give(self, lease: StoredLease, project_id: str) -> StoredLease:
        """To another project, which has it from now on; who has booked it goes on paying.

        :raises LeaseOver, LeaseChanged: nothing was changed.
        """
        _check_live(lease)
        if project_id == lease.project_id:
            raise BadLease(f'lease {lease.id} is of project {project_id} already')
        return self._written(given(lease, self._stores.wall(), project_id))

    def _written(self, step: LeaseStep) -> StoredLease:
        by = self._by.user_id
        try:
            (stored,) = self._stores.leases.change([step], by=by)
        except UnknownAccount:
            changed = replace(step, postings=without_payer(step.postings))
            (stored,) = self._stores.leases.change([changed], by=by)
        return stored

    def _placed(self, lease_id: str, body: Mapping[str, Any]) -> tuple[StoredLease, int]:
        """(the lease as it can be booked now, the turn).

        :raises Refused: it cannot.
        """
        settings, now = self._settings, self._stores.wall()
        asked = self._request(lease_id, body, now)
        view = read_view(self._stores.states, now, settings.view_age)
        turn, live = self._stores.leases.calendar()
        hosts = cluster_of(view, live, settings.prices, now)
        first, algorithm, second, objective = settings.plugins(now)
        end = time.monotonic() + settings.seconds
        plan = algorithm(
            PlacementInput(
                hosts=hosts,
                leases=(asked,),
                rates=objective(hosts),
                settings=replace(settings.placement, seconds=settings.seconds),
                solver=settings.solver,
                go_on=lambda: time.monotonic() < end,
            )
        )
        (place,) = plan.places
        if place is None:
            raise refused(hosts, asked)
        lease = self._lease(asked, body, stored_nodes(hosts, asked, place.hosts), place.start, now)
        if not asked.hosts:
            lease = replace(lease, algorithm=first, objective=second)
        return lease, turn

    def _lease(
        self,
        asked: LeaseRequest,
        body: Mapping[str, Any],
        nodes: tuple[LeaseNode, ...],
        start: float,
        now: float,
    ) -> StoredLease:
        """As it is booked at this place."""
        cores, memory, disk = asked.amounts.tolist()
        return StoredLease(
            id=asked.id,
            project_id=self._by.project_id,
            payer_id=self._by.project_id,
            user_id=self._by.user_id,
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
            cost=lease_cost(nodes, asked.duration, self._settings.prices),
            created_at=now,
        )

    def _request(self, lease_id: str, body: Mapping[str, Any], now: float) -> LeaseRequest:
        """:raises BadLease: names the entry, what was given and what is allowed."""
        settings = self._settings
        earliest = _time(body, 'earliest', now)
        finish = _time(body, 'finish', None)
        if earliest is None or earliest < now - settings.view_age:
            raise BadLease(f'earliest: it is past: give a time after {stamp(now)}')
        earliest = max(earliest, now)
        duration = float(body['duration'])
        if duration > settings.longest:
            raise BadLease(
                f'duration: {duration:g} s is too long: give at most {settings.longest:g}'
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


def refused(hosts: Cluster, asked: LeaseRequest) -> Refused:
    """The refusal of a request: what fails, and what could be had. Costs in micro-credits."""
    found = faults(hosts, asked)
    options = near_options(hosts, asked, price(hosts))
    problem = '; '.join(one.sentence for one in found) or 'no placement was found in time'
    return Refused(f'nothing was booked: {problem}', found, options)


def _time(body: Mapping[str, Any], name: str, default: float | None) -> float | None:
    if name not in body:
        return default
    try:
        return seconds(body[name])
    except BadTime as error:
        raise BadLease(f'{name}: {error}') from None


def _check_same(lease: StoredLease, body: Mapping[str, Any], by: Booker) -> None:
    """:raises KeyReused: the lease that had the key is over, was given away, or was asked for otherwise."""
    hosts = body.get('hosts', ())
    nodes = len(hosts) or body.get('nodes', 1)
    asked = (body['duration'], body.get('whole', False), sorted(hosts), nodes)
    known = (lease.duration, lease.whole, sorted(lease.hosts), lease.count)
    if lease.over or lease.project_id != by.project_id or asked != known:
        raise KeyReused('Idempotency-Key: it was used for another lease: choose a new key')


def _check_live(lease: StoredLease) -> None:
    if lease.over:
        raise LeaseOver(f'lease {lease.id} is {lease.state}: nothing of it can be changed')


def _where(lease: StoredLease) -> str:
    return f'on {", ".join(one.host for one in lease.nodes)} from {stamp(lease.start)} on'
