# SPDX-License-Identifier: Apache-2.0
"""memory.low of the groups above guests (machine.slice): as much as the guests below are promised.

The kernel protects a group only as far as every group above it is protected. Such a group belongs to the
operator: it never gets less than was found in it, what was found is recorded before the first write, and
it is written back when the guests below need no more, or when the service stops.

Implements rule H9 of doc/source/specs/fairness.rst.

Units: bytes, whole pages. Cgroup v2 only.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from nova_market.adapters.hypervisor.cgroup import read
from nova_market.outage_log import OutageLog
from nova_market.ports import StateFile

LOG = logging.getLogger(__name__)

PAGE = os.sysconf('SC_PAGE_SIZE')

UNLIMITED = (1 << 63) - PAGE
"""How the kernel spells 'no limit' in bytes (PAGE_COUNTER_MAX pages)."""

FILE = 'memory.low'
FORMAT = 1


class SliceGuarantees:
    """Follows the guests; forgets a group as soon as nothing of ours is in it."""

    def __init__(self, root: Path, record: StateFile | None = None) -> None:
        """record: where originals outlive a crash; None: they do not. root: where /proc is."""
        self._record = record
        self._boot = read(root / 'proc/sys/kernel/random/boot_id').strip()
        self._originals = self._load()
        # what this process wrote last: anything else that is found there is the operator's
        self._written: dict[Path, int] = {}
        self._outages: dict[Path, OutageLog] = {}

    @property
    def active(self) -> bool:
        """Whether this process has something in a group; never in a dry run."""
        return bool(self._written)

    def follow(self, totals: Mapping[Path, int]) -> None:
        """Write each group what the guests below it are promised, or what it had if that is more.

        totals: group -> bytes; recorded groups that are not in it have no guests any more.
        """
        originals: dict[Path, int] = {}
        wanted: dict[Path, int] = {}
        for directory in sorted({*totals, *self._originals}):
            there = level(directory / FILE)
            if there is None:  # systemd takes an empty slice away, its successor is a new one
                self._written.pop(directory, None)
                continue
            original = self._original(directory, there)
            value = min(max(totals.get(directory, 0), original), UNLIMITED)
            if not value == original == there:
                originals[directory] = original
            if value != there:
                wanted[directory] = value
        if not self._remember(originals):
            return
        for directory, value in wanted.items():
            self._write(directory, value)
        self._remember(
            {one: was for one, was in originals.items() if level(one / FILE) not in (was, None)}
        )
        self._written = {one: v for one, v in self._written.items() if one in self._originals}

    def restore(self) -> None:
        """Write back what was found."""
        self.follow({})

    def _original(self, directory: Path, there: int) -> int:
        if directory in self._written and self._written[directory] != there:
            return there
        # what another run left is taken for ours: it had recorded the group before it wrote
        return self._originals.get(directory, there)

    def _write(self, directory: Path, value: int) -> None:
        wrong = write_level(directory / FILE, value)
        if wrong:
            self._outage(directory).failed(wrong, kind=wrong)
        else:
            self._outage(directory).works()
        kept = level(directory / FILE)
        if not wrong and kept is not None:
            self._written[directory] = kept

    def _outage(self, directory: Path) -> OutageLog:
        if directory not in self._outages:
            self._outages[directory] = OutageLog(
                LOG,
                lost=f'guarantees below {directory} have no effect',
                back=f'guarantees below {directory} have an effect again',
            )
        return self._outages[directory]

    def _remember(self, originals: dict[Path, int]) -> bool:
        """Whether the record says so now."""
        if originals != self._originals and self._record is not None:
            groups = {str(directory): value for directory, value in originals.items()}
            try:
                self._record.save({'format': FORMAT, 'boot': self._boot, 'groups': groups})
            except OSError as error:
                LOG.warning('memory.low of groups above guests stays: no record (%s)', error)
                return False
        self._originals = originals
        return True

    def _load(self) -> dict[Path, int]:
        document = self._record.load() if self._record is not None else None
        if not document or document.get('boot') != self._boot or document.get('format') != FORMAT:
            return {}
        groups = document.get('groups')
        if not isinstance(groups, dict) or not all(type(n) is int for n in groups.values()):
            LOG.warning('the record of groups above guests is damaged and ignored')
            return {}
        return {Path(directory): value for directory, value in groups.items()}


def level(path: Path) -> int | None:
    """The bytes in a control file, 'max' being UNLIMITED; None when it is not there."""
    text = read(path).strip()
    if text == 'max':
        return UNLIMITED
    return int(text) if text.isdigit() else None


def write_level(path: Path, value: int) -> str:
    """'' or why the control file does not take the value."""
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
