# SPDX-License-Identifier: Apache-2.0
"""Nova's objects as the market's values: a RequestSpec, and rows of HostStates. Reads no database."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from nova.objects.request_spec import RequestSpec
from nova.scheduler.host_manager import HostState
from nova.scheduler.utils import request_is_rebuild

from nova_market.core.resource import Rows
from nova_market.core.scheduler.filters import UNKNOWN
from nova_market.core.scheduler.request import ServerRequest, request_of
from nova_market.core.scheduler.snapshot import SchedulerSnapshot


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


def host_rows(snapshot: SchedulerSnapshot, hosts: Iterable[HostState]) -> Rows:
    """Row of each host in the snapshot, UNKNOWN where it has none."""
    known = snapshot.hosts
    return np.array([known.get(host.host, UNKNOWN) for host in hosts], dtype=np.intp)


def _hints(spec: RequestSpec) -> Mapping[str, str]:
    """The market's hints; of one that is given several times the first."""
    given: Mapping[str, Any] = (spec.scheduler_hints or {}) if 'scheduler_hints' in spec else {}
    found = {}
    for key, value in given.items():
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, str):
            found[key] = first
    return found
