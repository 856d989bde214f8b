# SPDX-License-Identifier: Apache-2.0
"""Disk weights on real guests whose disk is the bottleneck: what they do, and where the service says no."""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nova_market.adapters.control.disk import DiskWeight
from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.adapters.hypervisor.supply import SupplySettings
from nova_market.core.host.sample import Guest
from nova_market.experiments.guests.observer import Observer
from nova_market.testbed.guest import Disk, GuestSpec
from nova_market.testbed.guest import Guest as Machine
from nova_market.testbed.host import Host
from nova_market.testbed.slow_disk import SlowDisk

pytestmark = [
    pytest.mark.alone,
    pytest.mark.integration(
        'libvirtd', 'virtlogd', 'virsh', 'qemu-system-x86_64', 'busybox', 'cpio',
        'losetup', 'mkfs.ext4', 'qemu-storage-daemon',
    ),
]  # fmt: skip

LOG = logging.getLogger(__name__)

NAMES = ('k1', 'k2')
BYTES_PER_S = 8 << 20
"""Of the disk; a guest under emulation reads several times as much when it is alone on a CPU."""

READERS = 3
"""Processes of a guest. More wait for their CPU under emulation."""

LEAST_RATIO = 1.6
"""At weights of 1:4. Measured were 1.5 to 4.4 for reads, where an emulated reader does not always have a
request waiting, and 3.5 to 6.1 for writes."""

SETTLED = 3.0
MEASURED = 10.0


@pytest.fixture(scope='module')
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlowDisk]:
    with SlowDisk(tmp_path_factory.mktemp('disk'), 400, BYTES_PER_S) as made:
        yield made


@pytest.fixture(scope='module')
def bed(disk: SlowDisk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with Host('disk', '0-1', 2048, tmp_path_factory.mktemp('bed')) as made:
        yield made


@pytest.fixture(scope='module')
def machines(bed: Host, disk: SlowDisk) -> dict[str, Machine]:
    return {
        name: bed.boot(
            GuestSpec(
                name=name,
                project=name,
                disks=(Disk(size_mib=64, path=disk.directory / f'{name}.raw'),),
            )
        )
        for name in NAMES
    }


@pytest.fixture
def host(bed: Host, machines: dict[str, Machine]) -> Iterator[LibvirtHost]:
    made = LibvirtHost(bed.uri, SupplySettings(), 'nobody')
    yield made
    made.close()


def guests(host: LibvirtHost) -> dict[str, Guest]:
    return {item.guest.name: item.guest for item in host.sample().guests}


def rates(bed: Host) -> dict[str, float]:
    """MiB/s of each guest."""
    observer = Observer({'a': bed.uri})
    observer.look(0.0)
    time.sleep(MEASURED)
    row = observer.look(MEASURED)
    observer.close()
    return {name: row[f'{name}.disk'] / (1 << 20) for name in NAMES}


def weigh(disk: SlowDisk, host: LibvirtHost, ratio: int) -> bool:
    """Give the first guest the weight 100 and the second `ratio` times as much; both are read back.

    False where the kernel has no BFQ: then the service says that weights do not act.
    """
    weights, present = DiskWeight(host), guests(host)
    everyone = list(present.values())
    found = weights.read(everyone)
    if disk.scheduler != 'bfq':
        assert 'weights need bfq' in found[present['k1'].id].reason
        return False
    assert [found[present[name].id].reason for name in NAMES] == ['', '']
    wanted = {present['k1'].id: 100, present['k2'].id: 100 * ratio}
    assert set(weights.write(wanted, everyone).values()) == {''}
    assert {key: control.value for key, control in weights.read(everyone).items()} == wanted
    return True


@pytest.mark.parametrize('ratio', [4, 1])
def test_weights_are_those_of_the_kernel(
    disk: SlowDisk, host: LibvirtHost, machines: dict[str, Machine], ratio: int
):
    """What was written is read back, and stands in the file by which BFQ divides the disk."""
    if weigh(disk, host, ratio):
        assert [bfq_weight(machines[name]) for name in NAMES] == [100, 100 * ratio]


def bfq_weight(machine: Machine) -> int:
    """Of a guest's control group; under version 2 of control groups the file may begin with a word."""
    for controller in ('blkio', 'io'):
        path = machine.cgroup_path(controller) / f'{controller}.bfq.weight'
        if path.exists():
            return int(path.read_text().split()[-1])
    raise AssertionError('no file of BFQ in the control group of the guest')


@pytest.mark.measured
@pytest.mark.parametrize('way', ['read', 'write'])
@pytest.mark.parametrize('ratio', [1, 4])
def test_guests_get_the_disk_by_their_weights(
    bed: Host,
    disk: SlowDisk,
    machines: dict[str, Machine],
    host: LibvirtHost,
    ratio: int,
    way: str,
    record_property: Callable[[str, object], None],
):
    """Equal weights divide the disk in half, 1:4 by more than LEAST_RATIO; or it is not controllable."""
    if not weigh(disk, host, ratio):
        return
    for machine in machines.values():
        for _ in range(READERS):
            machine.order(f'disk {way} 65536')
    time.sleep(SETTLED)
    got = rates(bed)
    for machine in machines.values():
        machine.order('idle')
    LOG.info('%s at 1:%d: %s MiB/s', way, ratio, got)
    record_property('ratio', got['k2'] / got['k1'])
    if ratio == 1:
        assert got['k2'] / got['k1'] == pytest.approx(1.0, abs=0.2)
    else:
        assert got['k2'] / got['k1'] > LEAST_RATIO


def test_what_is_not_known_of_a_disk_is_no_rate(bed: Host, machines: dict[str, Machine]):
    """A guest whose emulator does not answer has none, then one of the whole time since its last answer."""
    machines['k1'].order('disk write 65536')
    observer = Observer({'a': bed.uri})
    observer.look(0.0)
    os.kill(machines['k1'].pid, signal.SIGSTOP)
    try:
        late = observer.look(1.0)
    finally:
        os.kill(machines['k1'].pid, signal.SIGCONT)
    assert 'k1.disk' not in late and late['k1.cpu'] >= 0
    assert observer.look(2.0)['k1.disk'] > 0
    observer.close()
    machines['k1'].order('idle')


def test_under_another_scheduler_the_service_says_that_weights_do_not_act(
    disk: SlowDisk, machines: dict[str, Machine], host: LibvirtHost
):
    before = disk.scheduler
    disk.schedule('none')
    try:
        present = guests(host)
        found = DiskWeight(host).read(list(present.values()))[present['k1'].id]
    finally:
        disk.schedule(before)
    device = Path(disk.device).name
    assert found.reason == f'not controllable: {device} uses none, weights need bfq'
