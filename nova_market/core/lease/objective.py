# SPDX-License-Identifier: Apache-2.0
"""What a placement costs: the objectives, which are plug-ins of `nova_market.objective`.

Implements rule L3 of doc/source/specs/leases.rst, after CloudAlloc, section 1 ("maximize utilization of each
node, minimize completion time, minimize power usage, and so on"). An objective is a function of the cluster
that returns rates; every algorithm minimises their sum:

    sum over hosts  on_j     * time that j is on for leases only
                  + busy_j   * busy core-seconds
                  + booked_j * booked amount-seconds
                  + square_j * integral of (busy cores)^2
    + late * seconds that nodes end after their earliest end

Units: those of the objective per second. Arrays (hosts,) and (AXES, hosts).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nova_market.core.lease.cluster import Cluster
from nova_market.core.resource import Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rates:
    """unit: what the sum is in; the other fields as in the formula of the module; all of them 0 or more"""

    unit: str
    on: Array
    busy: Array
    booked: Array
    square: Array
    late: float

    @property
    def separable(self) -> bool:
        """No square: then a linear program can minimise it."""
        return not self.square.any()


Objective = Callable[[Cluster], Rates]


def power(hosts: Cluster) -> Rates:
    """Joules, as core.lease.power: the objective (1) of the paper."""
    return _rates(
        hosts, 'J', on=np.where(hosts.stays_on, 0.0, hosts.base_w), busy=hosts.peak_w / hosts.cores
    )


def earliest_finish(hosts: Cluster) -> Rates:
    """Seconds by which nodes end later than they could."""
    return _rates(hosts, 's', late=1.0)


def fewest_hosts(hosts: Cluster) -> Rates:
    """Seconds that hosts are on."""
    return _rates(hosts, 'host-seconds', on=np.where(hosts.stays_on, 0.0, 1.0))


def balance(hosts: Cluster) -> Rates:
    """Integral of the squared utilisation of hosts: least where all have the same."""
    return _rates(hosts, 'utilisation^2-seconds', square=1.0 / hosts.cores**2)


def price(hosts: Cluster) -> Rates:
    """What the booked amounts cost at the prices of the hosts."""
    return _rates(hosts, 'micro-credits', booked=hosts.price)


def full_host_key(hosts: Cluster, rates: Rates) -> Array:
    """(hosts,): the cost of a busy core of a full host for a second; the greedy fills the cheapest first.

    For `power` it is `consistent_key`.
    """
    full = rates.on + rates.busy * hosts.cores + (rates.booked * hosts.whole).sum(axis=0)
    key: Array = (full + rates.square * hosts.cores**2) / hosts.cores
    return key


def _rates(
    hosts: Cluster,
    unit: str,
    *,
    on: Array | None = None,
    busy: Array | None = None,
    booked: Array | None = None,
    square: Array | None = None,
    late: float = 0.0,
) -> Rates:
    nothing = np.zeros(len(hosts))
    return Rates(
        unit=unit,
        on=nothing if on is None else on,
        busy=nothing if busy is None else busy,
        booked=np.zeros_like(hosts.whole) if booked is None else booked,
        square=nothing if square is None else square,
        late=late,
    )
