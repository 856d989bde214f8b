# SPDX-License-Identifier: Apache-2.0
"""L8: a host that is added, or comes back, is used by the next pass and the next booking."""

from dataclasses import replace

import pytest

from nova_market.services.lease.booking import Refused
from tests.support.job_bed import host
from tests.support.lease_bed import STEP
from tests.support.lease_records import HOUR
from tests.support.lease_settings import SETTINGS

pytestmark = pytest.mark.functional


def hosts_of(lease):
    return sorted(node.host for node in lease.nodes)


def test_a_host_that_is_added_takes_the_lease_that_waits(bed):
    """All three hosts are booked and one is lost: the lease waits, until a pass sees a fourth host."""
    one = bed.book(nodes=3, whole=True)
    bed.change_host('a', answering=False)
    bed.run(SETTINGS.lost_after + STEP)
    assert hosts_of(bed.read(one)) == ['a', 'b', 'c'] and bed.actions(one)[-1] == 'host_lost'
    bed.cloud.put_host(host('d'))
    bed.run(STEP)
    assert hosts_of(bed.read(one)) == ['b', 'c', 'd'] and bed.actions(one)[-1] == 'moved'


def test_a_host_that_is_added_is_booked_after_one_pass(bed):
    """And one that is enabled again."""
    bed.book(nodes=3, whole=True)
    with pytest.raises(Refused):
        bed.book(whole=True)
    bed.cloud.put_host(replace(host('d'), enabled=False))
    bed.run(STEP)
    with pytest.raises(Refused):
        bed.book(whole=True)
    bed.change_host('d', enabled=True)
    bed.run(STEP)
    assert hosts_of(bed.book(whole=True)) == ['d']


def test_a_lease_stays_when_its_host_comes_back_in_time(bed):
    """It waits for a host that was lost, which is there again at its start: it starts where it was booked."""
    one = bed.book(nodes=3, whole=True)
    bed.change_host('a', answering=False)
    bed.run(2 * SETTINGS.lost_after)
    bed.change_host('a', answering=True)
    bed.run(one.start + STEP - bed.clock.wall(), HOUR / 12)
    assert hosts_of(bed.read(one)) == ['a', 'b', 'c'] and str(bed.read(one).state) == 'active'
