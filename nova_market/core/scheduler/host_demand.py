# SPDX-License-Identifier: Apache-2.0
"""What one more server would do to a host: the part of their ideal that its servers would still get.

Implements step two of rule A1 of doc/source/specs/market.rst (Merkat, INRIA RR-8648, section 2.2.3) on what
core.scheduler.snapshot tells of a host. The level of a host is the u in [0, 1] at which its servers
together take what it has:

    sum_j min(cap_j, u * bid_j / price) + min(cap, u * bid / price) = capacity        (1 when that fits)

so 1 - u is the allocation error, eq. (2), of everybody there who is not full, and price / u what a unit
costs there. Between the points of the snapshot the sum is taken to be straight; being concave it lies above,
so the level is somewhat too high: by at most a quarter, and exact where nobody is full or everybody is.

Servers that came to a host since the round (`newcomers`) are taken to be like the one that is asked for:
otherwise all requests between two rounds would choose the same host.

Arrays (resources, hosts).
"""

import numpy as np

from nova_market.core.market.bid import ABSENT
from nova_market.core.market.price import wishes
from nova_market.core.resource import Array, Rows
from nova_market.core.scheduler.request import ServerRequest
from nova_market.core.scheduler.snapshot import LEVELS, SchedulerSnapshot


def intended_bid(snapshot: SchedulerSnapshot, request: ServerRequest) -> Array:
    """(resources,) micro-credits per period: the bid, where one is set, otherwise price times a_max (B1)."""
    bid = np.array(request.bid, dtype=np.float64)
    default = snapshot.price * np.array(request.limit)
    found: Array = np.where(bid == ABSENT, default, bid)
    return found


def newcomers_since(
    snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows, used: Array
) -> Array:
    """(len(rows),) how many servers of this size have come since the round; 0 on unknown hosts.

    used: vCPUs that Nova counts on each host now
    """
    more = np.maximum(used - snapshot.vcpus[rows], 0.0) if len(snapshot.vcpus) else 0.0 * used
    found: Array = np.where(rows >= 0, more / max(request.size[0], 1.0), 0.0)
    return found


def levels_after(
    snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows, newcomers: Array | None = None
) -> Array:
    """(resources, len(rows)): the level of these hosts if they took the request's server too.

    1 of what a host does not sell: there everybody gets what he can use (B5).
    newcomers: (len(rows),) servers like this one that have come since the round
    """
    count = np.ones(len(rows)) if newcomers is None else 1.0 + newcomers
    points = np.array([0.0, *LEVELS])
    demand = np.zeros((len(points), *snapshot.capacity[:, rows].shape))
    demand[1:] = snapshot.demand[:, :, rows] + _own(snapshot, request)[:, :, None] * count
    capacity = snapshot.capacity[:, rows]
    level = np.ones(capacity.shape)
    for i in range(len(points) - 1, 0, -1):
        below, above = demand[i - 1], demand[i]
        crossed = above > capacity
        rise = np.where(above > below, above - below, 1.0)
        part = np.clip((capacity - below) / rise, 0.0, 1.0)
        at = points[i - 1] + part * (points[i] - points[i - 1])
        level = np.where(crossed, np.minimum(level, at), level)
    level[~snapshot.sells[:, rows]] = 1.0
    return level


def _own(snapshot: SchedulerSnapshot, request: ServerRequest) -> Array:
    """(levels, resources) what the request's server wants."""
    bid, limit = intended_bid(snapshot, request), np.array(request.limit)
    wanted = np.zeros((len(LEVELS), len(limit)))
    for i, level in enumerate(LEVELS):
        for r, price in enumerate(snapshot.price.tolist()):
            own = wishes(bid[r : r + 1] * level, limit[r : r + 1], price)[0]
            # nothing is paid for at price 0: whoever can use it takes it
            wanted[i, r] = own if price > 0 else level * limit[r]
    return wanted
