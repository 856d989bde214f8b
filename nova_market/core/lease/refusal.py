# SPDX-License-Identifier: Apache-2.0
"""Why a lease cannot be had: which requirement fails, on which host, when.

Implements the first half of rule L2 of doc/source/specs/leases.rst, after CloudAlloc, section 4 ("a detailed
report explains to the user what requirement cannot be satisfied"); core.lease.near_option has the second.
Units: seconds, amounts in the units of AXES.
"""

from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.calendar import touched
from nova_market.core.calendar.settling import UNITS
from nova_market.core.lease.cluster import Cluster, eligible, node_amounts
from nova_market.core.lease.greedy import first_place
from nova_market.core.lease.near_option import most_nodes
from nova_market.core.lease.request import LeaseRequest

WHOLE = 'whole'
NODES = 'nodes'


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """requirement: of AXES, 'whole' (the host is not empty) or 'nodes' (each fits, not so many at once)
    host: its name; '': of any host, for an automatic request
    start, end: when it fails first: a part of the only possible time, or the whole window
    wanted, free: amounts, or nodes
    """

    requirement: str
    host: str
    start: float
    end: float
    wanted: float
    free: float

    @property
    def sentence(self) -> str:
        """Without the times, which the caller writes in its reader's zone."""
        where = f'on host {self.host}' if self.host else 'on any one host'
        if self.requirement == NODES:
            return f'{self.wanted:g} nodes are wanted, at most {self.free:g} fit at the same time'
        if self.requirement == WHOLE:
            return f'a whole host is wanted, and {where} something else is booked'
        unit = UNITS[AXES.index(self.requirement)]
        return f'{self.wanted:g} {unit} are wanted, at most {self.free:g} are free {where}'


def faults(hosts: Cluster, lease: LeaseRequest) -> tuple[Fault, ...]:
    """What prevents the lease; (): nothing does.

    Of a manual request each host that has no room, with the amount that lacks most there. Of an automatic one
    the amount that no host has, or else the number of nodes.

    :raises BadLease: it names a host that is not there.
    """
    rows = eligible(hosts, lease)
    if first_place(hosts, lease, rows) is not None:
        return ()
    one = replace(lease, nodes=1)
    if lease.hosts:
        alone = [row for row in rows.tolist() if first_place(hosts, one, np.array([row])) is None]
        if alone:
            return tuple(_on_host(hosts, lease, row) for row in alone)
    if first_place(hosts, one, rows) is None:
        return (_anywhere(hosts, lease, rows.tolist()),)
    most = most_nodes(hosts, lease, rows)
    return (
        Fault(
            requirement=NODES, host='', start=lease.earliest, end=lease.finish,
            wanted=lease.nodes, free=most,
        ),
    )  # fmt: skip


def _anywhere(hosts: Cluster, lease: LeaseRequest, rows: list[int]) -> Fault:
    """The fault of the host that comes nearest; without a host, the fault says that none is there."""
    if not rows:
        return Fault(
            requirement=NODES, host='', start=lease.earliest, end=lease.finish,
            wanted=lease.nodes, free=0,
        )  # fmt: skip
    each = [_on_host(hosts, lease, row) for row in rows]
    return replace(max(each, key=lambda one: one.free / one.wanted), host='')


def _on_host(hosts: Cluster, lease: LeaseRequest, row: int) -> Fault:
    """The first segment of the window in which most lacks; for a window, where it fails at every start."""
    window = (np.array([row]), np.array([lease.earliest]), np.array([lease.finish]))
    low, high = touched(hosts.calendar, *window)
    segments = np.arange(low[0], high[0] + 1)
    wanted = node_amounts(hosts, lease)[:, row]
    free = hosts.calendar.free[:, segments]
    part = np.divide(
        free, wanted[:, None], out=np.full_like(free, np.inf), where=wanted[:, None] > 0
    )
    axis, at = np.unravel_index(int(part.argmin()), part.shape)
    times = hosts.calendar.times
    after = segments[at] + 1
    end = times[after] if after < hosts.calendar.offsets[row + 1] else np.inf
    return Fault(
        requirement=WHOLE if lease.whole else AXES[axis],
        host=hosts.names[row],
        start=max(float(times[segments[at]]), lease.earliest),
        end=min(float(end), lease.finish),
        wanted=float(wanted[axis]),
        free=max(float(free[axis, at]), 0.0),
    )
