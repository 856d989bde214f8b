# SPDX-License-Identifier: Apache-2.0
"""What is read and written where, on a cgroup v2 host above all, as a tree of files.

CPU and disk weights are written by libvirt, whose test driver keeps no control groups: those writes are
proven on real guests (tests/integration). memory.low is written by us.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import libvirt
import pytest

from nova_market.adapters.control.cpu import CpuShares
from nova_market.adapters.control.disk import DiskWeight
from nova_market.adapters.control.memory import MEMORY_LOW, SOFT_LIMIT, MemoryLimit
from nova_market.adapters.control.memory_slice import PAGE, UNLIMITED
from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.core.host.sample import (
    BFQ_WEIGHT,
    CPU_SHARES_V1,
    CPU_WEIGHT_V2,
    IO_WEIGHT,
    Control,
    Guest,
)
from tests.support.hypervisor.kernel_tree import KernelTree, put
from tests.unit.adapters.conftest import guests_of, start_domain, uuid_of

MakeHost = Callable[[Path], LibvirtHost]


def populate(
    kernel: KernelTree, make_host: MakeHost, count: int = 2, **about
) -> tuple[LibvirtHost, tuple[Guest, ...]]:
    host = make_host(kernel.root)
    for number in range(count):
        start_domain(host, number, **about)
    guests = guests_of(host)
    for one in guests:
        kernel.add(one)
    return host, guests


def low(directory: Path) -> str:
    return (directory / 'memory.low').read_text()


def test_ranges_are_those_of_the_version(tmp_path: Path, make_host: MakeHost):
    KernelTree(tmp_path / '1', version=1)
    KernelTree(tmp_path / '2', version=2)
    old, new = make_host(tmp_path / '1'), make_host(tmp_path / '2')
    assert (CpuShares(old).limits, CpuShares(new).limits) == (CPU_SHARES_V1, CPU_WEIGHT_V2)
    assert (MemoryLimit(old).limits, MemoryLimit(new).limits) == (SOFT_LIMIT, MEMORY_LOW)
    assert (DiskWeight(old).limits, DiskWeight(new).limits) == (BFQ_WEIGHT, IO_WEIGHT)
    put(tmp_path / '2/sys/block/sda/queue/scheduler', '[none] bfq')
    assert DiskWeight(new).limits == BFQ_WEIGHT


@pytest.mark.parametrize(('version', 'expected'), [(1, 1024), (2, 100)])
def test_cpu_weights_are_read_from_the_scope(
    tmp_path: Path, make_host: MakeHost, version: int, expected: int
):
    host, guests = populate(KernelTree(tmp_path, version=version), make_host)
    assert CpuShares(host).read(guests) == {one.id: Control(value=expected) for one in guests}


def test_cpu_weight_of_a_pinned_guest_is_left_alone(tmp_path: Path, make_host: MakeHost):
    host, guests = populate(
        KernelTree(tmp_path), make_host, 1, extra_specs={'hw:cpu_policy': 'dedicated'}
    )
    assert CpuShares(host).read(guests)[guests[0].id].reason == 'pinned or realtime'


def test_a_value_outside_of_the_range_is_not_written(tmp_path: Path, make_host: MakeHost):
    host, guests = populate(KernelTree(tmp_path), make_host, 1)
    for actuator in (CpuShares(host), MemoryLimit(host), DiskWeight(host)):
        assert 'is not in' in actuator.write({guests[0].id: -1}, guests)[guests[0].id]


@pytest.mark.parametrize('version', [1, 2])
def test_a_cpu_weight_is_raised_while_libvirt_waits(
    tmp_path: Path, make_host: MakeHost, monkeypatch: pytest.MonkeyPatch, version: int
):
    """The emulator for which it waits may have no CPU to answer with. Nothing is lowered so."""
    kernel = KernelTree(tmp_path, version=version)
    host, guests = populate(kernel, make_host, 3)
    waiting = (libvirt.VIR_DOMAIN_CONTROL_OCCUPIED, 0, 7000)
    monkeypatch.setattr(libvirt.virDomain, 'controlInfo', lambda domain: waiting)
    cpu = CpuShares(host)
    now, most = cpu.limits.default, cpu.limits.maximum
    values = dict(zip((one.id for one in guests), (now + 1, now - 1, most + 1), strict=True))
    outcome = cpu.write(values, guests)
    assert all(outcome[one.id] for one in guests)
    assert [cpu.read(guests)[one.id].value for one in guests] == [now + 1, now, now]


@pytest.mark.parametrize('systemd', [True, False])
def test_memory_is_guaranteed_along_the_whole_path(
    tmp_path: Path, make_host: MakeHost, systemd: bool
):
    """The kernel protects a group only as far as every group above it is protected."""
    kernel = KernelTree(tmp_path, systemd=systemd)
    host, guests = populate(kernel, make_host)
    memory = MemoryLimit(host)
    values = {guests[0].id: 64 << 20, guests[1].id: (32 << 20) + 1}
    assert memory.write(values, guests) == {one.id: '' for one in guests}
    for one, value in zip(guests, (64 << 20, 32 << 20), strict=True):
        assert low(kernel.scope(one, 'memory')) == low(kernel.account(one, 'memory')) == str(value)
        assert memory.read(guests)[one.id].value == value
    assert low(kernel.slice('memory')) == str(96 << 20)


def test_memory_on_huge_pages_is_left_alone(tmp_path: Path, make_host: MakeHost):
    host, guests = populate(KernelTree(tmp_path), make_host, 1, hugepages=True)
    memory = MemoryLimit(host)
    assert memory.read(guests)[guests[0].id].reason == 'backed by huge pages'
    assert memory.write({guests[0].id: PAGE}, guests) == {guests[0].id: 'backed by huge pages'}


@pytest.mark.parametrize(
    ('swap', 'files', 'controllable'),
    [('0', False, False), ('0', True, True), ('4194300', False, True)],
)
@pytest.mark.parametrize('version', [1, 2])
def test_memory_that_cannot_be_reclaimed_is_not_controllable(
    tmp_path: Path, make_host: MakeHost, version: int, swap: str, files: bool, controllable: bool
):
    kernel = KernelTree(tmp_path, version=version)
    put(tmp_path / 'proc/meminfo', f'MemTotal:  8000000 kB\nSwapTotal: {swap} kB\n')
    host, guests = populate(kernel, make_host, 1)
    found = MemoryLimit(host).read([replace(guests[0], file_backed=files)])[guests[0].id]
    assert found.controllable == controllable
    assert controllable or 'no swap' in found.reason


def test_without_the_memory_controller_the_reason_is_reported(tmp_path: Path, make_host: MakeHost):
    kernel = KernelTree(tmp_path)
    host, guests = populate(kernel, make_host, 1)
    (kernel.account(guests[0], 'memory') / 'memory.low').unlink()
    memory = MemoryLimit(host)
    assert 'lacks memory.low' in memory.read(guests)[guests[0].id].reason
    assert 'not controllable' in memory.write({guests[0].id: PAGE}, guests)[guests[0].id]


def test_a_kernel_that_ignores_the_soft_limit_is_found_out(tmp_path: Path, make_host: MakeHost):
    """The file of the tree keeps its content whatever libvirt is told, as an inert kernel would."""
    host, guests = populate(KernelTree(tmp_path, version=1), make_host, 1)
    memory = MemoryLimit(host)
    assert memory.read(guests)[guests[0].id].value == UNLIMITED == SOFT_LIMIT.default
    assert 'ignores it' in memory.write({guests[0].id: 64 << 20}, guests)[guests[0].id]
    assert 'this kernel ignores' in memory.read(guests)[guests[0].id].reason


@pytest.mark.parametrize(
    ('version', 'bfq', 'scheduler', 'value'),
    [
        (1, True, '[bfq] none', 100),
        (1, True, '[none] bfq', None),
        (2, True, '[bfq] none', 100),
        (2, False, '[mq-deadline] none', None),
    ],
)
def test_disk_weights_are_read_where_they_act(
    tmp_path: Path, make_host: MakeHost, version: int, bfq: bool, scheduler: str, value: int | None
):
    kernel = KernelTree(tmp_path, version=version, bfq=bfq)
    kernel.disk_device(tmp_path, scheduler)
    host, guests = populate(kernel, make_host, 1, disk=str(tmp_path / 'node.xml'))
    control = DiskWeight(host).read(guests)[guests[0].id]
    assert control.value == value
    assert control.controllable is (value is not None)


@pytest.mark.parametrize(('bfq', 'controllable'), [(False, True), (True, False)])
def test_io_cost_counts_only_where_libvirt_writes_io_weight(
    tmp_path: Path, make_host: MakeHost, bfq: bool, controllable: bool
):
    kernel = KernelTree(tmp_path, bfq=bfq)
    kernel.disk_device(tmp_path, '[none]')
    put(tmp_path / 'sys/fs/cgroup/io.cost.qos', '8:0 enable=1 ctrl=auto\n')
    host, guests = populate(kernel, make_host, 1, disk=str(tmp_path / 'node.xml'))
    assert DiskWeight(host).read(guests)[guests[0].id].controllable is controllable


def test_a_guest_without_a_disk_has_no_disk_weight(tmp_path: Path, make_host: MakeHost):
    host, guests = populate(KernelTree(tmp_path, version=1), make_host, 1)
    assert (
        DiskWeight(host).read(guests)[guests[0].id].reason == 'not controllable: no writable disk'
    )


def test_a_guest_that_vanishes_between_sample_and_write_is_gone(
    tmp_path: Path, make_host: MakeHost
):
    kernel = KernelTree(tmp_path)
    host, guests = populate(kernel, make_host, 1)
    host.link.connection().lookupByUUIDString(uuid_of(0)).destroy()
    for name in ('scope', 'account'):
        for file in getattr(kernel, name)(guests[0], 'memory').glob('*.*'):
            file.unlink()
    for actuator in (CpuShares(host), MemoryLimit(host), DiskWeight(host)):
        assert actuator.read(guests) == {}
    for actuator in (CpuShares(host), DiskWeight(host)):
        assert actuator.write({guests[0].id: 200}, guests) == {guests[0].id: 'gone'}


def test_two_hundred_guests_at_once_are_found_and_written(tmp_path: Path, make_host: MakeHost):
    kernel = KernelTree(tmp_path)
    host, guests = populate(kernel, make_host, 200)
    values = {one.id: PAGE for one in guests}
    assert MemoryLimit(host).write(values, guests) == dict.fromkeys(values, '')
    assert len(CpuShares(host).read(guests)) == 200
    assert low(kernel.slice('memory')) == str(200 * PAGE)
