# SPDX-License-Identifier: Apache-2.0
"""What operations on servers cost: linear in RAM, nothing at rate 0, and slower with less memory."""

import numpy as np
import pytest

from nova_market.sim.cloud.costs import Costs
from tests.support.simulated_cloud import FREE


def test_times_are_ram_over_rate():
    """1100 MiB over a gigabit link: ten seconds."""
    ram = np.array([1100.0, 0.0])
    costs = Costs()
    for seconds in (costs.suspend(ram), costs.resume(ram), costs.migration(ram)):
        assert seconds.tolist() == [10.0, 0.0]


def test_a_rate_of_nothing_takes_no_time():
    """And a free migration loses no work."""
    ram = np.array([1100.0])
    assert FREE.suspend(ram) == FREE.resume(ram) == FREE.migration(ram) == 0.0
    assert FREE.lost(np.array([5.0])) == 0.0 and FREE.boot == 0.0


def test_a_migration_costs_its_slowdown_and_its_downtime():
    """Ten seconds at nine tenths of the speed, then a fifth of a second stopped."""
    assert Costs().lost(np.array(10.0)) == pytest.approx(1.2)


@pytest.mark.parametrize(
    ('working_set', 'swapping', 'part', 'speed'),
    [(1.0, 1.0, 0.5, 0.5), (0.5, 1.0, 0.5, 1.0), (0.5, 2.0, 0.25, 0.25), (1.0, 0.0, 0.1, 1.0)],
)
def test_too_little_memory_is_slow(working_set, swapping, part, speed):
    """Nothing is lost down to the working set; below it the exponent says how bad it is."""
    costs = Costs(working_set=working_set, swapping=swapping)
    assert costs.memory_speed(np.array([part, 1.0])).tolist() == [speed, 1.0]
