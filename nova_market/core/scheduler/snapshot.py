# SPDX-License-Identifier: Apache-2.0
"""What Nova's scheduler knows of the market: one frozen picture of a round, as a value and as a document.

Implements rule S2 of doc/source/specs/market.rst. Units: cores and MiB; prices, bids and balances in
micro-credits (per unit and period, per period, whole); times in seconds. Arrays (resources, hosts) and
(projects,), resources in the order of MARKET_RESOURCES.

What is on a host is published in few numbers, not server by server: how much its servers want together at
LEVELS parts of what their bids buy in the undivided cloud. That function of the level is concave, and
straight between the points, which is where the error of one more server is read off.

The document comes from another machine: core.scheduler.snapshot_reader bounds what is read of it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.price import wishes
from nova_market.core.market.round import RoundOutcome
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.resource import Array, Flags
from nova_market.core.scheduler.reserved import Reserved, plain, reserved_from, table_of
from nova_market.core.scheduler.snapshot_reader import (
    SnapshotDocument,
    Table,
    array,
    document_from,
    needed,
    rows,
)
from nova_market.errors import BadSnapshot

FORMAT = 1
LEVELS = (0.25, 0.5, 0.75, 1.0)
WIDTH = len(MARKET_RESOURCES)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SchedulerSnapshot:
    """period, age: the round, and how many seconds ago it began when this was read
    price, bid_price: (resources,)
    hosts:     rows of those that take part in the market; capacity, bids: (resources, hosts)
    sold:      (resources, hosts) what is sold there (B5); None: everything
    demand:    (levels, resources, hosts) what the servers of a host want at LEVELS
    vcpus:     (hosts,) of all servers that were on the host, running or not
    projects:  rows; available, due: (projects,) what it has, what it pays a period
    used:      (resources, projects) what its servers may use at most
    share:     (projects,) granted part of the cloud, NaN = none; None: shares are not published
    heaviness: (projects,), host_heaviness: (hosts,) mean of the servers' owners, NaN = nobody is there;
               None: not published
    reserved:  what leases have reserved; None: not published
    watts:     (2, hosts) of a host at rest, and of one busy core on top, NaN = not known;
               None: not published
    """

    period: int
    age: float
    price: Array
    bid_price: Array
    hosts: Mapping[str, int]
    capacity: Array
    bids: Array
    demand: Array
    vcpus: Array
    projects: Mapping[str, int]
    available: Array
    due: Array
    used: Array
    share: Array | None = None
    heaviness: Array | None = None
    host_heaviness: Array | None = None
    reserved: Reserved | None = None
    watts: Array | None = None
    sold: Flags | None = None

    @property
    def sells(self) -> Flags:
        """(resources, hosts): as `sold`, whether it is stated or not."""
        return np.ones(self.capacity.shape, dtype=np.bool_) if self.sold is None else self.sold


def round_snapshot(
    period: int,
    market: MarketSnapshot,
    outcome: RoundOutcome,
    *,
    hosts: Mapping[str, int],
    vcpus: Array,
    projects: Sequence[str],
    available: Array,
    due: Array | None = None,
    used: Array | None = None,
) -> SchedulerSnapshot:
    """The picture of a round that was decided now, of all hosts. Arguments as the fields of the same names.

    due, used: None where no project pays for a server of its own
    """
    count = len(projects)
    # bincount gives whole numbers where there is no server
    bids = [np.bincount(market.host, bid, len(hosts)) for bid in outcome.bids]
    return SchedulerSnapshot(
        period=period,
        age=0.0,
        price=outcome.price,
        bid_price=outcome.bid_price,
        hosts=hosts,
        capacity=market.capacity,
        bids=np.array(bids, dtype=np.float64),
        demand=demand_at_levels(market, outcome),
        vcpus=vcpus,
        projects={name: row for row, name in enumerate(projects)},
        available=available,
        due=np.zeros(count) if due is None else due,
        used=np.zeros((WIDTH, count)) if used is None else used,
        sold=None if market.sells.all() else market.sells,
    )


def demand_at_levels(snapshot: MarketSnapshot, outcome: RoundOutcome) -> Array:
    """(levels, resources, hosts): sum over the servers of a host of min(a_max, level * bid / price).

    At price 0 everybody gets what he can use; then it is level * a_max.
    """
    hosts = snapshot.capacity.shape[1]
    found = np.zeros((len(LEVELS), WIDTH, hosts))
    for i, level in enumerate(LEVELS):
        for r in range(WIDTH):
            bids, caps = outcome.bids[r].astype(np.float64), snapshot.caps[r]
            price = float(outcome.price[r])
            wanted = wishes(bids * level, caps, price) * (level if price <= 0 else 1.0)
            found[i, r] = np.bincount(snapshot.host, wanted, hosts)
    return found


def snapshot_from(given: object) -> SchedulerSnapshot:
    """Read the published document, given as the values that JSON has.

    :raises BadSnapshot: names what is wrong; nothing of it may be used then.
    """
    return snapshot_of(document_from(given))


def snapshot_of(document: SnapshotDocument) -> SchedulerSnapshot:
    """The snapshot of a document, once its format, shapes and names are checked.

    :raises BadSnapshot: as snapshot_from.
    """
    if document.format != FORMAT:
        raise BadSnapshot(f'format {document.format} of the snapshot: this version reads {FORMAT}')
    if tuple(document.levels) != LEVELS:
        raise BadSnapshot(f'levels {document.levels}: this version reads {list(LEVELS)}')
    hosts, projects = needed(document.hosts, 'hosts'), needed(document.projects, 'projects')
    count, owners = len(hosts.name), len(projects.id)
    reserved = document.reserved
    return SchedulerSnapshot(
        period=document.period,
        age=document.age,
        price=array(document.price, 'price', (WIDTH,)),
        bid_price=array(document.bid_price, 'bid_price', (WIDTH,)),
        hosts=rows(hosts.name, 'hosts'),
        capacity=array(hosts.capacity, 'hosts.capacity', (WIDTH, count)),
        bids=array(hosts.bids, 'hosts.bids', (WIDTH, count)),
        demand=array(hosts.demand, 'hosts.demand', (len(LEVELS), WIDTH, count)),
        vcpus=array(hosts.vcpus, 'hosts.vcpus', (count,)),
        projects=rows(projects.id, 'projects'),
        available=array(projects.available, 'projects.available', (owners,)),
        due=array(projects.due, 'projects.due', (owners,)),
        used=array(projects.used, 'projects.used', (WIDTH, owners)),
        share=_optional(projects.share, 'projects.share', (owners,)),
        heaviness=_optional(projects.heaviness, 'projects.heaviness', (owners,)),
        host_heaviness=_optional(hosts.heaviness, 'hosts.heaviness', (count,)),
        watts=_optional(hosts.watts, 'hosts.watts', (2, count)),
        reserved=None if reserved is None else reserved_from(reserved),
        sold=None if hosts.sold is None else array(hosts.sold, 'hosts.sold', (WIDTH, count)) > 0,
    )


def document_of(snapshot: SchedulerSnapshot) -> dict[str, object]:
    """The document of a snapshot, as JSON has it; `snapshot_from` reads the same snapshot back."""
    hosts: dict[str, object] = {
        'name': _texts(snapshot.hosts),
        'capacity': snapshot.capacity.tolist(),
        'bids': snapshot.bids.tolist(),
        'demand': snapshot.demand.tolist(),
        'vcpus': snapshot.vcpus.tolist(),
        **_with_gaps('heaviness', snapshot.host_heaviness),
        **_with_gaps('watts', snapshot.watts),
        **({} if snapshot.sold is None else {'sold': snapshot.sold.tolist()}),
    }
    projects: dict[str, object] = {
        'id': _texts(snapshot.projects),
        'available': snapshot.available.tolist(),
        'due': snapshot.due.tolist(),
        'used': snapshot.used.tolist(),
        **_with_gaps('share', snapshot.share),
        **_with_gaps('heaviness', snapshot.heaviness),
    }
    reserved = snapshot.reserved
    document = None if reserved is None else plain(table_of(reserved))
    return {
        'format': FORMAT,
        'period': snapshot.period,
        'age': snapshot.age,
        'levels': list(LEVELS),
        'price': snapshot.price.tolist(),
        'bid_price': snapshot.bid_price.tolist(),
        'hosts': hosts,
        'projects': projects,
        **({} if document is None else {'reserved': document}),
    }


def _optional(table: Table | None, name: str, shape: tuple[int, ...]) -> Array | None:
    return None if table is None else array(table, name, shape)


def _texts(names: Mapping[str, int]) -> list[str]:
    """Names in the order of their rows."""
    return sorted(names, key=names.__getitem__)


def _with_gaps(key: str, table: Array | None) -> dict[str, object]:
    """{key: table with null for NaN}, or nothing."""
    return {} if table is None else {key: _with_null(table.tolist())}


def _with_null(found: object) -> object:
    if isinstance(found, list):
        return [_with_null(one) for one in found]
    return None if isinstance(found, float) and math.isnan(found) else found
