# SPDX-License-Identifier: Apache-2.0
"""A test guest on a host: define, start, give it orders on its serial console, read its progress.

The orders are those of guest-init: 'burn 2', 'disk read 4096', 'net 10.0.0.1 5001', 'idle',
'after 30 burn 1'. Progress is counted from boot: `work` (units of CPU work), `disk` (bytes), `sent` and
`received` (bytes).
"""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nova_market.errors import ExperimentFailed
from nova_market.testbed.domain import Disk, GuestSpec, Placement, domain_xml

if TYPE_CHECKING:
    from nova_market.testbed.host import Host

__all__ = ['Disk', 'Guest', 'GuestFailed', 'GuestSpec']

BOOT_TIMEOUT = 120.0
"""Seconds. Alone on a CPU a guest boots in about 4; four that boot at once on one CPU take a minute."""

ORDER_TIMEOUT = 60.0
"""Seconds; a guest that is starved of CPU answers late."""


class GuestFailed(ExperimentFailed):
    """A guest did not boot or refused an order; quotes its console."""


class Guest:
    """One guest, by the name of its spec. It stays when this object goes."""

    def __init__(self, host: Host, spec: GuestSpec) -> None:
        self.host = host
        self.spec = spec

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def console_log(self) -> Path:
        return self.host.directory / 'log' / f'console-{self.name}.log'

    @property
    def console_socket(self) -> Path:
        return self.host.directory / 'consoles' / self.name

    @property
    def pid(self) -> int:
        """Of its QEMU process."""
        return int((self.host.directory / 'run' / 'qemu' / f'{self.name}.pid').read_text())

    def define(self) -> None:
        """Tell libvirt about it, or tell anew; its disks are made when they are not there."""
        xml = self.host.directory / 'run' / f'{self.name}.xml'
        xml.write_text(domain_xml(self.spec, self._placement()), encoding='utf-8')
        self.host.virsh('define', str(xml))

    def start(self) -> None:
        self.console_log.unlink(missing_ok=True)
        self.host.virsh('start', self.name)

    def destroy(self) -> None:
        """Power off at once; the definition stays."""
        self.host.virsh('destroy', self.name)

    def undefine(self) -> None:
        self.host.virsh('undefine', self.name)

    def order(self, command: str) -> None:
        """Give an order on the console and wait until the guest says that it obeys.

        :raises GuestFailed: it refuses, or does not answer in time.
        """
        answers = len(self._answers())
        deadline = time.monotonic() + ORDER_TIMEOUT
        # QEMU drops what the guest has not read when the connection ends: keep it until the answer
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as console:
            console.settimeout(ORDER_TIMEOUT)
            console.connect(str(self.console_socket))
            console.sendall(f'{command}\n'.encode())
            while len(answers_now := self._answers()) <= answers:
                if time.monotonic() > deadline:
                    raise GuestFailed(
                        f'guest {self.name} does not answer {command!r}: {self._last_words()}'
                    )
                time.sleep(0.1)
        if answers_now[answers].startswith('REFUSED'):
            raise GuestFailed(f'guest {self.name}, asked {command!r}: {answers_now[answers]}')

    def console_text(self) -> str:
        """Everything it has printed since its start."""
        try:
            return self.console_log.read_text(encoding='utf-8', errors='replace')
        except FileNotFoundError:
            return ''

    def wait_for(self, text: str, timeout: float = BOOT_TIMEOUT) -> None:
        """:raises GuestFailed: it has not printed this in time."""
        deadline = time.monotonic() + timeout
        while text not in self.console_text():
            if time.monotonic() > deadline:
                raise GuestFailed(
                    f'guest {self.name} has not printed {text!r}: {self._last_words()}'
                )
            time.sleep(0.1)

    def progress(self) -> Mapping[str, float]:
        """The counters of its latest heartbeat (every 5 s): up, work, disk, sent, received, workers."""
        beats = re.findall(r'^BEAT \d+ LOAD (.*?)\r?$', self.console_text(), re.MULTILINE)
        if not beats:
            return {}
        return {
            name: float(value) for name, value in (word.split('=') for word in beats[-1].split())
        }

    def cgroup_path(self, controller: str) -> Path:
        return self.host.cgroup_path(controller, self.name)

    def _answers(self) -> list[str]:
        return re.findall(r'^((?:OBEYED|REFUSED).*?)\r?$', self.console_text(), re.MULTILINE)

    def _last_words(self) -> str:
        return repr(self.console_text()[-300:]) if self.console_text() else 'its console is silent'

    def _placement(self) -> Placement:
        image = self.host.state / 'guest'
        return Placement(
            kernel=image / 'vmlinuz',
            initrd=image / 'initrd.gz',
            console_socket=self.console_socket,
            console_log=self.console_log,
            disks=tuple(self._disk(n, disk) for n, disk in enumerate(self.spec.disks)),
        )

    def _disk(self, number: int, disk: Disk) -> Path:
        path = disk.path or self.host.directory / 'disks' / f'{self.name}-{number}.raw'
        if path.is_block_device():
            return path
        if not path.exists() or path.stat().st_size != disk.size_mib << 20:
            fill(path, disk.size_mib)
        return path


def fill(path: Path, size_mib: int) -> None:
    """Write it full: what was never written is read without asking the device."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ['dd', 'if=/dev/urandom', f'of={path}', 'bs=1M', f'count={size_mib}', 'status=none'],
        check=True,
    )
