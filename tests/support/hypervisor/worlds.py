# SPDX-License-Identifier: Apache-2.0
"""Two worlds with the same guests: one in memory, one of real QEMU guests under a libvirtd of its own.

The real guests need no operating system: their disk is a boot sector that spins, halts, or reads the disk
in a loop, so that a guest is at work a second after its start and costs 50 MiB.
"""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import libvirt

import nova_market.testbed
from nova_market.adapters.control.cpu import CpuShares
from nova_market.adapters.control.disk import DiskWeight
from nova_market.adapters.control.memory import MemoryLimit
from nova_market.adapters.hypervisor.connection import start_event_loop
from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.adapters.hypervisor.supply import SupplySettings
from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.host import Demand, InMemoryHost, Program, steady
from nova_market.core.resource import GuestId
from nova_market.ports import Actuator, HostDriver
from tests.support import host_builders

MIB = 1 << 20
HOST_SCRIPT = Path(nova_market.testbed.__file__).parent / 'host'

BOOT_SECTORS = {
    'burn': bytes.fromhex('ebfe'),  # here: jmp here
    'idle': bytes.fromhex('faf4ebfc'),  # cli; here: hlt; jmp here
    # here: mov ax,0x0210 (read 16 sectors); mov bx,0x8000; mov cx,1; mov dh,0; int 0x13; jmp here
    'disk': bytes.fromhex('b81002bb0080b90100b600cd13ebf1'),
}

DEMANDS = {
    'burn': Demand(cpu=1.0, rss_bytes=40 * MIB),
    'idle': Demand(rss_bytes=40 * MIB),
    'disk': Demand(cpu=0.5, rss_bytes=40 * MIB, disk_read_bps=10.0 * MIB),
}


FILE_BACKED = """
  <memoryBacking><source type='file'/><access mode='shared'/></memoryBacking>"""
"""As Nova writes it with [libvirt]file_backed_memory."""


class World(Protocol):
    """A host of one core whose guests a test starts by number: uuid_of(number) is their id."""

    driver: HostDriver
    actuators: Mapping[str, Actuator]

    def start(self, number: int, load: str = 'idle', owner: str = 'dora') -> GuestId: ...

    def destroy(self, number: int) -> None: ...

    def restart(self, number: int) -> None: ...

    def let_pass(self, seconds: float) -> None: ...

    def lose_hypervisor(self) -> None: ...

    def bring_back_hypervisor(self) -> None: ...


def uuid_of(number: int) -> GuestId:
    return GuestId(f'00000000-0000-4000-8000-{number:012x}')


class WorldInMemory:
    def __init__(self) -> None:
        self._clock = ManualClock()
        self._host = InMemoryHost(self._clock, host_builders.supply(cores=1.0))
        self.driver: HostDriver = self._host
        self.actuators: Mapping[str, Actuator] = {one.name: one for one in self._host.actuators()}

    def start(self, number: int, load: str = 'idle', owner: str = 'dora') -> GuestId:
        program: Program = steady(DEMANDS[load])
        guest = host_builders.guest(uuid_of(number), owner, flavor='m1.test')
        return self._host.add(guest, program).id

    def destroy(self, number: int) -> None:
        self._host.remove(uuid_of(number))

    def restart(self, number: int) -> None:
        self._host.restart(uuid_of(number))

    def let_pass(self, seconds: float) -> None:
        self._clock.advance(seconds)

    def lose_hypervisor(self) -> None:
        self._host.available = False

    def bring_back_hypervisor(self) -> None:
        self._host.available = True


class LibvirtBed:
    """A libvirtd of its own with one CPU, made by the test bed's `host` script. Needs root."""

    name = 'contract'

    def __init__(self, options: Sequence[str] = ()) -> None:
        """options: further ones of `host start`."""
        self._options = tuple(options)
        self.state = Path(tempfile.mkdtemp(prefix='nova-market-'))
        for load, code in BOOT_SECTORS.items():
            image = code.ljust(510, b'\0') + b'\x55\xaa' + bytes(MIB)
            (self.state / f'{load}.img').write_bytes(image)
        self.up()
        self.uri = self._host('uri').strip()

    def up(self) -> None:
        """Start what does not run: the host, or its libvirtd alone."""
        self._host('start', '--cpus', '0', '--memory-mib', '2048', *self._options)

    def libvirtd_pid(self) -> int:
        return int((self.state / 'hosts' / self.name / 'pid' / 'libvirtd').read_text())

    def stop_libvirtd(self) -> None:
        """End libvirtd; its guests run on."""
        pid = self.libvirtd_pid()
        subprocess.run(['kill', str(pid)], check=True)
        wait_for(lambda: _ended(pid), 20)

    def remove(self) -> None:
        self._host('stop')
        shutil.rmtree(self.state)

    def run(self, *command: str) -> str:
        """Run a command on the host."""
        return self._host('run', *command)

    def _host(self, command: str, *arguments: str) -> str:
        done = subprocess.run(
            [HOST_SCRIPT, command, '--state', self.state, self.name, *arguments],
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f'host {command} {arguments}: {done.stderr}')
        return done.stdout


class WorldOfLibvirt:
    """Guests on a LibvirtBed; the tests' own connection stands for Nova's."""

    def __init__(self, bed: LibvirtBed, *, file_backed: bool = False) -> None:
        """file_backed: guests' memory lies in files, so that it is controllable without swap too."""
        self.bed = bed
        self._file_backed = file_backed
        self.host = LibvirtHost(bed.uri, SupplySettings(cpus='0'), 'nobody')
        self.driver: HostDriver = self.host
        actuators = (CpuShares(self.host), MemoryLimit(self.host), DiskWeight(self.host))
        self.actuators: Mapping[str, Actuator] = {one.name: one for one in actuators}
        start_event_loop()
        self.nova = libvirt.open(bed.uri)
        self._loads: dict[int, tuple[str, str]] = {}

    def start(self, number: int, load: str = 'idle', owner: str = 'dora') -> GuestId:
        self._loads[number] = (load, owner)
        backing = FILE_BACKED if self._file_backed else ''
        self.nova.createXML(domain_xml(number, self.bed.state / f'{load}.img', owner, backing))
        return uuid_of(number)

    def destroy(self, number: int) -> None:
        self.nova.lookupByUUIDString(uuid_of(number)).destroy()

    def restart(self, number: int) -> None:
        self.destroy(number)
        self.start(number, *self._loads[number])

    def let_pass(self, seconds: float) -> None:
        time.sleep(seconds)

    def lose_hypervisor(self) -> None:
        self.nova.close()
        self.bed.stop_libvirtd()

    def bring_back_hypervisor(self) -> None:
        self.bed.up()
        self.nova = libvirt.open(self.bed.uri)

    def close(self) -> None:
        self.bed.up()
        self.host.close()
        if not self.nova.isAlive():
            self.nova = libvirt.open(self.bed.uri)
        # each takes seconds, most of them the kernel's, and they may overlap
        with ThreadPoolExecutor(16) as pool:
            active = self.nova.listAllDomains(libvirt.VIR_CONNECT_LIST_DOMAINS_ACTIVE)
            list(pool.map(lambda domain: domain.destroy(), active))
        self.nova.close()


def domain_xml(number: int, image: Path, owner: str, backing: str = '') -> str:
    """A guest as Nova defines it, as far as we read it."""
    return f"""
<domain type='qemu'>
  <name>guest-{number}</name><uuid>{uuid_of(number)}</uuid>
  <metadata>
    <nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.1">
      <nova:name>server</nova:name><nova:flavor name="m1.test"/>
      <nova:owner><nova:user uuid="u">u</nova:user><nova:project uuid="{owner}">p</nova:project></nova:owner>
    </nova:instance>
  </metadata>
  <memory unit='MiB'>128</memory>{backing}<vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os><features><acpi/></features>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/><source file='{image}'/><target dev='vda' bus='virtio'/><shareable/>
    </disk>
    <interface type='ethernet'>
      <mac address='52:54:00:00:00:{number:02x}'/><target dev='tap{number}'/><model type='virtio'/>
    </interface>
    <controller type='usb' model='none'/><memballoon model='virtio'/>
  </devices>
</domain>"""


def wait_for(condition: Callable[[], object], seconds: float) -> None:
    """Wait for the real world.

    :raises TimeoutError: the condition did not come true.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f'not within {seconds} s')
        time.sleep(0.05)


def _ended(pid: int) -> bool:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] == 'Z'
    except FileNotFoundError:
        return True
