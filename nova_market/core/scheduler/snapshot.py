# SPDX-License-Identifier: Apache-2.0
"""What Nova's scheduler is told of the market: one frozen picture of a round, as a value and as a document.

Implements rule S2 of doc/source/specs/market.rst. Units: cores and MiB; prices, bids and balances in
micro-credits (per unit and period, per period, whole); times in seconds. Arrays (resources, hosts) and
(projects,), resources in the order of MARKET_RESOURCES.

What is on a host is told in few numbers, not server by server: how much its servers want together at
LEVELS parts of what their bids buy in the undivided cloud. That function of the level is concave, and
straight between the points, which is where the error of one more server is read off.

The document comes from another machine: `snapshot_from` believes nothing it has not checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.price import wishes
from nova_market.core.market.round import RoundOutcome
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.resource import Array
from nova_market.core.scheduler.snapshot_reader import Table, number, optional, texts
from nova_market.errors import BadSnapshot

FORMAT = 1
LEVELS = (0.25, 0.5, 0.75, 1.0)
WIDTH = len(MARKET_RESOURCES)

MAX_HOSTS = 100_000
MAX_PROJECTS = 1_000_000
MAX_LEASES = 100_000
HUGE = 1e18
"""No price, bid or amount is larger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLease:
    """Hosts that a project has reserved; begin, end: seconds since the epoch."""

    project_id: str
    hosts: frozenset[str]
    begin: float
    end: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SchedulerSnapshot:
    """period, age: the round, and how many seconds ago it began when this was read
    price, bid_price: (resources,)
    hosts:     rows of those that take part in the market; capacity, bids: (resources, hosts)
    demand:    (levels, resources, hosts) what the servers of a host want at LEVELS
    vcpus:     (hosts,) of all servers that were on the host, running or not
    projects:  rows; available, due: (projects,) what it has, what it pays a period
    used:      (resources, projects) what its servers may use at most
    share:     (projects,) granted part of the cloud, NaN = none; None: shares are not published
    heaviness: (projects,), host_heaviness: (hosts,) mean of the servers' owners, NaN = nobody is there;
               None: not published
    leases:    None: not published
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
    leases: tuple[HostLease, ...] | None = None
    watts: Array | None = None


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


def snapshot_from(document: object) -> SchedulerSnapshot:
    """Read the published document.

    :raises BadSnapshot: names what is wrong; nothing of it may be used then.
    """
    top = Table.of(document, 'the snapshot')
    if (version := top.whole('format', 1_000_000)) != FORMAT:
        raise BadSnapshot(f'format {version} of the snapshot: this version reads {FORMAT}')
    hosts, projects = top.table('hosts'), top.table('projects')
    names, ids = hosts.rows('name', MAX_HOSTS), projects.rows('id', MAX_PROJECTS)
    levels = top.numbers('levels', (len(LEVELS),), 0.0, 1.0)
    if tuple(levels) != LEVELS:
        raise BadSnapshot(f'levels {levels.tolist()}: this version reads {list(LEVELS)}')
    count, owners = len(names), len(ids)
    return SchedulerSnapshot(
        period=top.whole('period', 2**53),
        age=top.number('age', 0.0, HUGE),
        price=top.numbers('price', (WIDTH,), 0.0, HUGE),
        bid_price=top.numbers('bid_price', (WIDTH,), 0.0, HUGE),
        hosts=names,
        capacity=hosts.numbers('capacity', (WIDTH, count), 0.0, HUGE),
        bids=hosts.numbers('bids', (WIDTH, count), 0.0, HUGE),
        demand=hosts.numbers('demand', (len(LEVELS), WIDTH, count), 0.0, HUGE),
        vcpus=hosts.numbers('vcpus', (count,), 0.0, HUGE),
        projects=ids,
        available=projects.numbers('available', (owners,), -HUGE, HUGE),
        due=projects.numbers('due', (owners,), 0.0, HUGE),
        used=projects.numbers('used', (WIDTH, owners), 0.0, HUGE),
        share=projects.gaps('share', (owners,), 0.0, 1.0),
        heaviness=projects.gaps('heaviness', (owners,), -HUGE, HUGE),
        host_heaviness=hosts.gaps('heaviness', (count,), -HUGE, HUGE),
        watts=hosts.gaps('watts', (2, count), 0.0, 1e9),
        leases=_leases(top.get('leases')),
    )


def document_of(snapshot: SchedulerSnapshot) -> dict[str, object]:
    """The document of a snapshot, as JSON has it; `snapshot_from` reads the same snapshot back."""
    hosts: dict[str, object] = {
        'name': texts(snapshot.hosts),
        'capacity': snapshot.capacity.tolist(),
        'bids': snapshot.bids.tolist(),
        'demand': snapshot.demand.tolist(),
        'vcpus': snapshot.vcpus.tolist(),
        **optional('heaviness', snapshot.host_heaviness),
        **optional('watts', snapshot.watts),
    }
    projects: dict[str, object] = {
        'id': texts(snapshot.projects),
        'available': snapshot.available.tolist(),
        'due': snapshot.due.tolist(),
        'used': snapshot.used.tolist(),
        **optional('share', snapshot.share),
        **optional('heaviness', snapshot.heaviness),
    }
    return {
        'format': FORMAT,
        'period': snapshot.period,
        'age': snapshot.age,
        'levels': list(LEVELS),
        'price': snapshot.price.tolist(),
        'bid_price': snapshot.bid_price.tolist(),
        'hosts': hosts,
        'projects': projects,
        **({} if snapshot.leases is None else {'leases': [_plain(one) for one in snapshot.leases]}),
    }


def _plain(lease: HostLease) -> dict[str, object]:
    return {
        'project_id': lease.project_id,
        'hosts': sorted(lease.hosts),
        'begin': lease.begin,
        'end': lease.end,
    }


def _leases(found: object) -> tuple[HostLease, ...] | None:
    if found is None:
        return None
    if not isinstance(found, Sequence) or isinstance(found, str) or len(found) > MAX_LEASES:
        raise BadSnapshot(f'leases are no list of at most {MAX_LEASES}')
    leases = []
    for one in found:
        line = Table.of(one, 'a lease')
        begin, end = (
            number(line.get(name), f'lease {name}', 0.0, HUGE) for name in ('begin', 'end')
        )
        owner = line.get('project_id')
        if end < begin or not isinstance(owner, str):
            raise BadSnapshot(f'a lease of {owner!r:.80} from {begin:g} to {end:g}')
        leases.append(
            HostLease(
                project_id=owner,
                hosts=frozenset(line.rows('hosts', MAX_HOSTS)),
                begin=begin,
                end=end,
            )
        )
    return tuple(leases)
