# SPDX-License-Identifier: Apache-2.0
"""Where the kernel keeps a guest's weights: control group directories, versions 1 and 2.

Two directories matter. The *scope* is the guest's own group (below machine.slice or machine), whose
weights compete with other guests'. The *account* is where QEMU's memory is charged: the scope itself, or
its child `libvirt` where systemd owns the scope. QEMU's threads sit below (`emulator`, `vcpu0`).

All kernel paths lie below `root`, so that tests materialise a file tree instead of mocking a kernel.
"""

import logging
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nova_market.core.host.sample import Guest
from nova_market.core.resource import GuestId

LOG = logging.getLogger(__name__)

MAX_SEARCHES = 10
"""How often the processes are searched for a guest that has none (a remote or a test hypervisor)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestCgroup:
    """Directories of one controller of one guest; `root` is where its hierarchy is mounted."""

    version: int
    root: Path
    scope: Path
    account: Path

    def ancestors(self) -> tuple[Path, ...]:
        """Groups above the scope, nearest first, without the root group."""
        return tuple(p for p in self.scope.parents if p != self.root and self.root in p.parents)


class CgroupTree:
    """The mounted hierarchies, read once."""

    def __init__(self, root: str = '/') -> None:
        self.root = Path(root)
        self._v1: dict[str, Path] = {}
        self._v2: Path | None = None
        self._v2_controllers: frozenset[str] = frozenset()
        for line in _lines(self.root / 'proc/mounts'):
            _, target, kind, options = line.split()[:4]
            where = self.root / _unescape(target).lstrip('/')
            if kind == 'cgroup':
                self._v1 |= dict.fromkeys(options.split(','), where)
            elif kind == 'cgroup2':
                self._v2 = where
                self._v2_controllers = frozenset(read(where / 'cgroup.controllers').split())

    def version(self, controller: str) -> int | None:
        """1 or 2; None where the kernel offers the controller nowhere."""
        if controller in self._v1:
            return 1
        return 2 if controller in self._v2_controllers else None

    def mount(self, controller: str) -> Path | None:
        """Where the controller's hierarchy is mounted."""
        if self.version(controller) is None:
            return None
        return self._v1.get(controller, self._v2)

    def of_process(self, pid: int, controller: str) -> GuestCgroup | None:
        """Directories of the guest whose QEMU process is `pid`; None when it has gone."""
        version, mount = self.version(controller), self.mount(controller)
        if version is None or mount is None:
            return None
        for line in _lines(self.root / 'proc' / str(pid) / 'cgroup'):
            _, controllers, path = line.split(':', 2)
            # version 2 has one line, without a controller
            if controllers == '' if version == 2 else controller in controllers.split(','):
                return _split(version, mount, path)
        return None


class GuestCgroups:
    """Finds guests' groups by their QEMU process; remembers them as long as the guest runs."""

    def __init__(self, tree: CgroupTree) -> None:
        self.tree = tree
        self._pids: dict[tuple[GuestId, int], int] = {}
        self._found: dict[tuple[GuestId, int, str], GuestCgroup] = {}
        self._searches: dict[tuple[GuestId, int], int] = {}

    def pid(self, guest: Guest) -> int | None:
        """The guest's QEMU process as the last search found it, None where it is not on this machine."""
        return self._pids.get(guest.incarnation)

    def search(self, guests: Collection[Guest]) -> None:
        """Look once through all processes for guests whose process is not known yet."""
        wanted = {
            guest.id: guest
            for guest in guests
            if guest.incarnation not in self._pids
            and self._searches.get(guest.incarnation, 0) < MAX_SEARCHES
        }
        if not wanted:
            return
        pids = qemu_pids(self.tree.root)
        for guest in wanted.values():
            pid = pids.get(guest.id)
            if pid is not None and self._is_guest(pid, guest):
                self._pids[guest.incarnation] = pid
            else:
                tried = self._searches.get(guest.incarnation, 0)
                self._searches[guest.incarnation] = tried + 1

    def locate(self, guest: Guest, controller: str) -> GuestCgroup | None:
        """The guest's group of a controller, None where there is none. Call `search` before."""
        key = (*guest.incarnation, controller)
        if key not in self._found:
            pid = self.pid(guest)
            found = None if pid is None else self.tree.of_process(pid, controller)
            # libvirt moves a starting guest into one controller's group after the other
            if found is None or not _names(found.scope, guest):
                return None
            self._found[key] = found
        return self._found[key]

    def keep_only(self, incarnations: Collection[tuple[GuestId, int]]) -> None:
        """Forget guests that have gone."""
        alive = set(incarnations)
        self._pids = {key: pid for key, pid in self._pids.items() if key in alive}
        self._searches = {key: n for key, n in self._searches.items() if key in alive}
        self._found = {key: found for key, found in self._found.items() if key[:2] in alive}

    def _is_guest(self, pid: int, guest: Guest) -> bool:
        """Whether the process sits where libvirt put it: anybody may run something called qemu."""
        return any(
            _names(Path(line.rpartition(':')[2]), guest)
            for line in _lines(self.tree.root / 'proc' / str(pid) / 'cgroup')
        )


def _names(group: Path, guest: Guest) -> bool:
    """Whether a control group is of this incarnation, by the name that libvirt gives it."""
    return re.search(rf'qemu(-|\\x2d){guest.domain_id}(-|\\x2d)', str(group)) is not None


def qemu_pids(root: Path) -> Mapping[GuestId, int]:
    """Processes that run `qemu... -uuid UUID`, by UUID. A few milliseconds per 1000 processes."""
    found: dict[GuestId, int] = {}
    for entry in _numbered(root / 'proc'):
        arguments = read(entry / 'cmdline').split('\0')
        if os.path.basename(arguments[0]).startswith('qemu') and '-uuid' in arguments[:-1]:
            found[GuestId(arguments[arguments.index('-uuid') + 1])] = int(entry.name)
    return found


def resident_bytes(root: Path, pid: int) -> int | None:
    """Resident memory of a process, None when it has gone."""
    for line in _lines(root / 'proc' / str(pid) / 'status'):
        if line.startswith('VmRSS:'):
            return int(line.split()[1]) * 1024
    return None


def cpu_time_ns(groups: GuestCgroups, guest: Guest) -> int | None:
    """CPU time of all threads of a guest since its start, None where it is not seen. Call `search` before."""
    if groups.tree.version('cpuacct') == 1:
        group = groups.locate(guest, 'cpuacct')
        return read_number(group.scope / 'cpuacct.usage') if group else None
    group = groups.locate(guest, 'cpu')
    for line in _lines(group.scope / 'cpu.stat') if group else ():
        if line.startswith('usage_usec '):
            return int(line.split()[1]) * 1000
    return None


def read(path: Path) -> str:
    """The whole file, '' when it is not there (or its process or group has gone meanwhile)."""
    try:
        return path.read_text(encoding='utf-8', errors='replace')
    except OSError:
        return ''


def read_number(path: Path) -> int | None:
    """The number in a control file, after `default` where the file has a line per device; or None."""
    words = read(path).split()
    if words[:1] == ['default']:
        words = words[1:]
    if words[:1] == ['max']:
        return None
    return int(words[0]) if words and words[0].isdigit() else None


def _split(version: int, mount: Path, path: str) -> GuestCgroup | None:
    parts = [part for part in path.split('/') if part]
    if '..' in parts or not parts:  # outside of what this process may see, or the root group
        return None
    if parts[-1] == 'emulator' or re.fullmatch(r'(vcpu|iothread)[0-9]+', parts[-1]):
        parts.pop()
    account = mount.joinpath(*parts)
    scope = account.parent if parts[-1:] == ['libvirt'] else account
    return GuestCgroup(version=version, root=mount, scope=scope, account=account)


def _lines(path: Path) -> list[str]:
    return read(path).splitlines()


def _numbered(directory: Path) -> Iterator[Path]:
    try:
        names = os.listdir(directory)
    except OSError:
        return
    yield from (directory / name for name in sorted(names, key=len) if name.isdigit())


def _unescape(path: str) -> str:
    return re.sub(r'\\([0-7]{3})', lambda match: chr(int(match[1], 8)), path)
