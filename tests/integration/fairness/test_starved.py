# SPDX-License-Identifier: Apache-2.0
"""Guests that can hardly run, or not at all, and a libvirtd that hangs: rounds and stops are in time."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nova_market.adapters.control.cpu import FILES
from nova_market.cmd.program import EXIT_LATE
from nova_market.core.exchange.received_allocations import EffectiveAllocations
from nova_market.core.fairness.round import FairnessSettings
from nova_market.core.market.inventory import Allocation
from nova_market.experiments.guests.service_process import ServiceProcess
from nova_market.services.daemon import CLEANUP_TIMEOUT, TICK_TIMEOUT
from nova_market.services.fairness.agent import Agent
from nova_market.testbed.host import UNDISTURBED
from tests.support.hypervisor.lone_agent import lone_agent
from tests.support.hypervisor.worlds import LibvirtBed, WorldOfLibvirt, uuid_of, wait_for

pytestmark = [
    pytest.mark.alone,
    pytest.mark.integration('libvirtd', 'virtlogd', 'qemu-system-x86_64'),
]

SETTINGS = FairnessSettings(resources=('cpu',), policy='market')
PAYING = 3
STARVED = 20


@pytest.fixture(scope='module')
def bed() -> Iterator[LibvirtBed]:
    made = LibvirtBed(UNDISTURBED)
    yield made
    made.remove()


@pytest.fixture
def world(bed: LibvirtBed) -> Iterator[WorldOfLibvirt]:
    made = WorldOfLibvirt(bed)
    yield made
    made.close()


class PaidBy:
    """ports.Allocations: the core is divided among the first guests, and the others are allocated nothing."""

    def __init__(self, paying: int, guests: int) -> None:
        self.confirmed: tuple[str, ...] = ()
        cores = {uuid_of(n): 1 / paying if n < paying else 0.0 for n in range(guests)}
        self._granted = EffectiveAllocations(
            engine='engine1',
            period=7,
            strength=1.0,
            allocations={
                name: Allocation(server_id=name, cores=n, memory_mib=64.0)
                for name, n in cores.items()
            },
        )

    def look(self) -> EffectiveAllocations:
        return self._granted

    def confirm(self, granted, servers, heaviness, enforced=None, use=None) -> None:
        self.confirmed = tuple(servers)


@pytest.fixture
def service(world: WorldOfLibvirt, tmp_path: Path) -> Iterator[ServiceProcess]:
    made = ServiceProcess(
        tmp_path / 'service',
        {
            'fairness': {'interval': 1, 'resources': 'cpu', 'span': 1},
            'host': {'name': 'starved', 'libvirt_uri': world.bed.uri, 'cpus': '0'},
        },
    )
    yield made
    made.stop()


def share_files(world: WorldOfLibvirt, count: int) -> list[Path]:
    """The kernel's files of the CPU shares of the first guests: read without libvirt."""
    guests = [item.guest for item in world.host.sample().guests[:count]]
    world.host.cgroups.search(guests)
    groups = [world.host.cgroups.locate(guest, 'cpu') for guest in guests]
    return [group.scope / FILES[group.version] for group in groups if group]


def shares(files: list[Path]) -> list[int]:
    return [int(file.read_text()) for file in files]


def timed(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """A process that does nothing while this is open."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def status_of(service: ServiceProcess) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        service.command('status', '-f', 'json'),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def starved(world: WorldOfLibvirt, tmp_path: Path) -> tuple[Agent, PaidBy, list[Path]]:
    """Twenty guests that are allocated nothing beside three busy ones that paid; one round was run."""
    for number in range(PAYING + STARVED):
        world.start(number, 'burn' if number < PAYING else 'idle')
    market = PaidBy(PAYING, PAYING + STARVED)
    agent = lone_agent(world, SETTINGS, tmp_path, market)
    files = share_files(world, PAYING + STARVED)
    agent.start()
    agent.round()
    return agent, market, files


def test_twenty_guests_with_the_least_weight(starved: tuple[Agent, PaidBy, list[Path]]):
    """All are confirmed in each round with what they are allocated; a stop gives them their own values."""
    agent, market, files = starved
    assert shares(files) == [341] * PAYING + [13] * STARVED
    for _ in range(5):
        market.confirmed = ()
        agent.round()
        assert len(market.confirmed) == PAYING + STARVED
    agent.stop()
    assert shares(files) == [1024] * (PAYING + STARVED)


@pytest.mark.measured
def test_rounds_with_starved_guests_are_in_time(
    world: WorldOfLibvirt,
    starved: tuple[Agent, PaidBy, list[Path]],
    record_property: Callable[[str, object], None],
):
    """No look waits for all of them, no round for the slowest."""
    agent, _, _ = starved
    looks = [timed(world.host.sample) for _ in range(5)]
    rounds = [timed(agent.round) for _ in range(5)]
    stop = timed(agent.stop)
    figures = {'statistics': max(looks), 'round': max(rounds), 'stop': stop}
    for name, seconds in figures.items():
        record_property(f'{name} s', seconds)
    assert max(looks) < 2.0
    assert max(rounds) < 2.5
    assert stop < CLEANUP_TIMEOUT


def test_a_guest_that_answers_nothing_holds_up_nobody(
    world: WorldOfLibvirt, service: ServiceProcess
):
    """Its QEMU is stopped: rounds go on, the other guests have their values, and lose them at the stop."""
    for number in range(3):
        world.start(number, 'burn', owner=('d', 'd', 'e')[number])
    guests = [item.guest for item in world.host.sample().guests]
    world.host.cgroups.search(guests)
    stuck = world.host.cgroups.pid(guests[0])
    assert stuck is not None
    files = share_files(world, 3)
    with frozen(stuck):
        service.start()
        try:
            wait_for(lambda: shares(files)[2] > 1200, 20)
            before = service.status()['time']
            wait_for(lambda: service.status()['time'] > before + 5, 20)
            assert status_of(service).returncode == 0
        finally:
            stop = timed(service.stop)
        assert stop < TICK_TIMEOUT + CLEANUP_TIMEOUT
        assert shares(files)[1:] == [1024, 1024]
    service.start()
    service.stop()
    assert shares(files) == [1024] * 3


def test_a_libvirtd_that_hangs(world: WorldOfLibvirt, service: ServiceProcess):
    """`status` names the round that hangs, a stop has an end, and the next run restores the values."""
    for number in range(3):
        world.start(number, 'burn', owner=('d', 'd', 'e')[number])
    files = share_files(world, 3)
    service.start()
    wait_for(lambda: shares(files)[2] > 1200, 20)
    with frozen(world.bed.libvirtd_pid()):
        wait_for(lambda: status_of(service).returncode == EXIT_LATE, 30)
        # between two rounds that hang, none is under way
        shown: dict[str, Any] = {}
        wait_for(
            lambda: shown.update(json.loads(status_of(service).stdout)) or shown['under_way'], 40
        )
        assert (shown['running'], shown['late']) == (True, True)
        assert shown['under_way']['phase'] in ('sample', 'apply')
        assert 'the work under way takes too long' in service.log.read_text()
        stop = timed(service.stop)
        assert stop < TICK_TIMEOUT + CLEANUP_TIMEOUT + 5
        assert 'stopped' in service.log.read_text()
    assert json.loads((service.state / 'originals.json').read_text())['guests']
    assert shares(files)[2] > 1200
    service.start()
    service.stop()
    assert shares(files) == [1024] * 3
