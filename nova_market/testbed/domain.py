# SPDX-License-Identifier: Apache-2.0
"""The libvirt domain of a test guest, with the metadata that Nova 34 writes.

What matters to nova-fairness is as Nova has it: metadata 1.1 (flavor with extra specs, owner), disks with
cache=none, `quota:cpu_shares` as <shares>, balloon statistics every 10 s. The machine is QEMU's own
emulation (TCG), so no KVM is needed.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

NOVA = 'http://openstack.org/xmlns/libvirt/nova/1.1'
ET.register_namespace('nova', NOVA)

OURS = uuid.UUID('6f1c2f2e-6a0b-5d0c-9a3f-5d8d2f1b7c10')
"""Namespace of the ids that are derived from names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A raw disk, written full once so that reads reach the device; path names a file or block device.

    Without a path the file is made in the host's own directory. bytes_per_s is a limit as that of Nova's
    `quota:disk_total_bytes_sec`; 0 = none.
    """

    size_mib: int = 64
    path: Path | None = None
    bytes_per_s: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestSpec:
    """What to boot. project and user are the ids in the metadata, as they are given.

    load: commands for the guest, ';' between them, obeyed at boot ('burn 1; after 30 idle').
    networks: bridges inside the host. nova_metadata: other XML in place of Nova's; '' for none.
    """

    name: str
    project: str
    user: str = 'tester'
    vcpus: int = 1
    memory_mib: int = 128
    load: str = ''
    disks: tuple[Disk, ...] = ()
    networks: tuple[str, ...] = ()
    extra_specs: Mapping[str, str] = field(default_factory=dict)
    nova_metadata: str | None = None

    @property
    def uuid(self) -> str:
        """The same for the same name, so that a guest can be defined again."""
        return str(uuid.uuid5(OURS, self.name))

    @property
    def mac_addresses(self) -> tuple[str, ...]:
        digits = uuid.UUID(self.uuid).hex
        return tuple(
            f'fa:16:3e:{digits[0:2]}:{digits[2:4]}:{number:02x}'
            for number in range(len(self.networks))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where the files of one guest are on its host."""

    kernel: Path
    initrd: Path
    console_socket: Path
    console_log: Path
    disks: tuple[Path, ...]


def domain_xml(spec: GuestSpec, where: Placement) -> str:
    domain = ET.Element('domain', type='qemu')
    _text(domain, 'name', spec.name)
    _text(domain, 'uuid', spec.uuid)
    metadata = _metadata(spec)
    if metadata is not None:
        ET.SubElement(domain, 'metadata').append(metadata)
    _text(domain, 'memory', str(spec.memory_mib), unit='MiB')
    _text(domain, 'vcpu', str(spec.vcpus))
    shares = spec.extra_specs.get('quota:cpu_shares')
    if shares is not None:
        _text(ET.SubElement(domain, 'cputune'), 'shares', shares)
    system = ET.SubElement(domain, 'os')
    _text(system, 'type', 'hvm', arch='x86_64', machine='pc')
    _text(system, 'kernel', str(where.kernel))
    _text(system, 'initrd', str(where.initrd))
    _text(system, 'cmdline', command_line(spec.load))
    ET.SubElement(ET.SubElement(domain, 'features'), 'acpi')
    _text(domain, 'on_reboot', 'restart')
    domain.append(_devices(spec, where))
    return ET.tostring(domain, encoding='unicode')


def command_line(load: str) -> str:
    """The kernel's; 'disk read 4096; burn 2' becomes disk=read,4096 burn=2."""
    words = ['console=ttyS0', 'quiet', 'panic=1']
    for command in load.split(';'):
        name, *rest = command.split() or ['']
        if name:
            words.append(f'{name}={",".join(rest)}')
    return ' '.join(words)


def _metadata(spec: GuestSpec) -> ET.Element | None:
    if spec.nova_metadata is not None:
        return ET.fromstring(spec.nova_metadata) if spec.nova_metadata else None
    instance = ET.Element(f'{{{NOVA}}}instance')
    _nova(instance, 'package', version='34.0.0')
    _nova(instance, 'name', text=spec.name)
    _nova(instance, 'creationTime', text='2026-11-01 00:00:00')
    flavor = _nova(instance, 'flavor', name='testbed', id=str(uuid.uuid5(OURS, 'flavor')))
    sizes = {'memory': spec.memory_mib, 'disk': 1, 'swap': 0, 'ephemeral': 0, 'vcpus': spec.vcpus}
    for name, number in sizes.items():
        _nova(flavor, name, text=str(number))
    extra_specs = _nova(flavor, 'extraSpecs')
    for name, value in spec.extra_specs.items():
        _nova(extra_specs, 'extraSpec', text=value, name=name)
    owner = _nova(instance, 'owner')
    _nova(owner, 'user', text=spec.user, uuid=spec.user)
    _nova(owner, 'project', text=spec.project, uuid=spec.project)
    return instance


def _devices(spec: GuestSpec, where: Placement) -> ET.Element:
    devices = ET.Element('devices')
    for number, path in enumerate(where.disks):
        is_device = path.is_block_device()
        disk = ET.SubElement(devices, 'disk', type='block' if is_device else 'file', device='disk')
        ET.SubElement(disk, 'driver', name='qemu', type='raw', cache='none', io='native')
        ET.SubElement(disk, 'source', {'dev' if is_device else 'file': str(path)})
        ET.SubElement(disk, 'target', dev=f'vd{chr(ord("a") + number)}', bus='virtio')
        if spec.disks[number].bytes_per_s:
            limit = str(spec.disks[number].bytes_per_s)
            _text(ET.SubElement(disk, 'iotune'), 'total_bytes_sec', limit)
    for bridge, mac in zip(spec.networks, spec.mac_addresses, strict=True):
        interface = ET.SubElement(devices, 'interface', type='bridge')
        ET.SubElement(interface, 'mac', address=mac)
        ET.SubElement(interface, 'source', bridge=bridge)
        ET.SubElement(interface, 'model', type='virtio')
    serial = ET.SubElement(devices, 'serial', type='unix')
    ET.SubElement(serial, 'source', mode='bind', path=str(where.console_socket))
    ET.SubElement(serial, 'log', file=str(where.console_log), append='off')
    ET.SubElement(serial, 'target', port='0')
    ET.SubElement(ET.SubElement(devices, 'video'), 'model', type='none')
    ET.SubElement(devices, 'controller', type='usb', model='none')
    balloon = ET.SubElement(devices, 'memballoon', model='virtio')
    ET.SubElement(balloon, 'stats', period='10')
    return devices


def _text(parent: ET.Element, tag: str, text: str, **attributes: str) -> None:
    ET.SubElement(parent, tag, attributes).text = text


def _nova(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, f'{{{NOVA}}}{tag}', attributes)
    element.text = text
    return element
