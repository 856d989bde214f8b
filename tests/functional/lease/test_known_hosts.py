# SPDX-License-Identifier: Apache-2.0
"""What is known of the hosts and their leases is what reading everything gives, and little of it is read."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.lease.host_view import cluster_of
from nova_market.db.leases import DatabaseLeases
from nova_market.errors import LeaseRefused
from nova_market.services.lease.known_hosts import KnownHosts
from nova_market.services.lease.observing import read_view
from tests.support.job_bed import host
from tests.support.lease_bed import LeaseBed, publish_hosts
from tests.support.lease_records import HOUR

pytestmark = pytest.mark.functional


class Counted(DatabaseLeases):
    """Remembers how many leases each `changes` has read."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.read = []

    def changes(self, known):
        found = super().changes(known)
        self.read.append(len(found.leases))
        return found


def same(one, other):
    """Two clusters, to the last bit."""
    for name in ('offsets', 'times', 'free', 'largest'):
        assert np.array_equal(getattr(one.calendar, name), getattr(other.calendar, name)), name
    for name in ('whole', 'cores', 'base_w', 'peak_w', 'price'):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    return one.names == other.names


def check(bed, known, store):
    """It knows what whoever reads all would."""
    now, settings = bed.clock.wall(), replace(bed.settings, view_age=1e9)
    turn, hosts = known.read(store, bed.states, settings, now)
    view = read_view(bed.states, now, settings.view_age)
    expected, live = bed.leases.calendar()
    assert turn == expected and same(hosts, cluster_of(view, live, bed.settings.prices, now))
    assert known.listed(store, bed.states, settings, now)[1] == live


@pytest.mark.parametrize('seed', range(3))
def test_it_is_what_reading_everything_gives(bed, seed):
    """Leases are booked, begin, are charged, moved, given up and end; hosts come and go; one reads seldom."""
    rng = np.random.default_rng(seed)
    often, seldom = KnownHosts(), KnownHosts()
    store = Counted(bed.database, bed.clock.wall)
    booked = []
    for step in range(40):
        try:
            match int(rng.integers(6)):
                case 0 | 1:
                    start = float(rng.integers(2, 9)) * HOUR
                    more = {'whole': True} if rng.integers(2) else {}
                    nodes = int(rng.integers(1, 3))
                    booked.append(bed.book(after=start, nodes=nodes, **more))
                case 2 if booked:
                    one = bed.read(booked.pop(int(rng.integers(len(booked)))))
                    if not one.over:
                        bed.requests().delete(one)
                case 3:
                    bed.run(float(rng.integers(1, 3)) * HOUR, HOUR / 2)
                case 4:
                    names = 'abcd'[: int(rng.integers(3, 5))]
                    publish_hosts(bed.states, bed.clock.wall(), [host(name) for name in names])
                case 5:
                    # time goes on, and nobody has ended what is over
                    bed.clock.advance(float(rng.integers(1, 100)))
        except LeaseRefused:
            pass
        check(bed, often, store)
        if step % 7 == 0:
            check(bed, seldom, store)


def test_only_what_has_changed_is_read(bed):
    """Of leases that are there already nothing; a charge changes no booking."""
    known, store = KnownHosts(), Counted(bed.database, bed.clock.wall)
    first = bed.book()
    bed.book()
    for _ in range(3):
        check(bed, known, store)
    bed.book()
    bed.requests().change(bed.read(first), {'name': 'other'})
    check(bed, known, store)
    bed.requests().delete(bed.read(first))
    check(bed, known, store)
    # each look is twice: with what is booked, and as a list
    assert store.read == [2, 0, 0, 0, 0, 0, 2, 0, 0, 0]


def test_hosts_that_nobody_has_read_for_long_are_not_known(bed):
    """Though they are remembered."""
    bed.book()
    bed.clock.advance(bed.settings.view_age + 1)
    with pytest.raises(LeaseRefused, match='ago'):
        bed.book()


def test_requests_share_what_is_known(fast):
    """Booking by booking, each on the host that is left."""
    bed = LeaseBed(fast)
    bed.run()
    assert sorted(bed.book(whole=True).nodes[0].host for _ in range(3)) == ['a', 'b', 'c']
    with pytest.raises(LeaseRefused):
        bed.book(whole=True)
    assert replace(bed.stores).known is bed.known
