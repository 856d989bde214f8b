# SPDX-License-Identifier: Apache-2.0
"""A guest as its libvirt domain's XML describes it: owner, flavor, tuning, devices.

Implements the owner o(v) and the virtual resources VR(v) of IFI-2016.04, section IV-A: owner and flavor
come from the metadata that Nova puts into the domain (namespaces 1.0 and 1.1), so no API call is needed.

Units: bytes. Tenants choose names and extra specs in the metadata: sizes are bounded, document type
declarations (entity expansion) are refused, and garbage leads to the fallback owner, never to an error.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass

from nova_market.core.host import cpu_policy
from nova_market.core.host.sample import Guest
from nova_market.core.resource import GuestId, OwnerId

NOVA_NAMESPACES = (
    'http://openstack.org/xmlns/libvirt/nova/1.1',
    'http://openstack.org/xmlns/libvirt/nova/1.0',
)
"""Newest first: since 1.1 the metadata names ports, since Nova 32 (still 1.1) extra specs."""

MAX_XML = 1 << 20
"""Characters of a domain XML that are parsed; Nova's largest (tens of disks) stay below 64 KiB."""

MAX_NAME = 255
"""Nova's own bound of ids, flavor names and values of extra specs."""

EXTRA_SPECS = ('quota:cpu_shares', *cpu_policy.KEYS)
"""What is read of a flavor's extra specs."""

MAX_SHARES = 262144
"""The largest cpu.shares of cgroup v1; Nova's validator has no upper bound."""

_OWNER = re.compile(r'[A-Za-z0-9][A-Za-z0-9._:@-]{0,254}')
"""Keystone ids are 32 hexadecimal digits; imported ones (LDAP, federation) hold up to these characters."""

_UNITS = {'b': 1, 'bytes': 1, 'KB': 1000, 'k': 1024, 'KiB': 1024, 'MB': 10**6, 'M': 1 << 20}
_UNITS |= {'MiB': 1 << 20, 'GB': 10**9, 'G': 1 << 30, 'GiB': 1 << 30, 'T': 1 << 40, 'TiB': 1 << 40}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestReading:
    """A guest, and what in its XML could not be used (for one log line per incarnation)."""

    guest: Guest
    complaints: tuple[str, ...] = ()


def read_guest(
    xml: str,
    *,
    guest_id: GuestId,
    domain_id: int,
    name: str,
    fallback_owner: OwnerId,
    owner_kind: str,
) -> GuestReading:
    """The guest that `xml` describes. Never raises: what can't be read gets the fallback.

    owner_kind: 'project' or 'user', which element of Nova's owner metadata pays.
    """
    complaints: list[str] = []
    domain = _parse(xml, complaints)
    instance = _instance(domain)
    owner = _owner(instance, owner_kind, complaints)
    extra_specs = _extra_specs(instance)
    flavor = instance.find('{*}flavor')
    guest = Guest(
        id=guest_id,
        domain_id=domain_id,
        name=name[:MAX_NAME],
        owner=owner or fallback_owner,
        fallback=owner is None,
        flavor='' if flavor is None else (flavor.get('name') or '')[:MAX_NAME],
        base_shares=_base_shares(extra_specs, complaints),
        vcpus=_vcpus(domain),
        memory_bytes=_memory(domain, complaints),
        dedicated=_dedicated(domain, extra_specs),
        hugepages=domain.find('memoryBacking/hugepages') is not None,
        file_backed=domain.find("memoryBacking/source[@type='file']") is not None,
        interfaces=_interfaces(domain),
        disks=_disks(domain),
    )
    return GuestReading(guest=guest, complaints=tuple(complaints))


def _parse(xml: str, complaints: list[str]) -> ElementTree.Element:
    empty = ElementTree.Element('domain')
    if len(xml) > MAX_XML:
        complaints.append(f'domain XML of {len(xml)} characters, more than {MAX_XML}, is not read')
        return empty
    if '<!DOCTYPE' in xml or '<!ENTITY' in xml:
        complaints.append('domain XML declares a document type; it is not read')
        return empty
    try:
        return ElementTree.fromstring(xml)
    except (ElementTree.ParseError, ValueError) as error:
        complaints.append(f'domain XML is malformed: {error}')
        return empty


def _instance(domain: ElementTree.Element) -> ElementTree.Element:
    for namespace in NOVA_NAMESPACES:
        found = domain.find(f'metadata/{{{namespace}}}instance')
        if found is not None:
            return found
    return ElementTree.Element('none')


def _owner(instance: ElementTree.Element, kind: str, complaints: list[str]) -> OwnerId | None:
    if instance.tag == 'none':
        complaints.append("no Nova metadata; the fallback owner's")
        return None
    element = instance.find(f'{{*}}owner/{{*}}{kind}')
    owner = '' if element is None else (element.get('uuid') or '')
    if not _OWNER.fullmatch(owner):
        complaints.append(
            f"Nova metadata names no usable {kind} ({owner[:40]!r}); the fallback owner's"
        )
        return None
    return OwnerId(owner)


def _extra_specs(instance: ElementTree.Element) -> Mapping[str, str]:
    specs: dict[str, str] = {}
    for element in instance.iterfind('{*}flavor/{*}extraSpecs/{*}extraSpec'):
        key, value = element.get('name') or '', element.text or ''
        if key in EXTRA_SPECS and len(value) <= MAX_NAME:
            specs[key] = value
    return specs


def _base_shares(extra_specs: Mapping[str, str], complaints: list[str]) -> int | None:
    text = extra_specs.get('quota:cpu_shares')
    if text is None:
        return None
    # int() would also take '1_0', ' 5 ' and other scripts' digits
    if re.fullmatch(r'[0-9]{1,9}', text) and 1 <= int(text) <= MAX_SHARES:
        return int(text)
    complaints.append(f'quota:cpu_shares {text[:40]!r} is not in 1..{MAX_SHARES} and is ignored')
    return None


def _vcpus(domain: ElementTree.Element) -> int:
    element = domain.find('vcpu')
    if element is None:
        return 1
    text = element.get('current') or element.text or ''
    return max(1, int(text)) if re.fullmatch(r'\s*[0-9]{1,5}\s*', text) else 1


def _memory(domain: ElementTree.Element, complaints: list[str]) -> int:
    element = domain.find('memory')
    text = '' if element is None else (element.text or '').strip()
    unit = 'KiB' if element is None else element.get('unit', 'KiB')
    if not re.fullmatch(r'[0-9]{1,18}', text) or unit not in _UNITS:
        complaints.append(f'memory {text[:40]!r} {unit[:10]!r} cannot be read')
        return 0
    return int(text) * _UNITS[unit]


def _dedicated(domain: ElementTree.Element, extra_specs: Mapping[str, str]) -> bool:
    """By its flavor; a Nova before 32 names no extra specs, but libvirt shows the realtime scheduler.

    A vcpupin is no sign of it: Nova also pins shared guests, to cpu_shared_set.
    """
    realtime = domain.find('cputune/vcpusched') is not None
    return realtime or cpu_policy.has_dedicated_cpus(extra_specs)


def _interfaces(domain: ElementTree.Element) -> tuple[tuple[str, str], ...]:
    found = []
    for element in domain.iterfind('devices/interface'):
        target, mac = element.find('target'), element.find('mac')
        device = '' if target is None else target.get('dev', '')
        if device and mac is not None:
            found.append((device, mac.get('address', '').lower()))
    return tuple(found)


def _disks(domain: ElementTree.Element) -> tuple[str, ...]:
    found = []
    for element in domain.iterfind('devices/disk'):
        if element.find('readonly') is not None or element.get('device', 'disk') not in (
            'disk',
            'lun',
        ):
            continue
        source = element.find('source')
        found.append('' if source is None else source.get('file') or source.get('dev') or '')
    return tuple(found)
