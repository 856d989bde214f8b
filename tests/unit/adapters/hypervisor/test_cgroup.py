# SPDX-License-Identifier: Apache-2.0
"""Finding a guest's control groups in both versions, with and without systemd."""

import shutil
from pathlib import Path

import pytest

from nova_market.adapters.hypervisor.cgroup import (
    MAX_SEARCHES,
    CgroupTree,
    GuestCgroups,
    cpu_time_ns,
    read_number,
    resident_bytes,
)
from nova_market.core.host.sample import Guest
from tests.support.host_builders import guest
from tests.support.hypervisor.kernel_tree import KernelTree, put


def searched(root: Path, *guests: Guest) -> GuestCgroups:
    groups = GuestCgroups(CgroupTree(str(root)))
    groups.search(guests)
    return groups


@pytest.mark.parametrize('systemd', [True, False])
@pytest.mark.parametrize('version', [1, 2])
def test_scope_and_account_of_a_guest(tmp_path: Path, version: int, systemd: bool):
    kernel = KernelTree(tmp_path, version=version, systemd=systemd)
    one, two = guest('u-1', 'dora', domain_id=1), guest('u-2', 'emil', domain_id=10)
    kernel.add(one)
    kernel.add(two)
    groups = searched(tmp_path, one, two)
    for controller in ('cpu', 'memory'):
        found = groups.locate(two, controller)
        assert found is not None
        assert found.version == version
        assert found.scope == kernel.scope(two, controller)
        assert found.account == kernel.account(two, controller)
        assert found.ancestors() == (kernel.slice(controller),)


def test_where_no_controller_is_mounted_there_is_no_group(tmp_path: Path):
    kernel = KernelTree(tmp_path, version=1)
    one = guest('u-1', 'dora')
    kernel.add(one)
    tree = CgroupTree(str(tmp_path))
    assert tree.version('io') is None
    assert tree.mount('io') is None
    assert searched(tmp_path, one).locate(one, 'io') is None


def test_mount_points_with_escaped_characters_are_found(tmp_path: Path):
    put(tmp_path / 'proc/mounts', 'cgroup2 /sys/fs/c\\040group cgroup2 rw 0 0\n')
    put(tmp_path / 'sys/fs/c group/cgroup.controllers', 'cpu\n')
    assert CgroupTree(str(tmp_path)).mount('cpu') == tmp_path / 'sys/fs/c group'


def test_a_process_that_only_claims_to_be_the_guest_is_not_believed(tmp_path: Path):
    """Anybody may run `qemu -uuid ...`; only libvirt puts processes into the guest's group."""
    kernel = KernelTree(tmp_path)
    one = guest('u-1', 'dora')
    kernel.add(one, in_group=False)
    assert searched(tmp_path, one).locate(one, 'cpu') is None


def test_the_group_of_another_incarnation_is_not_taken(tmp_path: Path):
    kernel = KernelTree(tmp_path)
    kernel.add(guest('u-1', 'dora', domain_id=1))
    other = guest('u-1', 'dora', domain_id=11)
    assert searched(tmp_path, other).locate(other, 'cpu') is None


def test_a_group_is_looked_up_once_while_the_guest_runs(tmp_path: Path):
    kernel = KernelTree(tmp_path)
    one = guest('u-1', 'dora')
    pid = kernel.add(one)
    groups = searched(tmp_path, one)
    assert groups.locate(one, 'cpu') is not None
    shutil.rmtree(tmp_path / 'proc' / str(pid))
    assert groups.locate(one, 'cpu') is not None
    groups.keep_only(())
    assert groups.locate(one, 'cpu') is None


def test_a_guest_without_a_process_is_not_searched_for_ever(tmp_path: Path):
    kernel = KernelTree(tmp_path)
    one = guest('u-1', 'dora')
    groups = GuestCgroups(CgroupTree(str(tmp_path)))
    for _ in range(MAX_SEARCHES):
        groups.search([one])
    kernel.add(one)
    groups.search([one])
    assert groups.pid(one) is None
    restarted = guest('u-1', 'dora', domain_id=2)
    kernel.add(restarted)
    groups.search([one, restarted])
    assert groups.pid(restarted) is not None


def test_a_path_outside_of_our_namespace_is_no_group(tmp_path: Path):
    kernel = KernelTree(tmp_path)
    one = guest('u-1', 'dora')
    pid = kernel.add(one)
    put(tmp_path / f'proc/{pid}/cgroup', '0::/../../machine.slice/machine-qemu\\x2d1\\x2du.scope\n')
    assert searched(tmp_path, one).locate(one, 'cpu') is None


def test_resident_memory_of_a_process(tmp_path: Path):
    pid = KernelTree(tmp_path).add(guest('u-1', 'dora'))
    assert resident_bytes(tmp_path, pid) == 2 << 20
    assert resident_bytes(tmp_path, pid + 1) is None


@pytest.mark.parametrize(
    ('text', 'expected'),
    [('100\n', 100), ('default 50\n8:0 70\n', 50), ('max\n', None), ('', None)],
)
def test_numbers_in_control_files(tmp_path: Path, text: str, expected: int | None):
    put(tmp_path / 'file', text)
    assert read_number(tmp_path / 'file') == expected
    assert read_number(tmp_path / 'nothing') is None


@pytest.mark.parametrize(
    ('version', 'file', 'text'),
    [
        (1, 'cpuacct.usage', '7000000000\n'),
        (2, 'cpu.stat', 'usage_usec 7000000\nuser_usec 1\nnr_periods 0\n'),
    ],
)
def test_cpu_time_of_a_guest(tmp_path: Path, version: int, file: str, text: str):
    """That of all its threads; None where the kernel does not show it."""
    kernel = KernelTree(tmp_path, version=version)
    one = guest('u-1', 'dora')
    assert cpu_time_ns(searched(tmp_path, one), one) is None
    kernel.add(one)
    groups = searched(tmp_path, one)
    assert cpu_time_ns(groups, one) is None
    put(kernel.scope(one, 'cpu') / file, text)
    assert cpu_time_ns(groups, one) == 7_000_000_000
