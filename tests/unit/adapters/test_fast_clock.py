# SPDX-License-Identifier: Apache-2.0
"""A clock that runs faster than the machine's, of which the test turns the hands."""

from nova_market.adapters.clock import FastClock


class Hands:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def test_it_stands_still_until_it_runs() -> None:
    """And again when it is stopped; both its clocks go the same way."""
    source = Hands()
    clock = FastClock(1000.0, source)
    source.now += 10
    assert clock.wall() == 1000.0
    began = clock.monotonic()
    clock.run(60.0)
    source.now += 10
    assert clock.wall() == 1600.0
    assert clock.monotonic() - began == 600.0
    clock.run(0.0)
    source.now += 10
    assert clock.wall() == 1600.0


def test_another_speed_counts_from_now_on() -> None:
    """Nothing jumps, neither back nor ahead."""
    source = Hands()
    clock = FastClock(0.0, source)
    clock.run(10.0)
    source.now += 1
    clock.run(2.0)
    assert clock.wall() == 10.0
    source.now += 1
    assert clock.wall() == 12.0
    clock.advance(100.0)
    assert clock.wall() == 112.0
    assert clock.speed == 2.0
