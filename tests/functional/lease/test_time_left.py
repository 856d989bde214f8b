# SPDX-License-Identifier: Apache-2.0
"""A request for a lease takes its time in the API, and no more: for all its searches together."""

from dataclasses import replace

import pytest

from nova_market.core.lease.limit import LeaseLimits
from nova_market.core.lease.placement_interface import PlacementPlan
from nova_market.errors import Conflict, LeaseRefused, PromisesChanged, TooManyLeases
from nova_market.services.lease.asking import Booker
from nova_market.services.lease.booking import LeaseRequests
from tests.support.lease_bed import LeaseBed
from tests.support.lease_records import HOUR
from tests.support.lease_settings import SETTINGS

pytestmark = pytest.mark.functional


@pytest.fixture
def asked():
    """The seconds that each search was given."""
    return []


@pytest.fixture
def settings(asked):
    def placement(seen):
        asked.append(seen.settings.seconds)
        return PlacementPlan(places=(None,) * len(seen.leases), cost=0.0)

    algorithms = dict.fromkeys(SETTINGS.algorithms, placement)
    return replace(SETTINGS, algorithms=algorithms, seconds=500.0, request_seconds=0.05)


def test_a_search_has_the_time_of_a_request_and_not_of_a_replan(fast, settings, asked):
    """Whatever [leases]seconds allows."""
    bed = LeaseBed(fast, settings=settings)
    bed.run()
    with pytest.raises(LeaseRefused):
        bed.book()
    assert len(asked) == 1 and asked[0] <= 0.05


class Overtaken:
    """A store of leases in which somebody else always books first."""

    def __init__(self, store):
        self._store = store
        self.tries = 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def book(self, *_):
        self.tries += 1
        assert self.tries < 100, 'it goes on'
        raise PromisesChanged('others book')


def test_whoever_is_always_overtaken_is_told_after_that_time(fast):
    """One try for sure, and then until the time is over."""
    bed = LeaseBed(fast, settings=replace(SETTINGS, request_seconds=0.0))
    bed.run()
    store = Overtaken(bed.leases)
    red = Booker(project_id='red', user_id='u')
    requests = LeaseRequests(replace(bed.stores, leases=store), red, bed.settings)
    with pytest.raises(Conflict, match='others book leases all the time'):
        requests.book({'duration': HOUR, 'cores': 2})
    assert store.tries == 1


def test_the_quota_is_looked_at_before_a_place_is_looked_for(fast, settings, asked):
    """Who has as many leases as he may costs nobody a search."""
    bed = LeaseBed(fast, settings=replace(settings, limits=LeaseLimits(leases=0)))
    bed.run()
    with pytest.raises(TooManyLeases):
        bed.book()
    assert asked == []
