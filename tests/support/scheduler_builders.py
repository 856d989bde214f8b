# SPDX-License-Identifier: Apache-2.0
"""Snapshots and requests for the scheduler's plug-ins, from what a test wants to say."""

import numpy as np

from nova_market.core.market.round import decide
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.scheduler.request import ServerRequest
from nova_market.core.scheduler.reserved import reserved_from, versioned
from nova_market.core.scheduler.snapshot import LEVELS, SchedulerSnapshot, demand_at_levels
from nova_market.core.scheduler.snapshot_reader import (
    ReservedLeases,
    ReservedNodes,
    ReservedTable,
)

CREDIT = 1_000_000


def world(servers, *, hosts=2, cores=8.0, mib=8192.0, available=10**12, reserve=(1000.0, 1.0)):
    """(MarketSnapshot, its outcome): servers are (host row, bid cpu, bid memory, cores, MiB)."""
    rows = np.array([s[0] for s in servers], dtype=np.intp)
    snapshot = MarketSnapshot(
        capacity=np.tile(np.array([[cores], [mib]]), hosts),
        answering=np.ones(hosts, dtype=bool),
        host=rows,
        payer=np.zeros(len(servers), dtype=np.intp),
        bids=np.array([[s[1] for s in servers], [s[2] for s in servers]], dtype=np.int64).reshape(
            2, -1
        ),
        caps=np.array([[s[3] for s in servers], [s[4] for s in servers]], dtype=float).reshape(
            2, -1
        ),
        last=np.zeros((2, len(servers))),
        available=np.array([available]),
        reserve=np.array(reserve),
    )
    return snapshot, decide(snapshot)


def published(snapshot, outcome, **more):
    """What the scheduler is told of it; hosts are host0, host1, ..., the only project is red."""
    hosts = snapshot.capacity.shape[1]
    known = {
        'period': 7,
        'age': 1.0,
        'price': outcome.price,
        'bid_price': outcome.bid_price,
        'hosts': {f'host{row}': row for row in range(hosts)},
        'capacity': snapshot.capacity,
        'bids': np.stack([np.bincount(snapshot.host, bid, hosts) for bid in outcome.bids]),
        'demand': demand_at_levels(snapshot, outcome),
        'vcpus': np.zeros(hosts),
        'projects': {'red': 0},
        'available': np.array([100.0 * CREDIT]),
        'due': np.array([0.0]),
        'used': np.array([[0.0], [0.0]]),
    }
    return SchedulerSnapshot(**known | more)


def quiet(hosts=2, **more):
    """A snapshot of empty hosts of 8 cores and 8 GiB; a core costs 1000, a MiB 1."""
    known = {
        'period': 7,
        'age': 1.0,
        'price': np.array([1000.0, 1.0]),
        'bid_price': np.array([1000.0, 1.0]),
        'hosts': {f'host{row}': row for row in range(hosts)},
        'capacity': np.tile(np.array([[8.0], [8192.0]]), hosts),
        'bids': np.zeros((2, hosts)),
        'demand': np.zeros((len(LEVELS), 2, hosts)),
        'vcpus': np.zeros(hosts),
        'projects': {'red': 0, 'blue': 1},
        'available': np.array([100.0 * CREDIT, 0.0]),
        'due': np.zeros(2),
        'used': np.zeros((2, 2)),
    }
    return SchedulerSnapshot(**known | more)


def held(*leases, carriers=(), at=100.0):
    """Reserved: (id, project, begin, end, {host: None for all of it, or (cores, MiB, GiB)}) of each lease."""
    names = sorted({name for lease in leases for name in lease[4]})
    parts = [(row, name, size) for row, one in enumerate(leases) for name, size in one[4].items()]
    sizes = np.array([size or (0.0, 0.0, 0.0) for *_, size in parts]).reshape(-1, 3)
    table = ReservedTable(
        version='0',
        at=at,
        leases=ReservedLeases(
            id=[one[0] for one in leases],
            project_id=[one[1] for one in leases],
            begin=[one[2] for one in leases],
            end=[one[3] for one in leases],
        ),
        hosts=names,
        nodes=ReservedNodes(
            lease=[row for row, *_ in parts],
            host=[names.index(name) for _, name, _ in parts],
            whole=[size is None for *_, size in parts],
            amounts=sizes.T.tolist(),
        ),
        carriers=list(carriers),
    )
    return reserved_from(versioned(table))


def ask(vcpus=2.0, mib=1024.0, **more):
    known = {
        'project_id': 'red',
        'size': (vcpus, mib),
        'limit': (vcpus, mib),
        'market': True,
    }
    return ServerRequest(**known | more)


def nobody(count):
    """No server has come since the round."""
    return np.zeros(count)
