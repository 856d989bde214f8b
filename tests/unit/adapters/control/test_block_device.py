# SPDX-License-Identifier: Apache-2.0
"""Whether weights act on a disk: said with the device and its scheduler."""

from pathlib import Path

import pytest

from nova_market.adapters.control.block_device import io_cost_devices, why_not
from tests.support.hypervisor.kernel_tree import KernelTree, put


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    put(tmp_path / 'guest.img', '')
    return tmp_path / 'guest.img'


def test_bfq_is_controllable(tmp_path: Path, disk: Path):
    KernelTree(tmp_path).disk_device(disk, 'none mq-deadline [bfq]')
    assert why_not(tmp_path, str(disk)) is None


@pytest.mark.parametrize('line', ['[mq-deadline] bfq', '[none] bfq', 'none'])
def test_another_scheduler_is_named(tmp_path: Path, disk: Path, line: str):
    KernelTree(tmp_path).disk_device(disk, line)
    assert why_not(tmp_path, str(disk)).startswith('not controllable: sda uses ')


def test_io_cost_counts_for_the_device_it_is_enabled_for(tmp_path: Path, disk: Path):
    KernelTree(tmp_path).disk_device(disk, '[none]')
    assert why_not(tmp_path, str(disk), frozenset({'8:0'})) is None
    assert 'or io.cost' in why_not(tmp_path, str(disk), frozenset({'8:16'}))


def test_io_cost_devices_are_those_that_enable_it(tmp_path: Path):
    put(tmp_path / 'io.cost.qos', '8:0 enable=1 ctrl=auto\n8:16 enable=0 ctrl=user\n')
    assert io_cost_devices(tmp_path) == {'8:0'}
    assert io_cost_devices(tmp_path / 'nothing') == frozenset()


@pytest.mark.parametrize(
    ('schedulers', 'controllable'),
    [(('[bfq]', '[bfq]'), True), (('[bfq]', '[none]'), False), (('[none]',), False)],
)
def test_a_stack_is_controllable_when_every_device_under_it_is(
    tmp_path: Path, disk: Path, schedulers: tuple[str, ...], controllable: bool
):
    """Device mapper: `sda1` of the tree is the mapped device, its slaves are whole disks."""
    KernelTree(tmp_path).disk_device(disk, 'unused')
    mapped = tmp_path / 'sys/devices/sda/sda1'
    put(mapped / 'queue/scheduler', 'none\n')
    (mapped / 'slaves').mkdir()
    for number, line in enumerate(schedulers):
        put(tmp_path / f'sys/devices/nvme{number}/queue/scheduler', line)
        (mapped / f'slaves/nvme{number}').symlink_to(tmp_path / f'sys/devices/nvme{number}')
    assert (why_not(tmp_path, str(disk)) is None) is controllable


def test_what_cannot_be_decided_is_reported(tmp_path: Path, disk: Path):
    assert why_not(tmp_path, '') == 'not controllable: a network disk'
    assert 'no single block device' in why_not(tmp_path, str(disk))
    assert 'No such file' in why_not(tmp_path, str(tmp_path / 'vanished'))
