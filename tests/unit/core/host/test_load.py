# SPDX-License-Identifier: Apache-2.0
"""Loads from two looks at a host."""

import pytest

from nova_market.core.host.load import measure, supply_vector
from nova_market.core.resource import CPU, DISK_READ, MEMORY
from tests.support.host_builders import MIB, guest, sample, supply

D1 = guest('d1', 'd')
E1 = guest('e1', 'e')


def test_first_look_knows_memory_only():
    """Totals since boot are not the load of an interval."""
    first = measure(None, sample(100.0, (D1, 5000.0)), supply())
    assert first.load[0, CPU] == 0.0
    assert first.load[0, MEMORY] == 64 * MIB
    assert not first.seen[0]


def test_rate_is_score_times_cores():
    first = measure(None, sample(0.0, (D1, 10.0)), supply())
    second = measure(first, sample(10.0, (D1, 15.0)), supply(core_score=3.0))
    assert second.load[0, CPU] == pytest.approx(1.5)
    assert second.seen[0]


def test_moving_average_follows_time_not_rounds():
    """Two early rounds of half an interval move as far as one whole interval."""
    start = measure(
        measure(None, sample(0.0, (D1, 0.0)), supply()), sample(10.0, (D1, 0.0)), supply()
    )
    whole = measure(start, sample(20.0, (D1, 10.0)), supply())
    half = measure(start, sample(15.0, (D1, 5.0)), supply())
    halves = measure(half, sample(20.0, (D1, 10.0)), supply())
    assert whole.load[0, CPU] == pytest.approx(0.5)
    assert halves.load[0, CPU] == pytest.approx(0.5)


def test_ready_is_that_of_the_busiest_vcpu():
    """Of the last interval; 0 while it is not known, and never outside [0, 1] whatever the counters do."""
    one = guest('d1', 'd', vcpus=2)

    def looked(before, after):
        first = measure(None, sample(0.0, (one, 0.0), vcpu_ready_ns=before), supply())
        assert first.ready.tolist() == [0.0]
        return measure(first, sample(10.0, (one, 1.0), vcpu_ready_ns=after), supply()).ready[0]

    assert looked((0, 0), (int(1e9), int(9e9))) == pytest.approx(0.9)
    assert looked((), ()) == looked((0,), ()) == 0.0
    assert looked((int(5e9), 0), (0, 0)) == 0.0
    assert looked((0, 0), (int(99e9), 0)) == 1.0


def test_new_incarnation_starts_over():
    """A reboot by Nova, a resize or a migration gives a new domain id and counters from zero."""
    first = measure(None, sample(0.0, (D1, 500.0)), supply())
    again = guest('d1', 'd', domain_id=2)
    second = measure(first, sample(10.0, (again, 3.0)), supply())
    assert second.load[0, CPU] == 0.0 and not second.seen[0]
    third = measure(second, sample(20.0, (again, 8.0)), supply())
    assert third.load[0, CPU] == pytest.approx(0.5)


def test_counter_that_fell_starts_over():
    """The 2016 service died of an assertion here."""
    first = measure(
        measure(None, sample(0.0, (D1, 50.0)), supply()), sample(10.0, (D1, 55.0)), supply()
    )
    fallen = measure(first, sample(20.0, (D1, 1.0)), supply())
    assert fallen.load[0, CPU] == pytest.approx(first.load[0, CPU])
    assert measure(fallen, sample(30.0, (D1, 11.0)), supply()).load[0, CPU] == pytest.approx(0.75)


@pytest.mark.parametrize('later', [10.0, 5.0])
def test_clock_that_stands_or_goes_back(later):
    first = measure(None, sample(10.0, (D1, 50.0)), supply())
    second = measure(first, sample(later, (D1, 60.0)), supply())
    assert second.load[0, CPU] == 0.0


def test_guests_come_and_go():
    first = measure(None, sample(0.0, (D1, 0.0)), supply())
    second = measure(first, sample(10.0, (D1, 10.0), (E1, 400.0)), supply())
    assert second.seen.tolist() == [True, False]
    third = measure(second, sample(20.0, (E1, 405.0)), supply())
    assert [g.name for g in third.guests] == ['e1']
    assert list(third.smoothed) == [E1.incarnation]
    assert measure(third, sample(30.0), supply()).load.shape == (0, 6)


def test_disk_load_is_the_dearer_of_bytes_and_operations():
    """100 operations/s of 4 KiB on a disk that bears 200 use half of it, whatever the bytes."""
    disk = supply(disk_read_bps=100e6, disk_read_iops=200.0)
    first = measure(None, sample(0.0, (D1, 0.0)), disk)
    random = measure(
        first, sample(10.0, (D1, 0.0), disk_read_ops=1000, disk_read_bytes=4096000), disk
    )
    assert random.load[0, DISK_READ] == pytest.approx(50e6)
    large = measure(
        first, sample(10.0, (D1, 0.0), disk_read_ops=10, disk_read_bytes=800_000_000), disk
    )
    assert large.load[0, DISK_READ] == pytest.approx(80e6)


def test_supply_vector():
    offered = supply_vector(supply(cores=8.0, core_score=1.5, net_tx_bps=125e6))
    assert offered.tolist() == [12.0, 4096 * MIB, 0.0, 0.0, 0.0, 125e6]
