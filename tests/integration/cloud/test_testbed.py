# SPDX-License-Identifier: Apache-2.0
"""The test bed itself: a host with real guests, what they obey, and that nothing stays behind."""

import secrets
import time
from collections.abc import Iterator

import pytest

from nova_market.testbed.guest import Disk, Guest, GuestFailed, GuestSpec
from nova_market.testbed.host import Host, HostFailed, script
from tests.integration.cloud.left_behind import left_behind

pytestmark = [
    pytest.mark.integration(
        'libvirtd', 'virtlogd', 'virsh', 'qemu-system-x86_64', 'busybox', 'cpio'
    ),
]


@pytest.fixture(scope='module')
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with Host('bed', cpus='0', memory_mib=1024, state=tmp_path_factory.mktemp('bed')) as host:
        yield host


@pytest.fixture(scope='module')
def two_guests(host: Host) -> tuple[Guest, Guest]:
    d = host.boot(GuestSpec(name='d1', project='dora', disks=(Disk(size_mib=8),)))
    e = host.boot(GuestSpec(name='e1', project='emil', extra_specs={'quota:cpu_shares': '512'}))
    return d, e


def cpu_seconds(guest: Guest) -> float:
    """As the kernel counts it in the guest's cgroup, of either version."""
    directory = guest.cgroup_path('cpuacct')
    usage = directory / 'cpuacct.usage'
    if usage.exists():
        return int(usage.read_text()) / 1e9
    return int((directory / 'cpu.stat').read_text().split()[1]) / 1e6


def cpu_rate(guest: Guest, seconds: float = 3.0) -> float:
    before, began = cpu_seconds(guest), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(guest) - before) / (time.monotonic() - began)


def test_burn_and_idle_show_in_the_cgroup(two_guests: tuple[Guest, Guest]) -> None:
    """One guest burns and the other does not; after idle neither does."""
    d, e = two_guests
    d.order('burn 1')
    assert cpu_rate(d) > 10 * cpu_rate(e)
    d.order('idle')
    assert cpu_rate(d) < 0.1


def test_a_disk_load_reaches_the_disk(two_guests: tuple[Guest, Guest]) -> None:
    """libvirt counts the bytes that the guest says it has read, at the size it was told."""
    d, _ = two_guests
    d.order('disk read 4096')
    time.sleep(6)
    d.order('idle')
    time.sleep(6)
    lines = dict(line.split()[1:3] for line in d.host.virsh('domblkstat', 'd1', 'vda').splitlines())
    read, requests = int(lines['rd_bytes']), int(lines['rd_req'])
    assert read >= d.progress()['disk'] > 1 << 20
    assert read / requests == pytest.approx(4096, rel=0.05)


def test_an_order_that_makes_no_sense_is_refused(two_guests: tuple[Guest, Guest]) -> None:
    d, _ = two_guests
    with pytest.raises(GuestFailed, match='no multiple of 512'):
        d.order('disk read 100')


def test_the_metadata_is_nova_s(host: Host, two_guests: tuple[Guest, Guest]) -> None:
    """Owner and extra specs are where Nova puts them."""
    uri = 'http://openstack.org/xmlns/libvirt/nova/1.1'
    assert '<project uuid="emil">' in host.virsh('metadata', 'e1', uri)
    assert '<extraSpec name="quota:cpu_shares">512<' in host.virsh('metadata', 'e1', uri)


def test_libvirt_sees_only_its_own_host(host: Host) -> None:
    """The memory is the one asked for, the name the host's, and starting it again changes nothing."""
    holder = host.pid
    host.start()
    assert host.pid == holder
    assert 'Memory size: 1048576 KiB' in ' '.join(host.virsh('nodeinfo').split())
    assert host.run('hostname') == 'bed'


def test_a_command_that_fails_says_why(host: Host) -> None:
    with pytest.raises(HostFailed, match='no-such-guest'):
        host.virsh('start', 'no-such-guest')
    with pytest.raises(HostFailed, match=r'--cpus 4096.*online'):
        Host('other', cpus='4096', memory_mib=64, state=host.state).start()


def test_stop_leaves_nothing_behind(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A host with a cable, a running guest and a foreign process inside ends without a trace."""
    # not tmp_path, which has the name of the test in it: too long for unix sockets
    state = tmp_path_factory.mktemp('gone')
    bridge = f'nm{secrets.token_hex(4)}'
    host = Host('gone', '0', 512, state, options=('--cable', f'{bridge}=eth0=10.253.0.1/24'))
    # of this host alone: one that an interrupted run has left may have the same name
    group = script('host', 'cgroup', '--state', str(state), 'gone')
    with host:
        host.boot(GuestSpec(name='g', project='p'))
        script('host', 'daemon', '--state', str(state), 'gone', 'sleeper', 'sleep', '600')
        assert '10.253.0.1/24' in host.run('ip', '-o', 'addr', 'show', 'eth0')
        assert left_behind(group)
        assert left_behind(bridge)
    assert left_behind(group) == []
    assert left_behind(bridge) == []
    assert left_behind(str(state)) == []
    host.stop()
