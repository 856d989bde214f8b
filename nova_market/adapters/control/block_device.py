# SPDX-License-Identifier: Apache-2.0
"""Which block device lies under a guest's disk, and whether the kernel schedules it by weight.

Weights act where BFQ is the device's active scheduler, or on cgroup v2 where io.cost is enabled for it.
A stack (partition, device mapper, md) is walked down to every device under it; a network disk, a loop
device or a filesystem without one device (overlay, btrfs, NFS) can't be decided, which is logged.

All kernel paths lie below `root`.
"""

import os
import re
import stat
from pathlib import Path

from nova_market.adapters.hypervisor.cgroup import read

MAX_DEPTH = 8
"""Layers of a device stack that are walked."""


def device_numbers(path: str) -> tuple[int, int]:
    """(major, minor) of the device that is, or holds the filesystem of, `path`.

    :raises OSError: the path is not there.
    """
    status = os.stat(path)
    device = status.st_rdev if stat.S_ISBLK(status.st_mode) else status.st_dev
    return os.major(device), os.minor(device)


def why_not(root: Path, disk: str, io_cost: frozenset[str] | None = None) -> str | None:
    """None when weights act on `disk`, else the reason why they do not.

    io_cost: devices under io.cost as 'major:minor'; None where there is no io.cost (cgroup v1).
    """
    if not disk:
        return 'not controllable: a network disk'
    try:
        major, minor = device_numbers(disk)
    except OSError as error:
        return f'not controllable: {disk}: {error.strerror}'
    device = root / 'sys/dev/block' / f'{major}:{minor}'
    if major == 0 or not device.exists():
        return f'not controllable: {disk} lies on no single block device'
    return _why_not(root, device.resolve(), io_cost, MAX_DEPTH)


def active_scheduler(device: Path) -> str | None:
    """The scheduler in brackets in queue/scheduler; None when the device has none."""
    found = re.search(r'\[([^\]]+)\]', read(device / 'queue/scheduler'))
    return found[1] if found else None


def io_cost_devices(mount: Path) -> frozenset[str]:
    """'major:minor' of the devices under io.cost, from the root group of the hierarchy at `mount`."""
    return frozenset(
        line.split()[0]
        for line in read(mount / 'io.cost.qos').splitlines()
        if re.search(r'\benable=1\b', line)
    )


def _why_not(root: Path, device: Path, io_cost: frozenset[str] | None, depth: int) -> str | None:
    if not (device / 'queue').exists() and (device.parent / 'queue').exists():
        device = device.parent  # a partition
    name = device.name
    scheduler = active_scheduler(device)
    if scheduler == 'bfq':
        return None
    if io_cost and read(device / 'dev').strip() in io_cost:
        return None
    slaves = sorted((device / 'slaves').iterdir()) if (device / 'slaves').is_dir() else []
    if slaves and depth > 0:
        reasons = (_why_not(root, slave.resolve(), io_cost, depth - 1) for slave in slaves)
        return next(filter(None, reasons), None)
    return f'not controllable: {name} uses {scheduler or "no scheduler"}, weights need bfq' + (
        '' if io_cost is None else ' or io.cost'
    )
