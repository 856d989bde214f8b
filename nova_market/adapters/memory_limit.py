# SPDX-License-Identifier: Apache-2.0
"""What memory of a guest the kernel spares under pressure: soft limit (cgroup v1) or memory.low (v2).

Takes the place of the RAM soft limit of IFI-2016.04, section IV-E. Units: bytes, whole pages.

Cgroup v1: `soft_limit` through libvirt. Reclaim starts with groups above their soft limit; the default,
UNLIMITED, is never above. Kernels drop it bit by bit, so a value counts only when it reads back.

Cgroup v2: memory.low, written into the group itself, because libvirt has no call for it (its soft_limit is
memory.high, which throttles a guest on an idle host too). A group is protected only as far as all groups
above it are, so the account, the scope and every group above the scope are written: the latter with the
sum of the guests below, unless somebody else has set more. The default, 0, is no protection.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import libvirt

from nova_market.adapters.cgroup import read
from nova_market.adapters.libvirt_host import LibvirtHost
from nova_market.core.host import Control, Guest, Limits
from nova_market.core.quantity import GuestId

LOG = logging.getLogger(__name__)

PAGE = os.sysconf('SC_PAGE_SIZE')

UNLIMITED = (1 << 63) - PAGE
"""How the kernel spells 'no limit' in bytes (PAGE_COUNTER_MAX pages)."""

LIBVIRT_UNLIMITED = (1 << 53) - 1
"""VIR_DOMAIN_MEMORY_PARAM_UNLIMITED in KiB, which the Python binding does not name."""

SOFT_LIMIT = Limits(minimum=0, maximum=UNLIMITED, default=UNLIMITED)
MEMORY_LOW = Limits(minimum=0, maximum=UNLIMITED, default=0)
FILES = {1: 'memory.soft_limit_in_bytes', 2: 'memory.low'}


class MemoryLimit:
    """Implements ports.Actuator."""

    name = 'memory'

    def __init__(self, host: LibvirtHost) -> None:
        self._host = host
        self._ignored = False
        # group above guests -> what we wrote there last
        self._above: dict[Path, int] = {}

    @property
    def limits(self) -> Limits:
        return MEMORY_LOW if self._host.cgroups.tree.version('memory') == 2 else SOFT_LIMIT

    def read(self, guests: Sequence[Guest]) -> Mapping[GuestId, Control]:
        self._host.cgroups.search(guests)
        found = {guest.id: self._read(guest) for guest in guests}
        return {guest_id: control for guest_id, control in found.items() if control is not None}

    def write(
        self, values: Mapping[GuestId, int], guests: Sequence[Guest]
    ) -> Mapping[GuestId, str]:
        self._host.cgroups.search(guests)
        if self._host.cgroups.tree.version('memory') != 2:
            return self._write_soft_limits(values, guests)
        before = self._sums(guests)
        result = dict.fromkeys(values, 'gone')
        for guest in guests:
            if guest.id in values:
                result[guest.id] = self._write_low(guest, values[guest.id])
        self._protect_above(before, self._sums(guests))
        return result

    def close(self) -> None:
        """Nothing of its own to undo: the groups above follow the guests."""

    def _read(self, guest: Guest) -> Control | None:
        if guest.hugepages:
            return Control(reason='backed by huge pages')
        group = self._host.cgroups.locate(guest, 'memory')
        value = _level(group.account / FILES[group.version]) if group else None
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
        kept = _level(group.account / FILES[1])
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
            wrong = _write(directory / FILES[2], value // PAGE * PAGE)
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
            promised = _level(group.scope / FILES[2]) or 0
            for above in group.ancestors():
                sums[above] = sums.get(above, 0) + promised
        return sums

    def _protect_above(self, before: Mapping[Path, int], after: Mapping[Path, int]) -> None:
        for directory, total in after.items():
            there = _level(directory / FILES[2])
            if there is None or there == total:
                continue
            # equal to the sum it had to have: ours, perhaps of a run that crashed
            ours = there in (self._above.get(directory), before.get(directory))
            if total > there or ours:
                wrong = _write(directory / FILES[2], min(total, UNLIMITED))
                if wrong:
                    LOG.warning('guarantees below %s have no effect: %s', directory, wrong)
                else:
                    self._above[directory] = total


def _level(path: Path) -> int | None:
    """The bytes in a control file, 'max' being UNLIMITED; None when it is not there."""
    text = read(path).strip()
    if text == 'max':
        return UNLIMITED
    return int(text) if text.isdigit() else None


def _kib(value: int) -> int:
    if value >= UNLIMITED:
        return LIBVIRT_UNLIMITED
    return value // PAGE * PAGE // 1024


def _write(path: Path, value: int) -> str:
    try:
        # not write_text: a file that is not there must not be made
        with path.open('r+', encoding='ascii') as stream:
            stream.truncate(0)
            stream.write(str(value))
    except OSError as error:
        if not path.parent.exists():
            return 'gone'
        return f'not controllable: {path}: {error.strerror}'
    return ''
