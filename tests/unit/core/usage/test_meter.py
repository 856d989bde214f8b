# SPDX-License-Identifier: Apache-2.0
"""U1: a host's meter counts everything once, in the minute in which it was used, whatever the clock does."""

import itertools

import pytest

from nova_market.core.usage.meter import MOST_WAITING, PATIENCE, UsageMeter
from tests.support.host_builders import MIB, guest, sample

A = guest('a', 'red')
B = guest('b', 'red')
BEGIN = 1_700_000_040
"""A minute begins."""


class World:
    """A host whose guests use half a core each, looked at every ten seconds."""

    def __init__(self, wall=BEGIN):
        self.time, self.wall, self.meter = 100.0, float(wall), UsageMeter()

    def look(self, seconds=10.0, *guests, wall=None, **counters):
        self.time += seconds
        self.wall = self.wall + seconds if wall is None else wall
        busy = [(one, self.time / 2) for one in guests or (A,)]
        self.meter.take(sample(self.time, *busy, **counters), self.wall)

    def minutes(self):
        found = []
        while (one := self.meter.oldest()) is not None:
            found.append(one)
            self.meter.sent(one)
        return found


def test_a_minute_holds_what_was_used_in_it():
    """Looks that do not fall on its ends are divided by time."""
    world = World(BEGIN + 3)
    for _ in range(13):
        world.look()
    first, second = world.minutes()
    assert (first.at, second.at) == (BEGIN, BEGIN + 60)
    assert second.servers['a'].seconds == 60
    assert second.servers['a'].core_ms == pytest.approx(30_000, abs=1)
    assert second.servers['a'].memory_mib_seconds == 64 * 60
    assert second.servers['a'].memory_mib_max == 64
    # the first look is the beginning: nothing is known of before
    assert first.servers['a'].seconds == 47


def test_disks_and_network_are_counted_in_both_directions():
    world = World()
    world.look(disk_read_bytes=0)
    world.look(
        disk_read_bytes=100, disk_write_bytes=20, disk_read_ops=3, disk_write_ops=4,
        net_rx_bytes=1000, net_tx_bytes=500,
    )  # fmt: skip
    world.look(50.0, disk_read_bytes=100, disk_write_bytes=20, net_rx_bytes=1000, net_tx_bytes=500)
    found = world.minutes()[0].servers['a']
    assert (found.disk_bytes, found.disk_operations, found.network_bytes) == (120, 7, 1500)


def test_a_guest_that_starts_anew_counts_from_its_second_look():
    """Its counters begin at 0: what the old incarnation used since its last look is not known."""
    world = World()
    world.look()
    world.look(10.0, guest('a', 'red', domain_id=2))
    world.look(50.0, guest('a', 'red', domain_id=2))
    assert world.minutes()[0].servers['a'].seconds == 40


def test_what_is_sent_is_not_sent_again_and_what_waits_is_bounded():
    world = World()
    for _ in range(6 * (MOST_WAITING + 5)):
        world.look()
    found = world.minutes()
    assert len(found) == MOST_WAITING
    assert [b.at - a.at for a, b in itertools.pairwise(found)] == [60] * (len(found) - 1)
    assert world.meter.oldest() is None


def test_a_clock_set_back_a_little_leaves_the_minute_open():
    """All that was used counts, and no minute is sent twice."""
    world = World()
    for _ in range(9):
        world.look()
    world.look(10.0, wall=world.wall - 45)
    for _ in range(12):
        world.look()
    found = world.minutes()
    assert [one.at for one in found] == [BEGIN, BEGIN + 60]
    assert sum(one.servers['a'].seconds for one in found) == 50 + 115
    assert found[1].servers['a'].cores == pytest.approx(0.5, abs=0.001)


def test_a_clock_set_back_for_long_is_believed():
    world = World()
    world.look()
    world.look(10.0, wall=BEGIN - 2 * PATIENCE)
    for _ in range(6):
        world.look()
    assert [one.at for one in world.minutes()] == [BEGIN, BEGIN - 2 * PATIENCE]


def test_a_counter_that_falls_counts_as_nothing():
    world = World()
    world.look(net_rx_bytes=10 * MIB)
    world.look(net_rx_bytes=0)
    world.look(50.0, net_rx_bytes=7)
    assert world.minutes()[0].servers['a'].network_bytes <= 7


def test_several_guests_and_none():
    world = World()
    world.look(10.0, A, B)
    world.look(60.0, A, B)
    assert set(world.minutes()[0].servers) == {'a', 'b'}
    silent = UsageMeter()
    for step in range(20):
        silent.take(sample(step * 10.0), BEGIN + step * 10.0)
    assert silent.oldest() is None
