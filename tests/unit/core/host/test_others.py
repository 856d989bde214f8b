# SPDX-License-Identifier: Apache-2.0
"""What other processes take of a host, and what guests can have then."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.host.load import measure
from nova_market.core.host.others import LEAST, Others, left_to_guests, others, smoothed
from nova_market.core.host.sample import HostUse
from tests.support.host_builders import MIB, guest, sample, supply

ONE = guest('g1', 'd')
PINNED = guest('g2', 'd', dedicated=True)


def look(time, cpu, *, busy, stolen=0.0, every=None, cpus=4.0, available=1000 * MIB, **changes):
    """g1 has used `cpu` seconds; 'every' second of every CPU has passed unless given."""
    use = HostUse(
        cpus=cpus,
        all_seconds=cpus * time if every is None else every,
        busy_seconds=busy,
        stolen_seconds=stolen,
        available_bytes=available,
        **changes,
    )
    return replace(sample(time, (ONE, cpu)), use=use)


@pytest.mark.parametrize(
    ('guests', 'busy', 'stolen', 'taken'),
    [
        (20.0, 20.0, 0.0, 0.0),  # guests alone: 2 of 4 CPUs
        (10.0, 30.0, 0.0, 0.5),  # others use 2 of 4
        (10.0, 10.0, 20.0, 0.5),  # a hypervisor below took 2 of 4, in nobody's time
        (20.0, 0.0, 20.0, 0.5),  # the same, in the guests' time
        (20.0, 15.0, 0.0, 0.0),  # guests' clocks run ahead of the ticks
    ],
)
def test_what_is_neither_idle_nor_a_guest_is_taken(guests, busy, stolen, taken):
    found = others(look(10.0, 0.0, busy=5.0), look(20.0, guests, busy=5.0 + busy, stolen=stolen))
    assert found.cpu == pytest.approx(taken)


def test_nothing_is_known_at_first_and_when_cpus_went():
    first = look(10.0, 0.0, busy=5.0)
    assert others(replace(first, use=None), look(20.0, 1.0, busy=6.0)) is None
    assert others(first, look(20.0, 1.0, busy=4.0)) is None
    assert others(first, look(20.0, 1.0, busy=6.0, every=30.0)) is None


def test_a_guest_that_has_just_started_is_no_other_process():
    before = replace(sample(10.0), use=look(10.0, 0.0, busy=0.0).use)
    assert others(before, look(20.0, 10.0, busy=10.0)).cpu == 0.0


def test_what_a_guest_used_that_has_gone_is_not_taken_by_others():
    """Its last counters are not known, and it may have had all that was busy."""
    gone = replace(look(20.0, 0.0, busy=40.0), guests=())
    assert others(look(10.0, 0.0, busy=0.0), gone) is None


def test_dedicated_guests_do_not_count_where_they_run_elsewhere():
    def both(time, shared, pinned, without):
        one = look(time, shared, busy=shared, without_dedicated=without)
        return replace(one, guests=sample(time, (ONE, shared), (PINNED, pinned)).guests)

    elsewhere = others(both(0.0, 0.0, 0.0, True), replace(both(10.0, 5.0, 10.0, True)))
    assert elsewhere.cpu == 0.0
    taken = replace(both(10.0, 5.0, 10.0, True).use, busy_seconds=25.0)
    assert (
        others(both(0.0, 0.0, 0.0, True), replace(both(10.0, 5.0, 10.0, True), use=taken)).cpu
        == 0.5
    )
    taken = replace(taken, without_dedicated=False)
    assert (
        others(both(0.0, 0.0, 0.0, False), replace(both(10.0, 5.0, 10.0, False), use=taken)).cpu
        == 0.25
    )


def test_memory_that_guests_hold_is_theirs():
    found = others(look(10.0, 0.0, busy=0.0), look(20.0, 0.0, busy=0.0, available=900 * MIB))
    assert found.usable_bytes == (900 + 64) * MIB


@pytest.mark.parametrize(
    ('cpu', 'usable', 'cores', 'memory'),
    [
        (0.5, 2048, 4.0, 2048),
        (0.005, 8192, 8.0, 4096),
        (1.0, 0, 8.0 * LEAST, 4096 * LEAST),
    ],
)
def test_supply_is_what_is_left_within_bounds(cpu, usable, cores, memory):
    whole = supply(cores=8.0, disk_read_bps=7.0)
    left = left_to_guests(whole, Others(cpu=cpu, usable_bytes=usable * MIB))
    assert left == replace(whole, cores=pytest.approx(cores), memory_bytes=int(memory * MIB))


def test_nothing_measured_is_the_whole_supply():
    assert left_to_guests(supply(), None) == supply()


def test_a_short_disturbance_is_smoothed():
    calm, disturbed = Others(cpu=0.0, usable_bytes=4.0), Others(cpu=1.0, usable_bytes=2.0)
    assert smoothed(calm, disturbed, 0.25) == Others(cpu=0.25, usable_bytes=3.5)
    assert smoothed(calm, None, 0.25) == calm
    assert smoothed(None, disturbed, 0.25) == Others(cpu=0.25, usable_bytes=2.0)


def test_a_measurement_carries_it_on():
    first = measure(None, look(0.0, 0.0, busy=0.0), supply())
    second = measure(first, look(10.0, 10.0, busy=30.0), supply())
    third = measure(second, look(20.0, 20.0, busy=40.0), supply())
    assert [one.others and one.others.cpu for one in (first, second, third)] == [
        None,
        pytest.approx(0.25),
        pytest.approx(0.125),
    ]
    assert np.isfinite(third.load).all()
