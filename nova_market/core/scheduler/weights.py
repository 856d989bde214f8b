# SPDX-License-Identifier: Apache-2.0
"""Which of the hosts that can take a server should: five opinions, one number per host, more is better.

Implements rule S3 of doc/source/specs/market.rst: bid load; allocation error (Merkat, INRIA RR-8648,
eq. (2)); heaviness (spread heavy projects away from light ones); watts per core (CloudAlloc, greedy order);
most servers first (INRIA RR-7837, section 3.3.1). Each gives (len(rows),) or None for no opinion. A host that
the snapshot does not know is as good as the mean of those it knows. newcomers: as in
core.scheduler.host_demand.

Range: loads and watts have no bound, so they count by comparison with the other candidates; errors
and heaviness are within [-1, 0], where the same difference counts the same in every request.
"""

import numpy as np

from nova_market.core.resource import Array, Rows
from nova_market.core.scheduler.filters import UNKNOWN
from nova_market.core.scheduler.host_demand import intended_bid, levels_after
from nova_market.core.scheduler.request import ServerRequest
from nova_market.core.scheduler.snapshot import SchedulerSnapshot


def by_bid_load(
    snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows, newcomers: Array
) -> Array | None:
    """- max_r (bids on the host + own and newcomers' bids) / (capacity * bid price); 1: as the mean.

    A host that has nothing of what is bid for is twice as loaded as any other: a number without bound would
    make all others look alike. What a host does not sell is no load on it (B5). No opinion where nobody bids
    for anything.
    """
    priced = np.flatnonzero(snapshot.bid_price > 0)
    if not len(priced):
        return None
    known = rows[rows != UNKNOWN]
    count = 1.0 + newcomers[rows != UNKNOWN]
    own = intended_bid(snapshot, request)[priced, None] * count
    bids = snapshot.bids[np.ix_(priced, known)] + own
    worth = snapshot.capacity[np.ix_(priced, known)] * snapshot.bid_price[priced, None]
    loads = np.divide(bids, worth, out=np.zeros(bids.shape), where=worth > 0)
    load = np.minimum(loads.max(axis=0), _MOST)
    nothing = ((worth <= 0) & snapshot.sells[np.ix_(priced, known)]).any(axis=0)
    load[nothing] = 2.0 * load[~nothing].max(initial=1.0)
    return _everywhere(-load, rows)


def by_allocation_error(
    snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows, newcomers: Array
) -> Array | None:
    """- the largest allocation error on the host with the server on it, in [-1, 0]."""
    known = rows[rows != UNKNOWN]
    come = newcomers[rows != UNKNOWN]
    return _everywhere(levels_after(snapshot, request, known, come).min(axis=0) - 1.0, rows)


def by_heaviness(snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows) -> Array | None:
    """- d / (1 + d), d = |heaviness of the project - mean of those on the host|; 0 where nobody is."""
    owner = snapshot.projects.get(request.project_id)
    if snapshot.heaviness is None or snapshot.host_heaviness is None or owner is None:
        return None
    own = float(snapshot.heaviness[owner])
    if np.isnan(own):
        return None
    apart = np.abs(snapshot.host_heaviness[rows[rows != UNKNOWN]] - own)
    apart = np.where(np.isnan(apart), 0.0, apart)
    return _everywhere(-apart / (1.0 + apart), rows)


def by_watts(snapshot: SchedulerSnapshot, rows: Rows) -> Array | None:
    """- (base + peak * cores) / cores: what a core of the host costs when all of them are busy."""
    if snapshot.watts is None:
        return None
    known = rows[rows != UNKNOWN]
    base, peak = snapshot.watts[:, known]
    cores = snapshot.capacity[0, known]
    per_core = np.divide(base, cores, out=np.full(len(known), np.nan), where=cores > 0) + peak
    if np.isnan(per_core).all():
        return None
    return _everywhere(-np.where(np.isnan(per_core), np.nanmean(per_core), per_core), rows)


def by_servers(servers: Array) -> Array:
    """The number of servers on each host: the fullest first, so that others stay empty."""
    return servers


_MOST = 1e6
"""No load is larger: what is left of a host may be next to nothing."""


def _everywhere(values: Array, rows: Rows) -> Array | None:
    """The values of known hosts, and their mean for the others; None when none is known."""
    if not len(values):
        return None
    found = np.full(len(rows), values.mean())
    found[rows != UNKNOWN] = values
    return found
