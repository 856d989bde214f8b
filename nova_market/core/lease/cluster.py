# SPDX-License-Identifier: Apache-2.0
"""The hosts that leases are placed on: what they have free when, and what they draw.

Implements the frozen input of rules L3 and W1 of doc/source/specs/leases.rst, after CloudAlloc, section 2.
Units: seconds, watts, micro-credits per unit and second, amounts in the units of AXES. Arrays (hosts,) and
(AXES, hosts).
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from nova_market.core.calendar.axes import AXES, CORES
from nova_market.core.calendar.calendar import Calendar
from nova_market.core.lease.request import LeaseRequest
from nova_market.core.resource import Array, Flags, Rows
from nova_market.errors import BadLease


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Cluster:
    """Make it with `cluster`, which checks.

    calendar: with all that is booked and does not move; no limit of one server: a node may be many
    whole:    (AXES, hosts) what a host has
    cores:    (hosts,) physical ones, which draw power; `whole` may have more by the allocation ratio
    base_w:   (hosts,) watts of a host that is on and idle; peak_w: what a full load adds to that
    stays_on: (hosts,) never powered down, so that its base costs a lease nothing
    price:    (AXES, hosts) what an amount costs for a second
    """

    names: tuple[str, ...]
    calendar: Calendar
    whole: Array
    cores: Array
    base_w: Array
    peak_w: Array
    stays_on: Flags
    price: Array

    def __len__(self) -> int:
        return len(self.names)


def cluster(
    names: tuple[str, ...],
    calendar: Calendar,
    whole: Array,
    *,
    base_w: npt.ArrayLike,
    peak_w: npt.ArrayLike,
    cores: npt.ArrayLike | None = None,
    stays_on: npt.ArrayLike | None = None,
    price: npt.ArrayLike | None = None,
) -> Cluster:
    """Hosts, checked. cores: None = as many as are booked; stays_on: None = none; price: None = nothing.

    :raises BadLease: columns of different lengths; a host without cores; watts below zero.
    """
    hosts = len(names)
    physical = np.array(whole[CORES] if cores is None else cores, dtype=np.float64)
    base, peak = np.asarray(base_w, dtype=np.float64), np.asarray(peak_w, dtype=np.float64)
    if not (calendar.hosts == whole.shape[1] == len(physical) == len(base) == len(peak) == hosts):
        raise BadLease(
            f'columns of different lengths for {hosts} hosts: give one value for each host'
        )
    wrong = np.flatnonzero(~((physical > 0) & (base >= 0) & (peak >= 0)))
    if len(wrong):
        row = int(wrong[0])
        raise BadLease(
            f'host {names[row]} has {physical[row]:g} cores, {base[row]:g} W idle and {peak[row]:g} W above: '
            'give more than 0 cores, and watts of 0 or more'
        )
    return Cluster(
        names=names,
        calendar=replace(calendar, largest=np.full((len(AXES), hosts), np.inf)),
        whole=whole,
        cores=physical,
        base_w=base,
        peak_w=peak,
        stays_on=np.zeros(hosts, dtype=np.bool_)
        if stays_on is None
        else np.asarray(stays_on, dtype=np.bool_),
        price=np.zeros((len(AXES), hosts))
        if price is None
        else np.asarray(price, dtype=np.float64),
    )


def node_amounts(hosts: Cluster, lease: LeaseRequest) -> Array:
    """(AXES, hosts): what a node of the lease takes on each host."""
    if lease.whole:
        return hosts.whole
    return np.repeat(lease.amounts[:, None], len(hosts), axis=1)


def eligible(hosts: Cluster, lease: LeaseRequest) -> Rows:
    """Rows of the hosts that may have a node of the lease, in the order of the request or of the cluster.

    :raises BadLease: it names a host that is not in the cluster.
    """
    if not lease.hosts:
        return np.flatnonzero((hosts.whole > 0).any(axis=0))
    row = {name: number for number, name in enumerate(hosts.names)}
    unknown = [name for name in lease.hosts if name not in row]
    if unknown:
        raise BadLease(
            f'{lease.id}: there is no host {", ".join(unknown)} that can be leased: '
            'choose hosts of the cluster'
        )
    return np.array([row[name] for name in lease.hosts], dtype=np.intp)


def view(hosts: Cluster, lease: LeaseRequest) -> Calendar:
    """The calendar in which the window of this lease is looked up (`LeaseRequest.window`).

    Of a whole host everything must be free, so its hosts count as one core, free or not.
    """
    if not lease.whole:
        return hosts.calendar
    host = hosts.calendar.host
    empty = (hosts.calendar.free >= hosts.whole[:, host]).all(axis=0)
    offered: Flags = np.asarray((hosts.whole > 0).any(axis=0))
    free = np.zeros_like(hosts.calendar.free)
    free[CORES] = empty & offered[host]
    return replace(hosts.calendar, free=free)
