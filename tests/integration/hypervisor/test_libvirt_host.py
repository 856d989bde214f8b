# SPDX-License-Identifier: Apache-2.0
"""libvirt and the kernel as they are: what the contract with the host in memory can't say."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import libvirt
import pytest

from nova_market.adapters.hypervisor.cgroup import CgroupTree
from nova_market.core.host.sample import Guest
from nova_market.errors import HostUnavailable
from tests.support.hypervisor.worlds import (
    LibvirtBed,
    WorldOfLibvirt,
    domain_xml,
    uuid_of,
    wait_for,
)

pytestmark = [
    pytest.mark.integration('libvirtd', 'virtlogd', 'qemu-system-x86_64', 'nsenter', 'losetup'),
]


@pytest.fixture(scope='module')
def bed() -> Iterator[LibvirtBed]:
    made = LibvirtBed()
    yield made
    made.remove()


@pytest.fixture
def world(bed: LibvirtBed) -> Iterator[WorldOfLibvirt]:
    made = WorldOfLibvirt(bed)
    yield made
    made.close()


@pytest.fixture
def loop_device(tmp_path: Path) -> Iterator[str]:
    (tmp_path / 'disk').write_bytes(bytes(8 << 20))
    made = subprocess.run(
        ['losetup', '--find', '--show', str(tmp_path / 'disk')],
        capture_output=True,
        text=True,
        check=True,
    )
    device = made.stdout.strip()
    scheduler = scheduler_of(device)
    before = scheduler.read_text()
    yield device
    scheduler.write_text(before.partition('[')[2].partition(']')[0])
    subprocess.run(['losetup', '--detach', device], check=True)


def scheduler_of(device: str) -> Path:
    return Path('/sys/block') / Path(device).name / 'queue/scheduler'


def guests(world: WorldOfLibvirt) -> dict[str, Guest]:
    return {item.guest.id: item.guest for item in world.driver.sample().guests}


def domain(world: WorldOfLibvirt, number: int) -> libvirt.virDomain:
    return world.nova.lookupByUUIDString(uuid_of(number))


def test_the_kernel_holds_what_is_written_and_so_does_libvirt(world: WorldOfLibvirt):
    world.start(1)
    present = list(guests(world).values())
    assert world.actuators['cpu'].read(present)[uuid_of(1)].controllable
    world.actuators['cpu'].write({uuid_of(1): 333}, present)
    group = world.host.cgroups.locate(present[0], 'cpu')
    name = 'cpu.weight' if group.version == 2 else 'cpu.shares'
    assert (group.scope / name).read_text().split() == ['333']
    assert domain(world, 1).schedulerParameters()['cpu_shares'] == 333


def test_a_weight_that_somebody_else_sets_is_seen(world: WorldOfLibvirt):
    world.start(1)
    present = list(guests(world).values())
    domain(world, 1).setSchedulerParameters({'cpu_shares': 777})
    assert world.actuators['cpu'].read(present)[uuid_of(1)].value == 777


def test_a_paused_guest_stays_in_the_sample_with_its_memory(world: WorldOfLibvirt):
    world.start(1, 'burn')
    world.let_pass(2.0)
    domain(world, 1).suspend()
    first = world.driver.sample().guests[0].counters
    world.let_pass(1.0)
    (second,) = world.driver.sample().guests
    assert second.counters.rss_bytes > 8 << 20
    assert second.counters.cpu_time_ns - first.cpu_time_ns < 0.3e9


def test_a_network_card_plugged_in_later_is_known(world: WorldOfLibvirt):
    world.start(1)
    before = guests(world)[uuid_of(1)]
    card = '<interface type="ethernet"><mac address="52:54:00:00:01:01"/>'
    domain(world, 1).attachDevice(f'{card}<target dev="tapx"/><model type="virtio"/></interface>')
    after = guests(world)[uuid_of(1)]
    assert after.incarnation == before.incarnation
    assert after.interfaces == (*before.interfaces, ('tapx', '52:54:00:00:01:01'))


def test_names_with_quotes_and_markup_do_no_harm(world: WorldOfLibvirt):
    name = 'x&quot;&apos;&lt;/domain&gt;; rm -rf'
    xml = domain_xml(1, world.bed.state / 'idle.img', owner=name).replace('m1.test', name)
    world.nova.createXML(xml)
    found = guests(world)[uuid_of(1)]
    assert found.fallback
    assert found.owner == 'nobody'
    assert found.flavor == 'x"\'</domain>; rm -rf'


def test_a_killed_libvirtd_comes_back_with_the_same_guests(world: WorldOfLibvirt):
    world.start(1, 'burn')
    before = world.driver.sample().guests[0]
    world.nova.close()
    pid = world.bed.libvirtd_pid()
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not cmdline(pid), 10)
    with pytest.raises(HostUnavailable):
        world.driver.sample()
    world.bring_back_hypervisor()
    after = world.driver.sample().guests[0]
    assert after.guest == before.guest
    assert after.counters.cpu_time_ns > before.counters.cpu_time_ns
    present = [after.guest]
    assert world.actuators['cpu'].write({uuid_of(1): 400}, present) == {uuid_of(1): ''}


def test_a_libvirtd_that_hangs_is_given_up_in_bounded_time(world: WorldOfLibvirt):
    """Keep-alive: three misses at five seconds each."""
    world.start(1)
    world.driver.sample()
    world.nova.close()
    pid = world.bed.libvirtd_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        before = time.monotonic()
        with pytest.raises(HostUnavailable):
            world.driver.sample()
        assert time.monotonic() - before < 40
    finally:
        os.kill(pid, signal.SIGCONT)
    world.nova = libvirt.open(world.bed.uri)
    assert set(guests(world)) == {uuid_of(1)}


def test_reconnecting_leaves_no_sockets_behind(world: WorldOfLibvirt):
    world.driver.sample()
    before = len(os.listdir('/proc/self/fd'))
    for _ in range(3):
        world.driver.close()
        world.driver.sample()
    assert len(os.listdir('/proc/self/fd')) <= before


def test_a_disk_weight_acts_where_the_device_is_scheduled_by_bfq(
    world: WorldOfLibvirt, loop_device: str
):
    xml = domain_xml(1, world.bed.state / 'idle.img', 'dora')
    disk = (
        f'<disk type="block" device="disk"><source dev="{loop_device}"/><target dev="vdb"/></disk>'
    )
    start, end = xml.index('<disk'), xml.index('</disk>') + len('</disk>')
    world.nova.createXML(xml[:start] + disk + xml[end:])
    present = list(guests(world).values())
    weights = world.actuators['disk']
    scheduler_of(loop_device).write_text('none')
    assert f'{Path(loop_device).name} uses none' in weights.read(present)[uuid_of(1)].reason
    scheduler_of(loop_device).write_text('bfq')
    assert weights.read(present)[uuid_of(1)].value == 100
    for value in (weights.limits.minimum, weights.limits.maximum, 300):
        assert weights.write({uuid_of(1): value}, present) == {uuid_of(1): ''}
        assert weights.read(present)[uuid_of(1)].value == value


def test_the_version_of_each_controller_is_known():
    tree = CgroupTree()
    assert tree.version('cpu') in (1, 2)
    assert tree.mount('cpu').is_dir()


def cmdline(pid: int) -> bytes:
    try:
        return Path(f'/proc/{pid}/cmdline').read_bytes()
    except OSError:
        return b''
