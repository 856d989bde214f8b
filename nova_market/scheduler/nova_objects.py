# SPDX-License-Identifier: Apache-2.0
"""Nova's objects as the market's values: a RequestSpec, and rows of HostStates. Reads no database."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from nova.objects.request_spec import RequestSpec
from nova.scheduler.host_manager import HostState
from nova.scheduler.utils import request_is_rebuild

from nova_market.core.calendar.axes import AXES
from nova_market.core.resource import Array, Rows
from nova_market.core.scheduler.filters import UNKNOWN
from nova_market.core.scheduler.request import ServerRequest, request_of


def request_from(spec: RequestSpec) -> ServerRequest:
    """What the market sees of a RequestSpec."""
    flavor = spec.flavor
    extra_specs = flavor.extra_specs if 'extra_specs' in flavor else None
    return request_of(
        spec.project_id or '',
        (flavor.vcpus, flavor.memory_mb),
        extra_specs or {},
        _hints(spec),
        count=spec.num_instances if 'num_instances' in spec else 1,
        new=not moves(spec),
        disk_gib=_disk_gib(spec),
        server_id=(spec.instance_uuid or '') if 'instance_uuid' in spec else '',
    )


def moves(spec: RequestSpec) -> bool:
    """Does the server exist already? Nova ties it to its cell then (or lets it leave that one)."""
    target = spec.requested_destination if 'requested_destination' in spec else None
    if not target:
        return False
    return bool(('cell' in target and target.cell) or target.allow_cross_cell_move)


def rebuilds(spec: RequestSpec) -> bool:
    """Is it asked only whether the server may stay where it is? Nova's own test fails without hints."""
    hints = spec.scheduler_hints if 'scheduler_hints' in spec else None
    return bool(hints) and request_is_rebuild(spec)


def host_rows(known: Mapping[str, int], hosts: Iterable[HostState]) -> Rows:
    """Row of each host in what is known by name, UNKNOWN where it has none."""
    return np.array([known.get(host.host, UNKNOWN) for host in hosts], dtype=np.intp)


def free_now(hosts: Sequence[HostState], rows: Rows) -> Array:
    """(AXES, hosts): what Nova has free on hosts with a row, with its allocation ratios; 0 on others."""
    found = np.zeros((len(AXES), len(hosts)))
    for row in np.flatnonzero(rows != UNKNOWN).tolist():
        host = hosts[row]
        memory, disk = host.total_usable_ram_mb, 1024.0 * host.total_usable_disk_gb
        found[:, row] = (
            host.vcpus_total * (host.cpu_allocation_ratio or 1.0) - host.vcpus_used,
            memory * (host.ram_allocation_ratio or 1.0) - (memory - host.free_ram_mb),
            (disk * (host.disk_allocation_ratio or 1.0) - host.disk_mb_used) / 1024.0,
        )
    return found


def _disk_gib(spec: RequestSpec) -> float:
    """Of one server on its host; a root disk that is a volume is not there."""
    flavor, volume = spec.flavor, 'is_bfv' in spec and bool(spec.is_bfv)
    parts = ('root_gb', 0.0 if volume else 1.0), ('ephemeral_gb', 1.0), ('swap', 1.0 / 1024.0)
    return float(sum(part * (getattr(flavor, name) or 0) for name, part in parts if name in flavor))


def _hints(spec: RequestSpec) -> Mapping[str, str]:
    """The market's hints; of one that is given several times the first."""
    given: Mapping[str, Any] = (spec.scheduler_hints or {}) if 'scheduler_hints' in spec else {}
    found = {}
    for key, value in given.items():
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, str):
            found[key] = first
    return found
