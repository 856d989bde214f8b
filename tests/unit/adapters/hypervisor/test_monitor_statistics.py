# SPDX-License-Identifier: Apache-2.0
"""What only QEMU's monitor knows is read beside the round, and a reading that hangs is left."""

import threading

import libvirt
import pytest

from nova_market.adapters.hypervisor.monitor_statistics import (
    HANGS,
    MOST_HANGING,
    MonitorStatistics,
)
from nova_market.adapters.in_memory.clock import ManualClock
from tests.support.hypervisor.worlds import wait_for

KEY = ('u-1', 1)


class Domain:
    def UUIDString(self):  # noqa: N802
        return KEY[0]

    def ID(self):  # noqa: N802
        return KEY[1]


class Libvirtd:
    """libvirt as far as it is asked; `gate` keeps answers back."""

    def __init__(self):
        self.gate = threading.Event()
        self.gate.set()
        self.asked = 0
        self.closed = 0
        self.answer = {'block.0.rd.bytes': 1}

    def getAllDomainStats(self, wanted, scope):  # noqa: N802
        assert scope & libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT
        gate, answer = self.gate, self.answer
        self.asked += 1
        gate.wait(20)
        return [(Domain(), answer)]

    def setKeepAlive(self, *times):  # noqa: N802
        pass

    def close(self):
        self.closed += 1


@pytest.fixture
def libvirtd(monkeypatch):
    made = Libvirtd()
    monkeypatch.setattr(libvirt, 'open', lambda uri: made)
    yield made
    made.gate.set()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def monitors(clock, libvirtd):
    return MonitorStatistics('qemu:///system', clock)


def read(monitors, patience=10.0):
    """Statistics of each guest."""
    return {key: reading.statistics for key, reading in monitors.newest(patience).items()}


def test_what_arrives_in_time_counts_at_once(monitors, libvirtd):
    monitors.begin(kernel=True)
    assert read(monitors) == {KEY: libvirtd.answer}


def test_what_is_late_counts_later(monitors, libvirtd, caplog):
    """One reading at a time: the round goes on with what it had, and the next one has the rest."""
    monitors.begin(kernel=True)
    first = read(monitors)
    libvirtd.answer = {'block.0.rd.bytes': 2}
    libvirtd.gate.clear()
    for _ in range(3):
        monitors.begin(kernel=True)
        assert read(monitors, 0.05) == first
    assert libvirtd.asked == 2
    assert caplog.text.count('guests answer late') == 1
    libvirtd.gate.set()
    assert read(monitors) == {KEY: {'block.0.rd.bytes': 2}}


def test_the_time_of_a_reading_is_that_of_its_disks(monitors, libvirtd, clock):
    """When they arrived; not when others were late, or the guest was left out."""
    monitors.begin(kernel=True)
    first = monitors.newest(10.0)[KEY].disks_at
    assert first == clock.monotonic()
    clock.advance(5.0)
    assert monitors.newest(10.0)[KEY].disks_at == first
    libvirtd.answer = {'block.count': 1}
    monitors.begin(kernel=True)
    assert monitors.newest(10.0)[KEY].disks_at == first
    libvirtd.answer = {'block.0.rd.bytes': 2}
    monitors.begin(kernel=True)
    assert monitors.newest(10.0)[KEY].disks_at == first + 5.0


def test_a_reading_that_hangs_is_left_and_few_may_hang(monitors, libvirtd, clock):
    """libvirtd has so many threads only."""
    libvirtd.gate.clear()
    for _ in range(MOST_HANGING + 3):
        monitors.begin(kernel=True)
        monitors.newest(0.05)
        clock.advance(HANGS + 1)
    assert libvirtd.asked == MOST_HANGING


def test_a_guest_that_was_left_out_keeps_what_is_known(monitors, libvirtd):
    """NOWAIT: a busy guest is named without its disks; one that has gone is forgotten."""
    monitors.begin(kernel=True)
    monitors.newest(10.0)
    libvirtd.answer = {'block.count': 1}
    monitors.begin(kernel=True)
    assert read(monitors) == {KEY: {'block.0.rd.bytes': 1, 'block.count': 1}}


def test_a_reading_that_hung_replaces_nothing_newer(monitors, libvirtd, clock):
    """Counters that go back would look like new ones, and all that a guest ever read like one interval's."""
    hung = libvirtd.gate = threading.Event()
    monitors.begin(kernel=True)
    wait_for(lambda: libvirtd.asked, 10.0)
    clock.advance(HANGS + 1)
    libvirtd.gate, libvirtd.answer = threading.Event(), {'block.0.rd.bytes': 9}
    libvirtd.gate.set()
    monitors.begin(kernel=True)
    assert read(monitors) == {KEY: {'block.0.rd.bytes': 9}}
    hung.set()
    wait_for(lambda: libvirtd.closed, 10.0)
    assert read(monitors) == {KEY: {'block.0.rd.bytes': 9}}


def test_what_is_read_while_it_is_closed_is_forgotten(monitors, libvirtd):
    """The reading of a libvirtd before: its connection is closed too."""
    libvirtd.gate.clear()
    monitors.begin(kernel=True)
    wait_for(lambda: libvirtd.asked, 10.0)
    monitors.close()
    libvirtd.gate.set()
    assert read(monitors) == {}
    assert libvirtd.closed == 1
