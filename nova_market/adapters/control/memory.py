# SPDX-License-Identifier: Apache-2.0
"""What memory of a guest the kernel spares under pressure: soft limit (cgroup v1) or memory.low (v2).

Takes the place of the RAM soft limit of IFI-2016.04, section IV-E. Units: bytes, whole pages.

Cgroup v1: `soft_limit` through libvirt. Reclaim starts with groups above their soft limit; the default,
UNLIMITED, is never above. Kernels drop it bit by bit, so a value counts only when it reads back. It acts
when the whole host is short of memory only, not where a group above the guests reaches a limit.

Memory of a guest can be reclaimed at all where there is swap, or where it lies in files. Elsewhere nothing
is protected from anything, which is reported as not controllable.

Cgroup v2: memory.low, written into the group itself, because libvirt has no call for it (its soft_limit is
memory.high, which throttles a guest on an idle host too). A group is protected only as far as all groups
above it are, so the account, the scope and every group above the scope (slice_guarantee) are written. The
default, 0, is no protection.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import libvirt

from nova_market.adapters.control.memory_slice import (
    PAGE,
    UNLIMITED,
    SliceGuarantees,
    level,
    write_level,
)
from nova_market.adapters.hypervisor.cgroup import read
from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.core.host.sample import Control, Guest, Limits
from nova_market.core.resource import GuestId
from nova_market.ports import StateFile

LIBVIRT_UNLIMITED = (1 << 53) - 1
"""VIR_DOMAIN_MEMORY_PARAM_UNLIMITED in KiB, which the Python binding does not name."""

SOFT_LIMIT = Limits(minimum=0, maximum=UNLIMITED, default=UNLIMITED)
MEMORY_LOW = Limits(minimum=0, maximum=UNLIMITED, default=0)
NO_SWAP = 'not controllable: no swap, so the kernel cannot take memory from guests'
FILES = {1: 'memory.soft_limit_in_bytes', 2: 'memory.low'}


class MemoryLimit:
    """Implements ports.Actuator."""

    name = 'memory'

    def __init__(self, host: LibvirtHost, record: StateFile | None = None) -> None:
        """record: where the originals of groups above guests outlive a crash."""
        self._host = host
        self._ignored = False
        self._above = SliceGuarantees(host.cgroups.tree.root, record)

    @property
    def limits(self) -> Limits:
        return MEMORY_LOW if self._host.cgroups.tree.version('memory') == 2 else SOFT_LIMIT

    def read(self, guests: Sequence[Guest]) -> Mapping[GuestId, Control]:
        self._host.cgroups.search(guests)
        if self._above.active:
            # a guest that left needs no write, its part of the sums does
            self._above.follow(self._sums(guests))
        swap = has_swap(self._host.cgroups.tree.root)
        found = {guest.id: self._read(guest, swap) for guest in guests}
        return {guest_id: control for guest_id, control in found.items() if control is not None}

    def write(
        self, values: Mapping[GuestId, int], guests: Sequence[Guest]
    ) -> Mapping[GuestId, str]:
        self._host.cgroups.search(guests)
        if self._host.cgroups.tree.version('memory') != 2:
            return self._write_soft_limits(values, guests)
        result = dict.fromkeys(values, 'gone')
        for guest in guests:
            if guest.id in values:
                result[guest.id] = self._write_low(guest, values[guest.id])
        self._above.follow(self._sums(guests))
        return result

    def close(self) -> None:
        """Put back what the groups above guests had."""
        self._above.restore()

    def _read(self, guest: Guest, swap: bool) -> Control | None:
        if guest.hugepages:
            return Control(reason='backed by huge pages')
        if not swap and not guest.file_backed:
            return Control(reason=NO_SWAP) if self._host.runs(guest) else None
        group = self._host.cgroups.locate(guest, 'memory')
        value = level(group.account / FILES[group.version]) if group else None
        if value is None:
            missing = FILES.get(
                self._host.cgroups.tree.version('memory') or 0, 'a memory controller'
            )
            found = 'no group on this machine' if group is None else f'its group lacks {missing}'
            return Control(reason=f'not controllable: {found}') if self._host.runs(guest) else None
        if self._ignored:
            return Control(reason=f'not controllable: this kernel ignores {FILES[1]}')
        return Control(value=value)

    def _write_soft_limits(
        self, values: Mapping[GuestId, int], guests: Sequence[Guest]
    ) -> Mapping[GuestId, str]:
        result = dict(
            self._host.tune_all(
                values,
                guests,
                self.limits,
                lambda domain, value: domain.setMemoryParameters(
                    {libvirt.VIR_DOMAIN_MEMORY_SOFT_LIMIT: _kib(value)},
                    libvirt.VIR_DOMAIN_AFFECT_LIVE,
                ),
            )
        )
        for guest in guests:
            if result.get(guest.id) == '':
                result[guest.id] = self._honoured(guest, values[guest.id])
        return result

    def _honoured(self, guest: Guest, value: int) -> str:
        group = self._host.cgroups.locate(guest, 'memory')
        if group is None:
            return 'not controllable: no group on this machine'
        kept = level(group.account / FILES[1])
        if kept is None:
            return 'gone'
        if kept == value // PAGE * PAGE:
            return ''
        self._ignored = True
        return f'{FILES[1]} holds {kept}, not {value}: this kernel ignores it'

    def _write_low(self, guest: Guest, value: int) -> str:
        if guest.hugepages:
            return 'backed by huge pages'
        if not MEMORY_LOW.minimum <= value <= MEMORY_LOW.maximum:
            return f'{value} is not in {MEMORY_LOW.minimum}..{MEMORY_LOW.maximum}'
        group = self._host.cgroups.locate(guest, 'memory')
        if group is None:
            return (
                'not controllable: no group on this machine' if self._host.runs(guest) else 'gone'
            )
        for directory in dict.fromkeys((group.scope, group.account)):
            wrong = write_level(directory / FILES[2], value // PAGE * PAGE)
            if wrong:
                return wrong
        return ''

    def _sums(self, guests: Sequence[Guest]) -> Mapping[Path, int]:
        """What the guests below each group above them are promised in total."""
        sums: dict[Path, int] = {}
        for guest in guests:
            group = self._host.cgroups.locate(guest, 'memory')
            if group is None:
                continue
            promised = level(group.scope / FILES[2]) or 0
            for above in group.ancestors():
                sums[above] = sums.get(above, 0) + promised
        return sums


def has_swap(root: Path) -> bool:
    """Whether the host has swap now; where the kernel does not say it, as if it had."""
    found = re.search(r'^SwapTotal:\s+([0-9]+) kB$', read(root / 'proc/meminfo'), re.MULTILINE)
    return found is None or int(found[1]) > 0


def _kib(value: int) -> int:
    if value >= UNLIMITED:
        return LIBVIRT_UNLIMITED
    return value // PAGE * PAGE // 1024
