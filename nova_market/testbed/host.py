# SPDX-License-Identifier: Apache-2.0
"""A libvirt host in namespaces of its own, with its CPUs and its cgroups: the `host` script from Python.

libvirt is reached outside the namespaces through `Host.uri`; what a guest uses is found in the machine's
own cgroup tree through `Host.cgroup_path`. Several hosts may run at once, each on CPUs of its own, so that
what happens on one does not touch the other.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from nova_market.errors import ExperimentFailed
from nova_market.testbed.guest import Guest, GuestSpec

HERE = Path(__file__).resolve().parent

UNDISTURBED = ('--weight', '8')
"""Options of a host on which is measured what guests get of the CPU."""

START_TIMEOUT = 120.0
"""Seconds; the first start probes QEMU, which takes half a minute on a slow machine."""


class HostFailed(ExperimentFailed):
    """A host, or a command in one, did not do what it was asked; quotes its output."""


class Host:
    """One host. `with Host(...) as host:` starts it, and stops it whatever happens."""

    def __init__(
        self,
        name: str,
        cpus: str,
        memory_mib: int,
        state: Path,
        *,
        options: Sequence[str] = (),
    ) -> None:
        """cpus: a list such as '0' or '0,2-3'; options: further ones of `host start`."""
        self.name = name
        self.cpus = cpus
        self.memory_mib = memory_mib
        self.state = state.resolve()
        self._options = tuple(options)

    @property
    def directory(self) -> Path:
        return self.state / 'hosts' / self.name

    @property
    def uri(self) -> str:
        """For libvirt, inside and outside the namespaces."""
        return f'qemu+unix:///system?socket={self.directory}/run/libvirt-sock'

    @property
    def pid(self) -> int:
        """The process that holds the namespaces."""
        return int(script('host', 'pid', '--state', str(self.state), self.name))

    def start(self) -> None:
        """Build the guest's image when it is not there, and start the host. Does nothing when it runs.

        :raises HostFailed: with the reason; nothing is left behind.
        """
        script('image', '--state', str(self.state))
        arguments = ['--state', str(self.state), '--cpus', self.cpus]
        arguments += ['--memory-mib', str(self.memory_mib), *self._options]
        try:
            script('host', 'start', self.name, *arguments)
        except HostFailed:
            self.stop()
            raise

    def stop(self) -> None:
        """End its guests and daemons, and remove namespaces and cgroups. Does nothing when stopped."""
        script('host', 'stop', '--state', str(self.state), self.name)

    def run(self, *command: str, timeout: float = 60.0) -> str:
        """Standard output of a command run inside.

        :raises HostFailed: it failed or did not end in time.
        """
        return script(
            'host', 'run', '--state', str(self.state), self.name, *command, timeout=timeout
        )

    def virsh(self, *command: str, timeout: float = START_TIMEOUT) -> str:
        """Standard output of a virsh command on this host's libvirt."""
        return run_checked(['virsh', '-q', '-c', self.uri, *command], timeout)

    def guest(self, spec: GuestSpec) -> Guest:
        """A guest of this host, not yet defined."""
        return Guest(self, spec)

    def boot(self, spec: GuestSpec) -> Guest:
        """Define and start a guest, and wait until it obeys."""
        guest = self.guest(spec)
        guest.define()
        guest.start()
        guest.wait_for('BOOTED')
        return guest

    def cgroup_path(self, controller: str, domain: str) -> Path:
        """The directory of a running guest below a controller, outside the namespaces.

        controller: a name of version 1, such as cpu or cpuacct; version 2 has one tree for all.
        """
        pid = int((self.directory / 'run' / 'qemu' / f'{domain}.pid').read_text())
        return cgroup_of(pid, controller)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def cgroup_of(pid: int, controller: str) -> Path:
    """The directory of a domain in which its QEMU process lies; libvirt's parts of it are cut off."""
    for line in Path(f'/proc/{pid}/cgroup').read_text().splitlines():
        _, names, path = line.split(':', 2)
        if names == '' and Path('/sys/fs/cgroup/cgroup.controllers').exists():
            mounted = Path('/sys/fs/cgroup')
        elif controller in names.split(','):
            mounted = Path('/sys/fs/cgroup') / controller
        else:
            continue
        own = Path(path.lstrip('/'))
        while own.name in {'emulator', 'libvirt'} or own.name.startswith(('vcpu', 'iothread')):
            own = own.parent
        return mounted / own
    raise HostFailed(f'process {pid} lies in no cgroup of the controller {controller}')


def script(name: str, *arguments: str, timeout: float = START_TIMEOUT) -> str:
    """Run a script of this directory; a wheel keeps no executable bit, so bash is named."""
    return run_checked(['bash', str(HERE / name), *arguments], timeout)


def run_checked(command: Sequence[str], timeout: float) -> str:
    """Standard output; :raises HostFailed: with standard error when it fails or takes too long."""
    path = os.pathsep.join([os.environ.get('PATH', ''), '/usr/sbin', '/sbin'])
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            env=os.environ | {'PATH': path, 'LC_ALL': 'C.UTF-8'},
        )
    except subprocess.TimeoutExpired as error:
        raise HostFailed(f'not done after {timeout:.0f} s: {" ".join(command)}') from error
    if done.returncode:
        output = (done.stderr or done.stdout).strip()
        raise HostFailed(f'{" ".join(command)}: {output or f"exit status {done.returncode}"}')
    return done.stdout.strip()
