# SPDX-License-Identifier: Apache-2.0
"""Scenarios of the simulator: what runs on what, from a YAML file that is checked against a schema.

Beyond the papers. Units: seconds, processors, MiB, credits per period. What a file leaves out has a default;
what it holds too much is refused. Paths are relative to the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nova_market.core.app.policies.merkat_policies import Policy
from nova_market.core.ledger.currency import PARTS
from nova_market.core.ledger.money import MICRO
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.price import Pricing
from nova_market.core.rebalancing.move_order import MigrationSettings
from nova_market.core.rebalancing.tabu_search import BalanceSettings
from nova_market.errors import BadScenario
from nova_market.plugins import load_plugin
from nova_market.sim.cloud.accounts import MoneySetting
from nova_market.sim.cloud.costs import Costs
from nova_market.sim.cloud.hosts import HostKind
from nova_market.sim.cloud.migrations import MoveSetting
from nova_market.sim.cloud.scheduler import PlacingSetting, Weights
from nova_market.sim.market.applications import MarketSetting
from nova_market.sim.scenario.schema import DISCIPLINES, SERVICES, check, read
from nova_market.sim.workload.job import Workload
from nova_market.sim.workload.swf import read_log

MEMORY_PARTS = (0.1, 0.5)
"""Of a node's memory, for jobs of which it is not known: Merkat (INRIA RR-8648), section 3.2.2."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CloudPlan:
    """Hosts and what is done with them. memory: parts of the smallest host's, where a job's is unknown
    services: decided by the engine itself instead of in arrays; enforced: what hosts control
    """

    kinds: tuple[HostKind, ...]
    reserve: tuple[float, float]
    ratios: tuple[float, float]
    memory: tuple[float, float]
    placing: PlacingSetting
    moves: MoveSetting | None
    costs: Costs
    money: MoneySetting
    services: bool
    enforced: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scenario:
    """jobs: before scaling; budget and factors as in workload.terms; policy and pricing: plug-ins"""

    name: str
    processors: int
    memory_mib: float
    cloud: CloudPlan | None
    jobs: Workload | None
    lublin: Mapping[str, int]
    factors: tuple[float, float]
    budget: float
    disciplines: tuple[str, ...]
    market: MarketSetting
    policy: Policy
    pricing: Pricing
    scales: tuple[float, ...]
    seeds: tuple[int, ...]


def load(path: Path) -> Scenario:
    """:raises BadScenario: names the file, the entry and what it may be; BadWorkload for its log."""
    return scenario_from(read(path), path)


def scenario_from(document: Any, path: Path) -> Scenario:
    """From a document that stands, or might stand, in the file `path`; errors as in load."""
    checked = check(document, str(path))
    workload = checked['workload']
    jobs = None
    if 'swf' in workload:
        jobs = read_log(path.parent / workload['swf']).jobs
        jobs = jobs.first(workload.get('jobs', len(jobs)))
    wanted = checked.get('terms', {})
    low, high = (float(f) for f in wanted.get('factors', (1.5, 10.0)))
    if low > high:
        raise BadScenario(f'{path}: terms.factors: {low:g} is above {high:g}')
    given = dict(checked.get('market', {}))
    cloud = _cloud(checked, path) if 'cloud' in checked else None
    machine = checked.get('machine', {})
    return Scenario(
        name=checked.get('name', path.stem),
        processors=_processors(cloud) if cloud else machine['processors'],
        memory_mib=machine.get('memory_mib', 1e9),
        cloud=cloud,
        jobs=jobs,
        lublin=workload.get('lublin', {}),
        factors=(low, high),
        budget=wanted.get('budget', 2000.0),
        disciplines=tuple(checked.get('disciplines', DISCIPLINES)),
        policy=load_plugin(
            'nova_market.scaling', given.pop('policy', 'full_deadline'), 'market.policy'
        ),
        pricing=load_plugin(
            'nova_market.pricing', given.pop('pricing', 'clearing'), 'market.pricing'
        ),
        market=_market(given),
        scales=tuple(checked.get('scales', (1.0,))),
        seeds=tuple(checked.get('seeds', (1,))),
    )


def _market(given: dict[str, Any]) -> MarketSetting:
    plain = MarketSetting()
    reserve = (
        given.pop('reserve_cpu', plain.reserve[0]),
        given.pop('reserve_memory', plain.reserve[1]),
    )
    return MarketSetting(reserve=reserve, **given)


def _cloud(checked: Mapping[str, Any], path: Path) -> CloudPlan:
    cloud = checked['cloud']
    period = checked.get('market', {}).get('period', MarketSetting().period)
    services = cloud.get('engine') == SERVICES
    if services and period != int(period):
        raise BadScenario(f'{path}: market.period: {period:g}; the services count whole seconds')
    reserve, ratios = cloud.get('reserve', {}), cloud.get('ratios', {})
    low, high = cloud.get('unknown_memory', MEMORY_PARTS)
    if low > high:
        raise BadScenario(f'{path}: cloud.unknown_memory: {low:g} is above {high:g}')
    plan = CloudPlan(
        kinds=tuple(HostKind(**kind) for kind in cloud['hosts']),
        reserve=(reserve.get('cores', 0.0), reserve.get('memory_mib', 0.0)),
        # four servers of a quarter of a core each are what section 3.2.1 starts with
        ratios=(ratios.get('cpu', 4.0), ratios.get('ram', 1.0)),
        memory=(low, high),
        placing=PlacingSetting(
            weights=Weights(**cloud.get('weights', {})),
            candidates=cloud.get('candidates', PlacingSetting().candidates),
            periods=cloud.get('affordable_periods', 0),
        ),
        moves=_moves(cloud['rebalancing']) if 'rebalancing' in cloud else None,
        costs=Costs(**checked.get('costs', {})),
        money=_money(checked.get('money', {})),
        services=services,
        enforced=tuple(cloud.get('enforced', MARKET_RESOURCES)),
    )
    if _processors(plan) < 1:
        raise BadScenario(f'{path}: cloud.reserve: nothing is left of {len(plan.kinds)} kinds')
    return plan


def _moves(given: Mapping[str, Any]) -> MoveSetting:
    parts: dict[str, dict[str, Any]] = {'own': {}, 'balance': {}, 'migration': {}}
    for name, value in given.items():
        where = 'own' if name in ('every', 'rest', 'tick') else 'balance'
        where = 'migration' if name in ('horizon', 'copy_cores') else where
        parts[where][name] = value
    return MoveSetting(
        balance=BalanceSettings(**parts['balance']),
        migration=MigrationSettings(**parts['migration']),
        **parts['own'],
    )


def _money(given: Mapping[str, Any]) -> MoneySetting:
    found = dict(given)
    for name in ('total', 'grant', 'tax_floor'):
        if name in found:
            found[name] = round(found[name] * MICRO)
    if 'tax_rate' in found:
        found['tax_rate'] = round(found['tax_rate'] * PARTS)
    if 'currency' in found:
        found['currency'] = load_plugin('nova_market.currency', found['currency'], 'money.currency')
    return MoneySetting(**found)


def _processors(cloud: CloudPlan) -> int:
    """Whole cores of all hosts: what batch schedulers have."""
    return sum(kind.count * int(max(kind.cores - cloud.reserve[0], 0.0)) for kind in cloud.kinds)
