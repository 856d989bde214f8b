# SPDX-License-Identifier: Apache-2.0
"""A file tree like a kernel's /proc and /sys with guests in it, cgroup version 1 or 2."""

import os
from dataclasses import dataclass
from pathlib import Path

from nova_market.core.host.sample import Guest

V1_CONTROLLERS = ('cpu,cpuacct', 'memory', 'blkio')


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding='utf-8')


@dataclass
class KernelTree:
    """systemd: guests sit in a scope with a child `libvirt`, else in /machine directly."""

    root: Path
    version: int = 2
    systemd: bool = True
    bfq: bool = False
    next_pid: int = 100

    def __post_init__(self) -> None:
        if self.version == 2:
            put(self.root / 'proc/mounts', 'cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n')
            put(self.root / 'sys/fs/cgroup/cgroup.controllers', 'cpuset cpu io memory pids\n')
        else:
            lines = ''.join(
                f'cgroup /sys/fs/cgroup/{name} cgroup rw,relatime,{name} 0 0\n'
                for name in V1_CONTROLLERS
            )
            put(self.root / 'proc/mounts', f'proc /proc proc rw 0 0\n{lines}')

    def scope_path(self, guest: Guest) -> str:
        if self.systemd:
            return rf'/machine.slice/machine-qemu\x2d{guest.domain_id}\x2d{guest.name}.scope'
        return f'/machine/qemu-{guest.domain_id}-{guest.name}.libvirt-qemu'

    def scope(self, guest: Guest, controller: str) -> Path:
        return self._mount(controller) / self.scope_path(guest).lstrip('/')

    def account(self, guest: Guest, controller: str) -> Path:
        scope = self.scope(guest, controller)
        return scope / 'libvirt' if self.systemd else scope

    def slice(self, controller: str) -> Path:
        return self._mount(controller) / ('machine.slice' if self.systemd else 'machine')

    def add(self, guest: Guest, *, in_group: bool = True) -> int:
        """Start the guest's QEMU; returns its pid. in_group: False = it sits where users' processes do."""
        pid = self.next_pid
        self.next_pid += 1
        process = self.root / 'proc' / str(pid)
        command = ('/usr/bin/qemu-system-x86_64', '-name', f'guest={guest.name}', '-uuid', guest.id)
        put(process / 'cmdline', '\0'.join(command) + '\0')
        put(process / 'status', 'Name:\tqemu\nVmRSS:\t    2048 kB\n')
        below = f'{self.scope_path(guest)}/libvirt' if self.systemd else self.scope_path(guest)
        if not in_group:
            below = '/user.slice/session-1.scope'
        if self.version == 2:
            put(process / 'cgroup', f'0::{below}/emulator\n')
        else:
            lines = [f'{n}:{name}:{below}/emulator' for n, name in enumerate(V1_CONTROLLERS, 2)]
            put(process / 'cgroup', '\n'.join([*lines, '0::/']) + '\n')
        self._make_files(guest)
        return pid

    def disk_device(self, path: Path, scheduler: str, name: str = 'sda') -> None:
        """The device under `path` is partition 1 of `name` with this line in queue/scheduler."""
        status = os.stat(path)
        numbers = f'{os.major(status.st_dev)}:{os.minor(status.st_dev)}'
        disk = self.root / 'sys/devices' / name
        put(disk / 'queue/scheduler', scheduler + '\n')
        put(disk / 'dev', '8:0\n')
        put(disk / f'{name}1/dev', numbers + '\n')
        for link, target in (
            (self.root / 'sys/dev/block' / numbers, disk / f'{name}1'),
            (self.root / 'sys/block' / name, disk),
        ):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)

    def _make_files(self, guest: Guest) -> None:
        if self.version == 1:
            put(self.scope(guest, 'cpu') / 'cpu.shares', '1024\n')
            put(self.scope(guest, 'blkio') / 'blkio.bfq.weight', '100\n')
            put(
                self.account(guest, 'memory') / 'memory.soft_limit_in_bytes',
                '9223372036854771712\n',
            )
            return
        put(self.scope(guest, 'cpu') / 'cpu.weight', '100\n')
        put(self.scope(guest, 'io') / 'io.weight', 'default 100\n')
        if self.bfq:
            put(self.scope(guest, 'io') / 'io.bfq.weight', 'default 100\n')
        directories = {
            self.slice('memory'),
            self.scope(guest, 'memory'),
            self.account(guest, 'memory'),
        }
        for directory in directories:
            if not (directory / 'memory.low').exists():
                put(directory / 'memory.low', '0\n')

    def _mount(self, controller: str) -> Path:
        if self.version == 2:
            return self.root / 'sys/fs/cgroup'
        name = next(name for name in V1_CONTROLLERS if controller in name.split(','))
        return self.root / 'sys/fs/cgroup' / name
