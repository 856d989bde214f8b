# SPDX-License-Identifier: Apache-2.0
"""Time cut where leases may start or end: what hosts have free in each slot, and what it costs to use them.

For the algorithms of rule L3 (doc/source/specs/leases.rst). An option is a lease and one of the starts that
are looked at; it covers whole slots, so the least that is free in a slot and the time in which its host would
be off without leases are all that a placement depends on, and nothing is lost. Arrays (hosts, slots),
(AXES, hosts, slots) and (options, hosts). Units: seconds, amounts in the units of AXES, cost of the rates.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.calendar.calendar import touched
from nova_market.core.calendar.grain import instants
from nova_market.core.lease.cluster import Cluster, eligible, node_amounts
from nova_market.core.lease.objective import Rates
from nova_market.core.lease.place import Assignment
from nova_market.core.lease.request import LeaseRequest, busy_cores
from nova_market.core.resource import Array, Flags, Rows


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Grid:
    """edges:   (slots + 1,) ascending
    free:    (AXES, hosts, slots) what is free during the whole of a slot
    unpaid:  (hosts, slots) seconds of it for which the host would be off without leases
    lease:   (options,) row; by lease, then by start
    start:   (options,) seconds
    first, last: (options,) the slots of an option are first to last - 1
    cost:    (options, hosts) of a node, without what it costs to have the host on; inf: not on this host
    amounts: (AXES, options, hosts) of a node
    busy:    (options, hosts) cores of a node
    """

    edges: Array
    free: Array
    unpaid: Array
    lease: Rows
    start: Array
    first: Rows
    last: Rows
    cost: Array
    amounts: Array
    busy: Array

    @property
    def seconds(self) -> Array:
        """(slots,) their lengths."""
        return np.diff(self.edges)

    def options_of(self, lease: int) -> Rows:
        low, high = np.searchsorted(self.lease, [lease, lease + 1])
        return np.arange(low, high)


def grid(
    hosts: Cluster,
    leases: Sequence[LeaseRequest],
    rates: Rates,
    starts: int,
    also: Sequence[Assignment] = (),
) -> Grid:
    """The slots of these leases. starts: how many of a window are looked at; also: places whose starts are.

    With starts of 0 only those of the places are options, so that a lease without a place has none.

    :raises BadLease: a lease names a host that is not there.
    """
    options = [
        (row, start)
        for row, lease in enumerate(leases)
        for start in starts_of(lease, starts, _starts_in(also, row))
    ]
    lease = np.array([row for row, _ in options], dtype=np.intp)
    start = np.array([when for _, when in options], dtype=np.float64)
    end = start + np.array([leases[row].duration for row, _ in options], dtype=np.float64)
    edges = np.unique(np.concatenate([start, end]))
    shape = (len(options), len(hosts))
    cost, busy = np.full(shape, np.inf), np.zeros(shape)
    amounts = np.zeros((len(hosts.whole), *shape))
    for row, one in enumerate(leases):
        mine, allowed = lease == row, eligible(hosts, one)
        taken, loads = node_amounts(hosts, one), busy_cores(one, hosts.cores)
        amounts[:, mine], busy[mine] = taken[:, None, :], loads
        rate = rates.busy * loads + (rates.booked * taken).sum(axis=0) + rates.square * loads**2
        late = rates.late * (start[mine] - one.earliest)
        cost[np.ix_(mine, allowed)] = (one.duration * rate)[allowed] + late[:, None]
    return Grid(
        edges=edges, free=_free(hosts, edges), unpaid=_unpaid(hosts, edges),
        lease=lease, start=start,
        first=np.searchsorted(edges, start), last=np.searchsorted(edges, end),
        cost=cost, amounts=amounts, busy=busy,
    )  # fmt: skip


def starts_of(lease: LeaseRequest, most: int, also: Sequence[float] = ()) -> list[float]:
    """The starts that are looked at: both ends of the window, and evenly between them; and those given."""
    if not most:
        return sorted(set(also))
    if lease.fixed:
        return [lease.earliest]
    even = np.linspace(lease.earliest, lease.latest, max(most, 2))
    found: list[float] = np.unique(np.concatenate([instants(even), list(also)])).tolist()
    return [start for start in found if lease.earliest <= start <= lease.latest]


def _starts_in(also: Sequence[Assignment], row: int) -> list[float]:
    return [place.start for one in also if (place := one[row]) is not None]


def fits(free: Array, amounts: Array) -> Flags:
    """(hosts,): is this much, (AXES, hosts), free in all of these slots, (AXES, hosts, slots)?

    An axis of zero is not asked for.
    """
    enough: Flags = ((free.min(axis=2) >= amounts) | (amounts == 0.0)).all(axis=0)
    return enough


def _free(hosts: Cluster, edges: Array) -> Array:
    slots = len(edges) - 1
    if slots < 1 or not len(hosts):
        return np.zeros((len(hosts.whole), len(hosts), max(slots, 0)))
    row = np.repeat(np.arange(len(hosts)), slots)
    low, high = touched(
        hosts.calendar, row, np.tile(edges[:-1], len(hosts)), np.tile(edges[1:], len(hosts))
    )
    # reduceat takes no index behind the last element: one column more, which no slot touches
    free = np.concatenate([hosts.calendar.free, np.zeros((len(hosts.whole), 1))], axis=1)
    cuts = np.stack([low, high + 1], axis=1).ravel()
    least: Array = np.minimum.reduceat(free, cuts, axis=1)[:, ::2]
    return least.reshape(len(hosts.whole), len(hosts), slots)


def _unpaid(hosts: Cluster, edges: Array) -> Array:
    """A host is on anyway while something is booked there that does not move, and always if it stays on."""
    calendar, result = hosts.calendar, np.zeros((len(hosts), max(len(edges) - 1, 0)))
    if not result.size:
        return result
    idle: Flags = np.asarray((calendar.free >= hosts.whole[:, calendar.host]).all(axis=0))
    for host in np.flatnonzero(~hosts.stays_on):
        rows = slice(calendar.offsets[host], calendar.offsets[host + 1])
        times = calendar.times[rows]
        at = np.unique(np.concatenate([edges, times[(times > edges[0]) & (times < edges[-1])]]))
        off = idle[rows][np.searchsorted(times, at[:-1], side='right') - 1]
        before = np.concatenate([[0.0], np.cumsum(np.diff(at) * off)])
        result[host] = np.diff(before[np.searchsorted(at, edges)])
    return result
