# SPDX-License-Identifier: Apache-2.0
"""The runs of a scenario: one for each scale, seed and discipline; each by itself, in any process.

Beyond the papers. Deterministic: a case has generators of its own, seeded with its seed, so the same
scenario gives the same schedules in whatever order, on whatever machine. Units as in scenario.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from nova_market.core.ledger.money import MICRO
from nova_market.core.resource import Array, Rows, Values
from nova_market.errors import BadScenario
from nova_market.sim.baseline.batch import easy, edf, fcfs
from nova_market.sim.baseline.schedule import Schedule
from nova_market.sim.cloud.hosts import SimulatedHosts
from nova_market.sim.cloud.market import CloudMarket, CloudSetting, OpenStores
from nova_market.sim.cloud.site import CloudLog, CloudParts, CloudSite
from nova_market.sim.cloud.vector_market import VectorMarket
from nova_market.sim.market.batch_run import MarketResult, MarketRun, RoundLog
from nova_market.sim.market.undivided import undivided_run
from nova_market.sim.scenario.scenario import CloudPlan, Scenario
from nova_market.sim.workload.job import Terms, Workload, fitting, scaled, terms
from nova_market.sim.workload.lublin import generate, kind_for


class Key(NamedTuple):
    """Which case of its scenario."""

    scale: float
    seed: int
    discipline: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Case:
    """One run. paid: credits of each job; rounds and cloud: of the market"""

    key: Key
    jobs: Workload
    terms: Terms
    schedule: Schedule
    paid: Array | None = None
    suspensions: Values | None = None
    rounds: RoundLog | None = None
    cloud: CloudLog | None = None


def keys(scenario: Scenario) -> list[Key]:
    """All of them, in order."""
    chosen = product(scenario.scales, scenario.seeds, scenario.disciplines)
    return [Key(*one) for one in chosen]


def run_case(scenario: Scenario, key: Key, open_stores: OpenStores | None = None) -> Case:
    """open_stores: for clouds that the services decide.

    :raises BadScenario: a cloud needs stores and there are none.
    """
    jobs = scaled(_jobs(scenario, key.seed), key.scale)
    # apart from the generator of the jobs: another workload keeps its deadlines' factors
    rng = np.random.default_rng([key.seed, 1])
    wanted = terms(jobs, rng, scenario.factors, scenario.budget)
    if key.discipline != 'market':
        schedule = _batch(key.discipline, jobs, scenario.processors, wanted)
        return Case(key=key, jobs=jobs, terms=wanted, schedule=schedule)
    if scenario.cloud is None:
        run = _undivided(scenario, jobs, wanted)
        return _case(key, jobs, wanted, run.run(), None)
    on_hosts, log = _on_hosts(scenario, scenario.cloud, (key.seed, jobs, wanted), open_stores)
    return _case(key, jobs, wanted, on_hosts.run(), log)


def _case(
    key: Key, jobs: Workload, wanted: Terms, result: MarketResult, log: CloudLog | None
) -> Case:
    return Case(
        key=key,
        jobs=jobs,
        terms=wanted,
        schedule=result.schedule,
        paid=result.paid,
        suspensions=result.suspensions,
        rounds=result.rounds,
        cloud=log,
    )


def _jobs(scenario: Scenario, seed: int) -> Workload:
    jobs = scenario.jobs
    if jobs is None:
        width = scenario.lublin.get('processors', scenario.processors)
        rng = np.random.default_rng([seed, 0])
        jobs = generate(scenario.lublin['jobs'], kind_for(width), rng)
    return fitting(jobs, scenario.processors)


def _batch(discipline: str, jobs: Workload, capacity: int, wanted: Terms) -> Schedule:
    if discipline in ('edf', 'edf_keep'):
        return edf(jobs, capacity, wanted, drop=discipline == 'edf')
    return (fcfs if discipline == 'fcfs' else easy)(jobs, capacity)


def _undivided(scenario: Scenario, jobs: Workload, wanted: Terms) -> MarketRun:
    capacity = (float(scenario.processors), scenario.memory_mib)
    return undivided_run(jobs, wanted, capacity, scenario.policy, scenario.market, scenario.pricing)


def _on_hosts(
    scenario: Scenario,
    cloud: CloudPlan,
    workload: tuple[int, Workload, Terms],
    open_stores: OpenStores | None,
) -> tuple[MarketRun, CloudLog]:
    seed, jobs, wanted = workload
    hosts = SimulatedHosts(cloud.kinds, cloud.reserve, cloud.ratios, cloud.enforced)
    jobs = _with_memory(jobs, hosts, cloud, np.random.default_rng([seed, 2]))
    payers = np.random.default_rng([seed, 3]).integers(cloud.money.projects, size=len(jobs))
    period, reserve = scenario.market.period, scenario.market.reserve
    setting = CloudSetting(
        period=period,
        reserve=(reserve[0] * MICRO, reserve[1] * MICRO),
        pricing=scenario.pricing,
        money=cloud.money,
        moves=cloud.moves,
    )
    targets = (wanted.budget * MICRO).astype(np.int64)
    market = _market(hosts, cloud, setting, (targets, payers.astype(np.intp)), open_stores)
    parts = CloudParts(
        hosts=hosts,
        market=market,
        costs=cloud.costs,
        placing=cloud.placing,
        project=payers.astype(np.intp),
        rng=np.random.default_rng([seed, 4]),
    )
    site = CloudSite(jobs, scenario.market, parts)
    return MarketRun(jobs, wanted, scenario.policy, scenario.market, site), site.log


def _market(
    hosts: SimulatedHosts,
    cloud: CloudPlan,
    setting: CloudSetting,
    money: tuple[Values, Rows],
    open_stores: OpenStores | None,
) -> CloudMarket:
    targets, payers = money
    rate = cloud.costs.migration_rate
    if not cloud.services:
        return VectorMarket(hosts, setting, targets, payers, rate)
    if open_stores is None:
        raise BadScenario('cloud.engine: services: this runs with nova-market-sim only')
    # loaded where it is needed: it brings the services' libraries with it
    from nova_market.sim.cloud.engine_market import EngineMarket

    return EngineMarket(hosts, setting, targets, payers, rate, open_stores)


def _with_memory(
    jobs: Workload, hosts: SimulatedHosts, cloud: CloudPlan, rng: np.random.Generator
) -> Workload:
    """Memory that a log does not give is drawn; no job needs more than the smallest host has."""
    most = float(hosts.room[1].min())
    drawn = rng.uniform(*cloud.memory, len(jobs)) * most
    memory = np.where(np.isnan(jobs.memory_mib), drawn, jobs.memory_mib)
    return replace(jobs, memory_mib=np.minimum(memory, most))
