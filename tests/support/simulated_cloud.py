# SPDX-License-Identifier: Apache-2.0
"""Small simulated clouds: jobs, hosts and a market, with what a test wants to say."""

import numpy as np

from nova_market.core.app.policies.full_deadline import full_deadline
from nova_market.core.ledger.money import MICRO
from nova_market.sim.cloud.accounts import MoneySetting
from nova_market.sim.cloud.costs import Costs
from nova_market.sim.cloud.hosts import HostKind, SimulatedHosts
from nova_market.sim.cloud.market import CloudSetting
from nova_market.sim.cloud.scheduler import PlacingSetting
from nova_market.sim.cloud.site import CloudParts, CloudSite
from nova_market.sim.cloud.vector_market import VectorMarket
from nova_market.sim.market.applications import MarketSetting
from nova_market.sim.market.batch_run import MarketRun
from nova_market.sim.workload.job import Terms, Workload, terms

FREE = Costs(
    boot=0.0,
    suspend_rate=0.0,
    resume_rate=0.0,
    migration_rate=0.0,
    migration_slowdown=0.0,
    migration_downtime=0.0,
)
"""Everything at once and for nothing, as CloudSim has it."""


def workload(*jobs, memory=512.0):
    """(submit, run, processors)"""
    submit, run, processors = (np.array(c, dtype=float) for c in zip(*jobs, strict=True))
    return Workload(
        number=np.arange(1, len(jobs) + 1),
        submit=submit,
        run=run,
        processors=processors.astype(np.int64),
        estimate=run,
        memory_mib=np.full(len(jobs), memory),
    )


def mixed(count=40, seed=1, widest=6, span=3000.0, longest=2500.0):
    """Jobs of all sizes that come faster than a small cloud can run them, and their terms."""
    rng = np.random.default_rng(seed)
    jobs = workload(
        *zip(
            np.sort(rng.uniform(0, span, count)),
            rng.uniform(200, longest, count),
            rng.integers(1, widest + 1, count),
            strict=True,
        )
    )
    return jobs, terms(jobs, np.random.default_rng(seed + 1))


def cloud_run(
    jobs, wanted, kinds=None, *, market=VectorMarket, money=None, moves=None, ratios=(4.0, 1.0),
    costs=FREE, placing=None, project=None, reserve=0.01, seed=1, enforced=('cpu', 'memory'),
    reserve_memory=0.0, **setting,
):  # fmt: skip
    """(a run on a CloudSite, its market); market: (hosts, setting, targets, project, rate) -> CloudMarket"""
    kinds = kinds or [HostKind(count=6, cores=4, memory_mib=8192)]
    hosts = SimulatedHosts(kinds, ratios=ratios, enforced=enforced)
    plan = MarketSetting(memory=True, reserve=(reserve, reserve_memory), **setting)
    payers = np.zeros(len(jobs), dtype=np.intp) if project is None else np.array(project)
    cloud = CloudSetting(
        period=plan.period,
        reserve=(reserve * MICRO, reserve_memory * MICRO),
        money=money or MoneySetting(),
        moves=moves,
    )
    targets = (wanted.budget * MICRO).astype(np.int64)
    made = market(hosts, cloud, targets, payers, costs.migration_rate)
    parts = CloudParts(
        hosts=hosts,
        market=made,
        costs=costs,
        placing=placing or PlacingSetting(),
        project=payers,
        rng=np.random.default_rng(seed),
    )
    run = MarketRun(jobs, wanted, full_deadline, plan, CloudSite(jobs, plan, parts))
    return run, made


def due(deadlines, budgets):
    return Terms(deadline=np.array(deadlines, float), budget=np.array(budgets, float))
