# SPDX-License-Identifier: Apache-2.0
"""What a lease asks for: nodes, each a whole host or a part of one, for a duration within a window.

Implements rule L1 of doc/source/specs/leases.rst, after CloudAlloc, sections 1 and 4 (scenario 2). Units:
seconds of the caller's clock, amounts in the units of core.calendar.axes.

The paper asks for "20 cores at 30 percent utilization" and writes the product as c. Here the two have
separate uses: the cores are booked, as Placement counts them, since it is Placement that must accept the
servers; cores x utilisation are expected to be busy, and draw power.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nova_market.core.calendar.axes import AXES, CORES, amounts
from nova_market.core.calendar.booking import Request
from nova_market.core.calendar.grain import not_after, not_before, on_grid
from nova_market.core.resource import Array
from nova_market.errors import BadBooking, BadLease


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LeaseRequest:
    """Nodes are on different hosts, and start together.

    amounts:     (AXES,) of one node; zeros where it is a whole host
    whole:       a node is a whole host, which nobody else uses meanwhile
    utilisation: part of its cores that a node is expected to keep busy, above 0 and up to 1
    earliest, finish: the window; a lease whose window is as long as its duration has a fixed start
    hosts:       names, one for each node: a manual request; (): any
    """

    id: str
    nodes: int
    amounts: Array
    whole: bool
    utilisation: float
    duration: float
    earliest: float
    finish: float
    hosts: tuple[str, ...]

    @property
    def latest(self) -> float:
        """The latest start."""
        return self.finish - self.duration

    @property
    def fixed(self) -> bool:
        return self.latest <= self.earliest

    @property
    def window(self) -> Request:
        """What one node asks of the calendar. Of a whole host: one core, the caller knows of which."""
        wanted = amounts(cores=1.0) if self.whole else self.amounts
        return Request(
            amounts=wanted, duration=self.duration, earliest=self.earliest, finish=self.finish
        )


def automatic(
    lease: str,
    *,
    nodes: int = 1,
    cores: float = 0.0,
    memory_mib: float = 0.0,
    disk_gib: float = 0.0,
    whole: bool = False,
    utilisation: float = 1.0,
    duration: float,
    earliest: float,
    finish: float | None = None,
    hosts: Sequence[str] = (),
) -> LeaseRequest:
    """A request whose hosts are chosen, checked and on the grid of the calendar; `finish` None = fixed start.

    Amounts are those of one node. hosts: the names, if the owner chose them (`manual`).

    :raises BadLease: names what was given, and what may be.
    """
    if nodes < 1:
        raise BadLease(f'{lease}: {nodes} nodes cannot be leased: give at least 1')
    if not 0.0 < utilisation <= 1.0:
        raise BadLease(
            f'{lease}: a utilisation of {utilisation:g} is not possible: give more than 0, up to 1'
        )
    if not (duration > 0.0 and math.isfinite(duration) and math.isfinite(earliest)):
        raise BadLease(
            f'{lease}: a duration of {duration:g} s from {earliest:g} on cannot be leased: '
            'give a finite start and a finite duration above 0'
        )
    try:
        wanted = on_grid(amounts(cores=cores, memory_mib=memory_mib, disk_gib=disk_gib))
        length, begin = float(not_before(duration)), float(not_before(earliest))
        end = begin + length if finish is None else float(not_after(finish))
    except BadBooking as error:
        raise BadLease(f'{lease}: {error}') from None
    if whole == bool(wanted.any()):
        raise BadLease(
            f'{lease}: a node is a whole host or has amounts: give either, at least one of {", ".join(AXES)}'
        )
    if not end - begin >= length:
        raise BadLease(
            f'{lease}: the window of {end - begin:g} s is shorter than the duration of {length:g} s: '
            'give a later finish, an earlier start or a shorter duration'
        )
    return LeaseRequest(
        id=lease, nodes=nodes, amounts=wanted, whole=whole, utilisation=utilisation,
        duration=length, earliest=begin, finish=end, hosts=tuple(hosts),
    )  # fmt: skip


def manual(lease: str, *, hosts: Sequence[str], **asked: float | bool | None) -> LeaseRequest:
    """A request for these hosts, a node on each; the rest as for `automatic`.

    :raises BadLease: no host, or one twice; and as `automatic`.
    """
    if not hosts or len(set(hosts)) < len(hosts):
        raise BadLease(
            f'{lease}: the hosts {", ".join(hosts) or "(none)"} cannot be leased: name each of them once'
        )
    return automatic(lease, nodes=len(hosts), hosts=hosts, **asked)  # type: ignore[arg-type]


def busy_cores(lease: LeaseRequest, cores: Array) -> Array:
    """(hosts,): cores that one node is expected to keep busy, on a host of so many (hosts,)."""
    return lease.utilisation * (cores if lease.whole else 0.0 * cores + lease.amounts[CORES])
