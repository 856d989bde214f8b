# SPDX-License-Identifier: Apache-2.0
"""A stream of boots on fake hosts: what Nova's scheduler would pick, and how good the cloud is then.

Placement's part (RAM and vCPUs with their ratios) is done here; the choice is Nova's own code. The market
holds a round after every few boots, and its snapshot is what the plug-ins see until the next.
"""

from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.market.round import decide
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.scheduler.snapshot import SchedulerSnapshot, demand_at_levels
from nova_market.scheduler import market_feed
from tests.nova.hosts import spec, state
from tests.nova.plugged import feed_of

HOSTS = 60
BOOTS = 400
ROUND_EVERY = 10
CORES, MIB = 16, 65_536
OVERCOMMIT = 4.0
WATTS_BUSY = 8.0
"""Of one core that is busy, on top of what the host takes at rest."""


@dataclass(frozen=True, kw_only=True)
class Quality:
    """errors: of servers; load_spread: standard deviation of bids over what the mean host has of them"""

    largest_error: float
    mean_error: float
    load_spread: float
    hosts_in_use: int
    kilowatts: float


def only_published(snapshot: SchedulerSnapshot) -> SchedulerSnapshot:
    """Without what the operator sets, and without leases."""
    return replace(snapshot, share=None, reserved=None, watts=None)


def requests(seed=11):
    """(vCPUs, MiB, bid for CPU, bid for memory) of each boot: few bid much, many little."""
    rng = np.random.default_rng(seed)
    vcpus = rng.choice([1, 2, 4, 8], BOOTS, p=[0.3, 0.35, 0.25, 0.1])
    worth = 1000 * rng.lognormal(0.0, 1.0, BOOTS)
    return [
        (int(v), int(v) * 2048, int(w * v), int(w * v)) for v, w in zip(vcpus, worth, strict=True)
    ]


def stream(pipeline):
    """Boot them all; how the cloud is in the end."""
    hosts = [
        state(
            f'host{row}', free_ram_mb=MIB, total_usable_ram_mb=MIB, vcpus_total=CORES, vcpus_used=0,
            cpu_allocation_ratio=OVERCOMMIT, free_disk_mb=10**6,
            service={'disabled': False, 'forced_down': False, 'last_seen_up': None},
        )
        for row in range(HOSTS)
    ]  # fmt: skip
    pipeline.filters = [one for one in pipeline.filters if type(one).__name__ != 'ComputeFilter']
    placed = []
    for number, (vcpus, mib, cpu, memory) in enumerate(requests()):
        if number % ROUND_EVERY == 0:
            market_feed.use(feed_of(published(placed)))
        fits = [
            h for h in hosts if h.free_ram_mb >= mib and h.vcpus_used + vcpus <= CORES * OVERCOMMIT
        ]
        bid = {'market:bid_cpu': [f'{cpu / 1e6:.6f}'], 'market:bid_memory': [f'{memory / 1e6:.6f}']}
        chosen = pipeline.place(fits, spec(vcpus, mib, hints=bid))[0].obj
        chosen.free_ram_mb -= mib
        chosen.vcpus_used += vcpus
        chosen.num_instances += 1
        placed.append((int(chosen.host.removeprefix('host')), cpu, memory, vcpus, mib))
    return quality(placed)


def round_of(placed):
    """(MarketSnapshot, outcome) of these servers."""
    table = np.array(placed, dtype=np.float64).reshape(-1, 5)
    count = len(table)
    snapshot = MarketSnapshot(
        capacity=np.tile(np.array([[float(CORES)], [float(MIB)]]), HOSTS),
        answering=np.ones(HOSTS, dtype=bool),
        host=table[:, 0].astype(np.intp),
        payer=np.zeros(count, dtype=np.intp),
        bids=table[:, 1:3].T.astype(np.int64),
        caps=table[:, 3:5].T.copy(),
        last=np.zeros((2, count)),
        available=np.array([2**53]),
        reserve=np.array([10.0, 0.01]),
    )
    return snapshot, decide(snapshot)


def published(placed):
    snapshot, outcome = round_of(placed)
    return SchedulerSnapshot(
        period=1,
        age=0.0,
        price=outcome.price,
        bid_price=outcome.bid_price,
        hosts={f'host{row}': row for row in range(HOSTS)},
        capacity=snapshot.capacity,
        bids=np.stack([np.bincount(snapshot.host, b, HOSTS) for b in snapshot.bids]),
        demand=demand_at_levels(snapshot, outcome),
        vcpus=np.bincount(snapshot.host, snapshot.caps[0], HOSTS),
        projects={'red': 0},
        available=np.array([1e15]),
        due=np.zeros(1),
        used=np.zeros((2, 1)),
        watts=np.stack([base_watts(), np.full(HOSTS, WATTS_BUSY)]),
    )


def base_watts():
    """Of a host at rest: new ones take half of what old ones do; they stand anywhere."""
    return np.random.default_rng(3).permutation(np.linspace(100.0, 200.0, HOSTS))


def quality(placed):
    snapshot, outcome = round_of(placed)
    error = np.maximum(outcome.error, 0.0)
    load = np.bincount(snapshot.host, snapshot.bids[0], HOSTS)
    used = np.bincount(snapshot.host, minlength=HOSTS) > 0
    busy = np.bincount(snapshot.host, outcome.actual[0], HOSTS)
    watts = base_watts()[used].sum() + WATTS_BUSY * busy.sum()
    return Quality(
        largest_error=float(error.max()),
        mean_error=float(error.mean()),
        load_spread=float(load.std() / load.mean()),
        hosts_in_use=int(used.sum()),
        kilowatts=float(watts / 1000),
    )
