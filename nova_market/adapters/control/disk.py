# SPDX-License-Identifier: Apache-2.0
"""Disk weight of guests, where the kernel schedules their disks by weight.

Implements the disk weight of IFI-2016.04, section IV-E. Units: as the kernel has them: BFQ 1..1000,
io.cost 1..10000, default 100.

Differs from the paper: a weight that has no effect (another scheduler, a network disk) is not set but
reported with the reason.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import libvirt

from nova_market.adapters.control.block_device import io_cost_devices, why_not
from nova_market.adapters.hypervisor.cgroup import GuestCgroup, read, read_number
from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.core.host.sample import BFQ_WEIGHT, IO_WEIGHT, Control, Guest, Limits
from nova_market.core.resource import GuestId

CONTROLLERS = {1: 'blkio', 2: 'io'}
FILES = {1: ('blkio.bfq.weight',), 2: ('io.bfq.weight', 'io.weight')}
"""In libvirt's order: it writes to the first that exists."""


class DiskWeight:
    """Implements ports.Actuator."""

    name = 'disk'

    def __init__(self, host: LibvirtHost) -> None:
        self._host = host
        self._root = host.cgroups.tree.root
        self._version = 1 if host.cgroups.tree.version('blkio') == 1 else 2

    @property
    def limits(self) -> Limits:
        """Of io.weight only where the kernel has no BFQ, whose file libvirt prefers."""
        schedulers = (self._root / 'sys/block').glob('*/queue/scheduler')
        bfq = self._version == 1 or any('bfq' in read(path) for path in schedulers)
        return BFQ_WEIGHT if bfq else IO_WEIGHT

    def read(self, guests: Sequence[Guest]) -> Mapping[GuestId, Control]:
        self._host.cgroups.search(guests)
        io_cost = self._io_cost()
        found = {guest.id: self._read(guest, io_cost) for guest in guests}
        return {guest_id: control for guest_id, control in found.items() if control is not None}

    def write(
        self, values: Mapping[GuestId, int], guests: Sequence[Guest]
    ) -> Mapping[GuestId, str]:
        return self._host.tune_all(
            values,
            guests,
            self.limits,
            lambda domain, value: domain.setBlkioParameters(
                {libvirt.VIR_DOMAIN_BLKIO_WEIGHT: value}, libvirt.VIR_DOMAIN_AFFECT_LIVE
            ),
        )

    def close(self) -> None:
        """Nothing of its own to undo."""

    def _read(self, guest: Guest, io_cost: frozenset[str] | None) -> Control | None:
        group = self._host.cgroups.locate(guest, CONTROLLERS[self._version])
        for weight_file in _weight_files(group):
            value = read_number(weight_file)
            if value is not None:
                reason = self._why_not(guest, weight_file, io_cost)
                return Control(value=value) if reason is None else Control(reason=reason)
        if not self._host.runs(guest):
            return None
        return Control(reason='not controllable: the kernel offers no disk weight for its group')

    def _io_cost(self) -> frozenset[str] | None:
        mount = self._host.cgroups.tree.mount('io')
        return None if self._version == 1 or mount is None else io_cost_devices(mount)

    def _why_not(
        self, guest: Guest, weight_file: Path, io_cost: frozenset[str] | None
    ) -> str | None:
        if not guest.disks:
            return 'not controllable: no writable disk'
        # with both files there libvirt writes the BFQ one, which io.cost does not read
        counted = io_cost if weight_file.name == 'io.weight' else None
        reasons = (why_not(self._root, disk, counted) for disk in guest.disks)
        return next(filter(None, reasons), None)


def _weight_files(group: GuestCgroup | None) -> tuple[Path, ...]:
    return tuple(group.scope / name for name in FILES[group.version]) if group else ()
