# SPDX-License-Identifier: Apache-2.0
"""What Prometheus gets of the service of leases."""

import pytest

from nova_market.services.lease.metrics import LeasesCollector
from tests.support.lease_records import HOUR
from tests.support.lease_settings import SETTINGS

pytestmark = pytest.mark.functional

MINUTE = 60.0


@pytest.fixture
def collector(bed):
    """Of a service that is the only one from now on."""
    found = LeasesCollector(lambda: True)
    bed.service = bed.another(observe=found.observe)
    return found


def value(collector, name, **labels):
    return collector.registry().get_sample_value(f'nova_market_leases{name}', labels)


def test_a_lease_is_counted_from_its_start_to_its_end(bed, collector):
    """By state, with what is held and charged for it."""
    one = bed.book(duration=2 * HOUR)
    bed.run()
    assert value(collector, '', state='planned') == 1 and value(collector, '_escrow_credits') == 4
    assert value(collector, '_usable_hosts') == 3 and value(collector, '_cloud_readable') == 1
    bed.run(one.start - bed.clock.wall() + HOUR, MINUTE)
    assert value(collector, '', state='active') == 1 and value(collector, '', state='planned') == 0
    assert value(collector, '_starts_total') == 1 and value(collector, '_late_starts_total') == 0
    assert value(collector, '_charged_credits_total') == 2
    bed.run(HOUR + MINUTE, MINUTE)
    assert value(collector, '_ended_total') == 1 and value(collector, '_charged_credits_total') == 4
    assert value(collector, '_escrow_credits') == 0 and value(collector, '_passes_total') > 60


def test_lost_hosts_and_late_starts_are_seen(bed, collector):
    """A lease waits for its host, begins late; another one of a host that stays away fails."""
    first, second = bed.book(hosts=['a']), bed.book(hosts=['b'])
    for name in 'ab':
        bed.change_host(name, answering=False)
    bed.run(first.start - bed.clock.wall() + 2 * MINUTE, MINUTE)
    assert value(collector, '_lost_hosts') == 2 and value(collector, '_usable_hosts') == 1
    assert value(collector, '_longest_overdue_seconds') == pytest.approx(2 * MINUTE, abs=20)
    assert value(collector, '_waiting_for_host_total') >= 2
    bed.change_host('a', answering=True)
    bed.run(SETTINGS.life.start_patience, MINUTE)
    assert value(collector, '_late_starts_total') == 1 and value(collector, '_failed_total') == 1
    assert value(collector, '_refunded_credits_total') == second.cost / 1e6
    bed.cloud.available = False
    bed.run()
    assert value(collector, '_cloud_readable') == 0


def test_who_does_not_lead_shows_no_leases(bed):
    """It would show what it saw when it led."""
    idle = LeasesCollector(lambda: False)
    bed.service = bed.another(observe=idle.observe)
    bed.run()
    assert value(idle, '_leader') == 0 and value(idle, '', state='planned') is None
