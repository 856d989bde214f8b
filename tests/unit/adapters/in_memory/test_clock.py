# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.in_memory.clock import ManualClock


def test_a_manual_clock_stands_still_until_it_is_advanced():
    clock = ManualClock(monotonic=5, wall=100)
    assert (clock.monotonic(), clock.monotonic()) == (5, 5)
    clock.advance(2.5)
    assert (clock.monotonic(), clock.wall()) == (7.5, 102.5)


def test_only_the_wall_clock_jumps_back():
    clock = ManualClock(monotonic=5, wall=100)
    clock.set_wall(10)
    assert (clock.monotonic(), clock.wall()) == (5, 10)
    with pytest.raises(ValueError, match=r'-1'):
        clock.advance(-1)
    with pytest.raises(ValueError, match='nan'):
        clock.advance(float('nan'))


def test_the_system_clock_does_not_go_back():
    clock = SystemClock()
    first = clock.monotonic()
    assert clock.monotonic() >= first
    assert clock.wall() > 1.7e9
