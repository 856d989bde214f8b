# SPDX-License-Identifier: Apache-2.0
"""L10: one project cannot reserve more ahead than its limit, however it divides its calls."""

import tempfile
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nova_market.core.lease.blazar import BlazarLease
from nova_market.core.lease.limit import LeaseLimits, ahead_of, cores_of
from nova_market.core.lease.record import LeaseFilter
from nova_market.core.tender.stored_offer import OfferKind, OfferState
from nova_market.core.timestamp import stamp
from nova_market.db import schema
from nova_market.db.database import Database
from nova_market.db.offers import DatabaseOffers
from nova_market.errors import (
    BadLease,
    Conflict,
    LeasesOff,
    OfferEnded,
    OfferGone,
)
from nova_market.services.lease.asking import Booker, quota_of, seen_hosts
from nova_market.services.lease.blazar import BlazarCalls
from nova_market.services.tender.lease_offers import LeaseOfferRequests
from nova_market.services.tender.offers import OfferSettings
from nova_market.wiring.policies import utilities
from tests.support.job_records import id_of
from tests.support.lease_bed import LeaseBed
from tests.support.lease_records import HOUR
from tests.support.lease_settings import SETTINGS
from tests.support.servers.databases import empty_all

FREE = replace(SETTINGS.prices, core_hour=0)
ROUNDING = 1e-6

_sizes = st.sampled_from([
    {'cores': 1.0}, {'cores': 4.0}, {'memory_mib': 8192.0}, {'cores': 1.0, 'nodes': 3}, {'whole': True},
])  # fmt: skip
_times = st.fixed_dictionaries(
    {'duration': st.sampled_from([HOUR / 2, HOUR, 6 * HOUR]), 'after': st.sampled_from([0, 1, 9])}
)
_calls = st.one_of(
    st.tuples(st.just('book'), _sizes, _times),
    st.tuples(st.just('offer'), _sizes, _times),
    st.tuples(st.just('blazar'), st.integers(0, 2), _times),
    st.tuples(st.just('delete'), st.integers(0, 9)),
    st.tuples(st.just('give'), st.integers(0, 9)),
    st.tuples(st.just('wait'), st.sampled_from([60.0, HOUR])),
)
_limits = st.sampled_from([
    LeaseLimits(core_seconds=6 * HOUR),
    LeaseLimits(core_seconds=30 * HOUR, part=0.5),
    LeaseLimits(part=1 / 3),
    LeaseLimits(core_seconds=0.5 * HOUR),
])  # fmt: skip


@pytest.fixture(scope='module')
def database():
    """SQLite in a file; asynchronous, as nothing here loses its power."""
    with tempfile.TemporaryDirectory() as directory:
        made = Database({'connection': f'sqlite:///{directory}/x', 'sqlite_synchronous': False})
        schema.sync(made)
        yield made
        made.close()


class Tenant:
    """Calls of project red; those that are refused change nothing."""

    def __init__(self, bed):
        self.bed = bed
        self.blazar = BlazarCalls(bed.stores, bed.settings, 'blazar')
        self.checked = {}

    def book(self, size, times):
        self.bed.requests().book(self.body(size, times))

    def offer(self, size, times):
        bed = self.bed
        offers = DatabaseOffers(bed.database, bed.clock.wall)
        requests = LeaseOfferRequests(
            offers, bed.stores, None, Booker(project_id='red', user_id='u'),
            OfferSettings(utilities=utilities()), bed.settings,
        )  # fmt: skip
        body = {'kind': 'lease', 'lease': self.body(size, times)}
        made = requests.create(OfferKind.LEASE, body).offers
        for one in made[:2]:
            if one.state is OfferState.OPEN:
                requests.accept(one, None)

    def blazar_lease(self, number, times):
        """Made, or made longer or later."""
        start = self.bed.clock.wall() + times['after'] * HOUR + 1
        lease = BlazarLease(
            id=id_of(f'b{number}'), name='n', project_id='red', user_id='u', region='r', start=start,
            end=start + times['duration'], amounts=(3.0, 0.0, 0.0),
        )  # fmt: skip
        before = self.checked.get(number)
        if before is None:
            self.blazar.create(lease)
        else:
            self.blazar.change(before, lease)
        self.checked[number] = lease

    def body(self, size, times):
        at = stamp(self.bed.clock.wall() + times['after'] * HOUR)
        return {**size, 'duration': times['duration'], 'earliest': at}

    def mine(self):
        found = self.bed.leases.leases(LeaseFilter())
        return [one for one in found if one.payer_id == 'red' and not one.over]

    def does(self, what, *rest):
        if what == 'wait':
            self.bed.run(rest[0], rest[0])
        elif what == 'blazar':
            self.blazar_lease(*rest)
        elif what in ('delete', 'give'):
            mine = self.mine()
            if not mine:
                return
            one, requests = mine[rest[0] % len(mine)], self.bed.requests()
            if what == 'delete':
                requests.delete(one)
            else:
                requests.give(one, 'blue' if one.project_id == 'red' else 'red')
        else:
            getattr(self, what)(*rest)


@settings(max_examples=40)
@example(
    limits=LeaseLimits(core_seconds=6 * HOUR),
    calls=[('blazar', 0, {'duration': hours * HOUR, 'after': 1}) for hours in (1, 6)],
)
@given(limits=_limits, calls=st.lists(_calls, max_size=14))
def test_one_project_cannot_reserve_more_ahead_than_its_limit(database, limits, calls):
    """After each call, of whatever kind, neither in core-hours nor at once."""
    empty_all(database)
    bed = LeaseBed(database, settings=replace(SETTINGS, prices=FREE, limits=limits))
    bed.run()
    tenant = Tenant(bed)
    for what, *rest in calls:
        with suppress(BadLease, Conflict, OfferEnded, OfferGone):
            tenant.does(what, *rest)
        now = bed.clock.wall()
        quota = quota_of(seen_hosts(bed.stores, bed.settings, now)[1], bed.settings, now)
        spans = [one.span for one in tenant.mine()]
        found = ahead_of([one for one in spans if one.end > now], quota)
        assert found.core_seconds <= limits.core_seconds + ROUNDING
        assert found.cores <= limits.part * quota.total[0] + ROUNDING
        at_start = sum(
            cores_of(one, quota) for one in spans if one.placed and one.start <= now < one.end
        )
        assert at_start <= limits.part * quota.total[0] + ROUNDING


@given(size=_sizes, times=_times)
@settings(max_examples=10)
def test_without_a_price_or_a_limit_nothing_is_reserved(database, size, times):
    """Which is the default configuration."""
    empty_all(database)
    bed = LeaseBed(database, settings=replace(SETTINGS, prices=FREE))
    bed.run()
    with pytest.raises(LeasesOff):
        Tenant(bed).book(size, times)
    assert bed.leases.calendar()[1] == []
