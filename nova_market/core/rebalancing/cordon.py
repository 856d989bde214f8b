# SPDX-License-Identifier: Apache-2.0
"""Which hosts are closed to servers of the market, for steering that reaches beyond the scheduler.

Only the first candidates of Placement reach filters and weighers; a trait on a host's provider reaches all,
and servers that move as well as new ones. A host is closed when what its servers should get is more than so
many times what it has, and opened when it is less than so many times: between the two it stays as it is, so
that it does not go back and forth.

Arrays (hosts,), (resources, hosts).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.rebalancing.layout import load
from nova_market.core.resource import Array, Flags, HostName, Rows

CLOSED_TRAIT = 'CUSTOM_NOVA_MARKET_CLOSED'


@dataclass(frozen=True, slots=True, kw_only=True)
class CordonPlan:
    """Hosts to open and hosts to close now, in this order."""

    opened: tuple[HostName, ...]
    closed: tuple[HostName, ...]


def cordon_plan(
    names: Sequence[HostName], before: Collection[HostName], after: Flags, most: int
) -> CordonPlan:
    """At most so many changes: hosts that are gone and hosts to open come before those to close.

    names, after: (hosts,) and which of them are to be closed; before: those that are
    """
    wanted = dict(zip(names, after.tolist(), strict=True))
    gone = sorted(set(before) - set(names))
    opened = [name for name in names if name in before and not wanted[name]]
    closed = [name for name in names if name not in before and wanted[name]]
    first = [*gone, *opened]
    return CordonPlan(opened=tuple(first[:most]), closed=tuple(closed[: max(0, most - len(first))]))


def host_loads(ideal: Array, host: Rows, capacity: Array) -> Array:
    """(hosts,) sum of ideal allocations over capacity, the larger over resources."""
    hosts = capacity.shape[1]
    wanted = [np.bincount(host, row, hosts) for row in ideal]
    return load(np.array(wanted, dtype=np.float64), capacity)


def closed_hosts(
    loads: Array, closed: Flags, answering: Flags, close_above: float, open_below: float
) -> Flags:
    """Which are closed from now on; a host that does not answer stays as it is."""
    found: Flags = np.where(closed, loads >= open_below, loads > close_above)
    kept: Flags = np.where(answering, found, closed)
    return kept
