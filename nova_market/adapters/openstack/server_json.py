# SPDX-License-Identifier: Apache-2.0
"""Servers and server groups in answers of Nova, as values of core.market.inventory.

Implements the readings behind rules B1 and A3 of doc/source/specs/market.rst. Units: cores, MiB; disk in GB,
as Placement counts it.
"""

from collections.abc import Mapping
from typing import Any

from nova_market.core.host.cpu_policy import dedicated_cpus
from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import HostName

HOST = 'OS-EXT-SRV-ATTR:host'
STAY = 'market:migrate'
"""Metadata: `never` keeps a server where it is."""


def server_of(
    answer: Mapping[str, Any], groups: Mapping[str, tuple[str, str]]
) -> CloudServer | None:
    """A server; None for one that is on no host."""
    host = answer.get(HOST)
    if not host:
        return None
    flavor = answer['flavor']
    specs = _texts(flavor.get('extra_specs'))
    metadata = _texts(answer.get('metadata'))
    pinned = _pinned(answer, specs, metadata)
    group, policy = groups.get(str(answer['id']), ('', ''))
    vcpus, ram = int(flavor['vcpus']), int(flavor['ram'])
    dedicated = dedicated_cpus(specs, vcpus)
    counted = {'PCPU': float(dedicated), 'VCPU': float(vcpus - dedicated)}
    return CloudServer(
        id=str(answer['id']),
        project_id=str(answer['tenant_id']),
        host=HostName(str(host)),
        # cores of its own are not competed for
        vcpus=vcpus - dedicated,
        memory_mib=ram,
        name=str(answer.get('name') or ''),
        flavor=str(flavor.get('original_name') or ''),
        extra_specs=specs,
        metadata=metadata,
        hints=_texts(answer.get('scheduler_hints')),
        status=str(answer['status']),
        migratable=pinned is None,
        pinned=pinned or '',
        zone=str(answer.get('pinned_availability_zone') or ''),
        group=group,
        group_policy=policy,
        counted={
            **{name: count for name, count in counted.items() if count},
            'MEMORY_MB': float(ram),
            # a root disk that is a volume takes nothing of the host
            'DISK_GB': float(_disk(answer, flavor)),
        },
    )


def group_of(answer: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Server -> (group, policy), of one group."""
    named = (str(answer['id']), str(answer['policy']))
    return {str(member): named for member in answer['members']}


def _disk(answer: Mapping[str, Any], flavor: Mapping[str, Any]) -> int:
    root = 0 if answer.get('image') in ('', None) else int(flavor.get('disk') or 0)
    swap = int(flavor.get('swap') or 0)
    return root + int(flavor.get('ephemeral') or 0) + -(-swap // 1024)


def _pinned(
    answer: Mapping[str, Any], specs: Mapping[str, str], metadata: Mapping[str, str]
) -> str | None:
    """Why a server can't be live-migrated, or should not; None when nothing is known against it."""
    if metadata.get(STAY) == 'never':
        return f'kept where it is by its metadata {STAY}'
    if answer.get('locked'):
        return 'locked by its owner'
    if any(name.startswith('pci_passthrough:') for name in specs):
        return 'bound to a PCI device'
    return None


def _texts(found: object) -> dict[str, str]:
    if not isinstance(found, Mapping):
        return {}
    return {str(k): str(v[0] if isinstance(v, list) and v else v) for k, v in found.items()}
