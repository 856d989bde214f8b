# SPDX-License-Identifier: Apache-2.0
"""Leases are booked, changed, deleted and given to another project.

Implements rules L1, L2, L3, L6, L10 of doc/source/specs/leases.rst around core.lease, after CloudAlloc,
section 4, scenario 2. A booking decides by what was booked until then, and is stored only if nothing was
booked since (ports.LeaseStore): otherwise what has changed is read, and it is decided again. Seconds since
the epoch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from nova_market.core.lease.billing import hold, without_payer
from nova_market.core.lease.cluster import Cluster
from nova_market.core.lease.life import deleted, event, given
from nova_market.core.lease.limit import LeaseQuota
from nova_market.core.lease.near_option import NearOption, near_options
from nova_market.core.lease.objective import price
from nova_market.core.lease.record import LeaseAction, LeaseStep, StoredLease
from nova_market.core.lease.refusal import Fault, faults
from nova_market.core.lease.repair import stored_nodes
from nova_market.core.lease.request import LeaseRequest
from nova_market.core.timestamp import stamp
from nova_market.errors import (
    BadLease,
    Conflict,
    KeyReused,
    LeaseOver,
    LeaseRefused,
    PromisesChanged,
    UnknownAccount,
)
from nova_market.services.lease.asking import (
    Booker,
    LeaseStores,
    TimeLeft,
    booked_lease,
    check_lease,
    check_on,
    lease_request,
    planned,
    quota_of,
    seen_hosts,
)
from nova_market.services.lease.settings import LeaseSettings


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
        :raises LeasesOff, TooManyLeases, LeaseLimitReached: nothing was booked.
        :raises BalanceTooLow, UnknownAccount: nothing was booked.
        :raises Conflict: others booked all the time.
        """
        name = f'market:lease:{self._by.project_id}:{key}'
        lease_id = str(uuid5(NAMESPACE_URL, name)) if key else str(uuid4())
        time_left = TimeLeft(self._settings.request_seconds)
        while time_left.again():
            before = self._stores.leases.lease(lease_id)
            if before is not None:
                _check_same(before, body, self._by)
                return before, False
            check_on(self._settings)
            self._stores.leases.check(self._by.project_id, self._settings.limits.leases)
            lease, turn, quota = self._placed(lease_id, body, time_left)
            check_lease(lease, self._settings, quota.total)
            booked = event(lease, lease.created_at, LeaseAction.BOOKED, where(lease))
            try:
                return self._stores.leases.book(lease, turn, hold(lease), [booked], quota), True
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

    def _placed(
        self, lease_id: str, body: Mapping[str, Any], time_left: TimeLeft
    ) -> tuple[StoredLease, int, LeaseQuota]:
        """(the lease as it can be booked now, the turn, what it is checked against).

        :raises Refused: it cannot.
        """
        settings, now = self._settings, self._stores.wall()
        asked = lease_request(lease_id, body, now, settings)
        turn, hosts = seen_hosts(self._stores, settings, now)
        plan, names = planned(hosts, (asked,), settings, now, time_left.seconds)
        (place,) = plan.places
        if place is None:
            raise refused(hosts, asked)
        nodes = stored_nodes(hosts, asked, place.hosts)
        lease = booked_lease(asked, body, nodes, place.start, now, self._by, settings.prices)
        lease = lease if asked.hosts else replace(lease, **names)
        return lease, turn, quota_of(hosts, settings, now)


def refused(hosts: Cluster, asked: LeaseRequest) -> Refused:
    """The refusal of a request: what fails, and what could be had. Costs in micro-credits."""
    found = faults(hosts, asked)
    options = near_options(hosts, asked, price(hosts))
    problem = '; '.join(one.sentence for one in found) or 'no placement was found in time'
    return Refused(f'nothing was booked: {problem}', found, options)


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


def where(lease: StoredLease) -> str:
    """Its hosts and its start, for its events."""
    return f'on {", ".join(one.host for one in lease.nodes)} from {stamp(lease.start)} on'
