# SPDX-License-Identifier: Apache-2.0
"""A simulated cloud whose bids drift, so that there is always some allocation error to search a move for.

Equal servers of two vCPUs that could use five times the cores there are, spread evenly to begin with; each
period every bid changes by a log-normal factor. Rounds, searches and migrations are those of VectorMarket.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.rebalancing.move_order import SLOWDOWN, MigrationSettings
from nova_market.core.rebalancing.tabu_search import BalanceSettings
from nova_market.sim.cloud.accounts import MoneySetting
from nova_market.sim.cloud.hosts import HostKind, SimulatedHosts
from nova_market.sim.cloud.market import CloudSetting, Offers
from nova_market.sim.cloud.migrations import MoveSetting
from nova_market.sim.cloud.vector_market import VectorMarket

CORES = 8
PERIOD = 60.0
ANY_GAIN = 10**6
"""Periods of a horizon in which every gain is worth its copy."""


@dataclass(frozen=True)
class Drifted:
    """moves; gib: of RAM that was copied; largest_error: mean over the rounds
    copying: core-periods that the copies took; undelivered: core-periods that servers were short of
    """

    moves: int
    gib: float
    largest_error: float
    copying: float
    undelivered: float


def drifted(
    *, gib, drift=0.01, horizon=60, hosts=10, servers=200, periods=480, rate=110.0, seed=1
) -> Drifted:
    """What came of so many periods; gib: RAM of each server; horizon: None for a cloud without moves."""
    rng = np.random.default_rng(seed)
    jobs, host = np.arange(servers), np.arange(servers) % hosts
    size = np.tile([[2.0], [gib * 1024.0]], servers)
    kind = HostKind(count=hosts, cores=CORES, memory_mib=2.0 * gib * 1024.0 * servers)
    cloud = SimulatedHosts([kind], ratios=(16.0, 1.0), enforced=('cpu',))
    for server in jobs.tolist():
        cloud.take(host[server : server + 1], size[:, server])
    setting = CloudSetting(
        period=PERIOD,
        reserve=(1000.0, 0.0),
        money=MoneySetting(projects=1),
        moves=None if horizon is None else MoveSetting(
            balance=BalanceSettings(migrations=10, inflow=2),
            migration=MigrationSettings(horizon=horizon),
        ),
    )  # fmt: skip
    market = VectorMarket(cloud, setting, np.full(servers, 10**12), np.zeros_like(jobs), rate)
    market.open(jobs, 1)
    level = rng.lognormal(0.0, 1.0, servers)
    found = []
    for period in range(1, periods + 1):
        level *= np.exp(rng.normal(0.0, drift, servers))
        bids = np.stack([level * 2e6, np.zeros(servers)]).astype(np.int64)
        market.settle(period)
        ruling = market.round(
            period,
            Offers(server=jobs, job=jobs, host=host.copy(), bids=bids, caps=size, size=size),
        )
        for move in ruling.ended:
            host[move.server] = move.target
        ideal, actual = ruling.outcome.ideal[0], ruling.outcome.actual[0]
        copied = [one.server for one in ruling.begun]
        cores = 1.0 + SLOWDOWN * ideal[copied]
        found.append(
            (
                len(copied),
                gib * len(copied),
                ruling.outcome.largest_error,
                float(cores.sum()) * gib * 1024.0 / rate / PERIOD,
                float((ideal - np.minimum(ideal, actual)).sum()),
            )
        )
    moves, copied_gib, error, copying, short = np.array(found).T
    return Drifted(int(moves.sum()), copied_gib.sum(), error.mean(), copying.sum(), short.sum())
