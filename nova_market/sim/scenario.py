# SPDX-License-Identifier: Apache-2.0
"""Scenarios of the simulator: a YAML file that says what runs on what, checked against a schema.

Beyond the papers. Units: seconds, processors, MiB, credits per period. What a file leaves out has a default;
what it holds too much is refused. Paths are relative to the file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from jsonschema import Draft202012Validator

from nova_market.core.price import Pricing
from nova_market.core.scaling import Policy
from nova_market.errors import BadScenario
from nova_market.fairness.settings import load_plugin
from nova_market.sim.batch import easy, edf, fcfs
from nova_market.sim.lublin import generate, kind_for
from nova_market.sim.market_run import MarketRun, MarketSetting
from nova_market.sim.schedule import Schedule
from nova_market.sim.swf import read_log
from nova_market.sim.workload import Terms, Workload, fitting, scaled, terms

LARGEST = 2 * 1024 * 1024
"""Bytes of a scenario file."""

DISCIPLINES = ('market', 'fcfs', 'easy', 'edf', 'edf_keep')

_POSITIVE = {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 1e15}
_FROM_0 = {'type': 'number', 'minimum': 0, 'maximum': 1e15}
_COUNT = {'type': 'integer', 'minimum': 1, 'maximum': 10_000_000}
_NAME = {'type': 'string', 'minLength': 1, 'maxLength': 255}


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        'type': 'object',
        'properties': properties,
        'required': list(required),
        'additionalProperties': False,
    }


def _several(one: dict[str, Any]) -> dict[str, Any]:
    return {'type': 'array', 'items': one, 'minItems': 1, 'maxItems': 1000, 'uniqueItems': True}


SCHEMA = _object(
    ('format', 'machine', 'workload'),
    format={'const': 1},
    name=_NAME,
    machine=_object(('processors',), processors=_COUNT, memory_mib=_POSITIVE),
    workload={
        'type': 'object',
        'oneOf': [
            _object(('swf',), swf=_NAME, jobs=_COUNT),
            _object(('lublin',), lublin=_object(('jobs',), jobs=_COUNT, processors=_COUNT)),
        ],
    },
    terms=_object(
        factors={'type': 'array', 'items': _POSITIVE, 'minItems': 2, 'maxItems': 2},
        budget=_POSITIVE,
    ),
    disciplines=_several({'enum': list(DISCIPLINES)}),
    market=_object(
        period={'type': 'number', 'minimum': 0.5, 'maximum': 86400},
        policy=_NAME,
        pricing=_NAME,
        reserve_cpu=_FROM_0,
        reserve_memory=_FROM_0,
        least_part={'type': 'number', 'exclusiveMinimum': 0, 'maximum': 1},
        reference=_POSITIVE,
        low=_POSITIVE,
        high=_POSITIVE,
        start_cost=_FROM_0,
        resume_cost=_FROM_0,
        memory={'type': 'boolean'},
    ),
    scales=_several(_POSITIVE),
    seeds=_several({'type': 'integer', 'minimum': 0, 'maximum': 2**32}),
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scenario:
    """jobs: before scaling; budget and factors as in workload.terms; policy and pricing: plug-ins"""

    name: str
    processors: int
    memory_mib: float
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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Case:
    """One run of a scenario."""

    scale: float
    seed: int
    discipline: str
    jobs: Workload
    terms: Terms
    schedule: Schedule
    paid: Any = None


def load(path: Path) -> Scenario:
    """:raises BadScenario: names the file, the entry and what it may be; BadWorkload for its log."""
    if path.stat().st_size > LARGEST:
        raise BadScenario(f'{path} has more than {LARGEST} bytes')
    try:
        document = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadScenario(f'{path} is no YAML: {error}') from error
    _check(path, document)
    workload = document['workload']
    jobs = None
    if 'swf' in workload:
        jobs = read_log(path.parent / workload['swf']).jobs
        jobs = jobs.first(workload.get('jobs', len(jobs)))
    return _scenario(document, jobs, path)


def _check(path: Path, document: Any) -> None:
    error = next(iter(Draft202012Validator(SCHEMA).iter_errors(document)), None)
    if error is not None:
        where = '.'.join(str(part) for part in error.absolute_path) or 'the document'
        raise BadScenario(f'{path}: {where}: {error.message:.300}')


def _scenario(document: Mapping[str, Any], jobs: Workload | None, path: Path) -> Scenario:
    machine, wanted = document['machine'], document.get('terms', {})
    given = dict(document.get('market', {}))
    policy = load_plugin(
        'nova_market.scaling', given.pop('policy', 'full_deadline'), 'market.policy'
    )
    pricing = load_plugin('nova_market.pricing', given.pop('pricing', 'clearing'), 'market.pricing')
    plain = MarketSetting()
    reserve = (
        given.pop('reserve_cpu', plain.reserve[0]),
        given.pop('reserve_memory', plain.reserve[1]),
    )
    low, high = (float(f) for f in wanted.get('factors', (1.5, 10.0)))
    if low > high:
        raise BadScenario(f'{path}: terms.factors: {low:g} is above {high:g}')
    return Scenario(
        name=document.get('name', path.stem),
        processors=machine['processors'],
        memory_mib=machine.get('memory_mib', 1e9),
        jobs=jobs,
        lublin=document['workload'].get('lublin', {}),
        factors=(low, high),
        budget=wanted.get('budget', 2000.0),
        disciplines=tuple(document.get('disciplines', DISCIPLINES)),
        market=MarketSetting(reserve=reserve, **given),
        policy=policy,
        pricing=pricing,
        scales=tuple(document.get('scales', (1.0,))),
        seeds=tuple(document.get('seeds', (1,))),
    )


def cases(scenario: Scenario) -> list[tuple[float, int, str]]:
    """(scale, seed, discipline) of every run, in order."""
    return list(product(scenario.scales, scenario.seeds, scenario.disciplines))


def runs(scenario: Scenario) -> Iterator[Case]:
    """Every run; the same file gives the same schedules."""
    for scale, seed, discipline in cases(scenario):
        jobs = scaled(_jobs(scenario, seed), scale)
        # apart from the generator of the jobs: another workload keeps its deadlines' factors
        wanted = terms(jobs, np.random.default_rng([seed, 1]), scenario.factors, scenario.budget)
        schedule, paid = _run(scenario, discipline, jobs, wanted)
        yield Case(
            scale=scale,
            seed=seed,
            discipline=discipline,
            jobs=jobs,
            terms=wanted,
            schedule=schedule,
            paid=paid,
        )


def _jobs(scenario: Scenario, seed: int) -> Workload:
    jobs = scenario.jobs
    if jobs is None:
        width = scenario.lublin.get('processors', scenario.processors)
        rng = np.random.default_rng([seed, 0])
        jobs = generate(scenario.lublin['jobs'], kind_for(width), rng)
    return fitting(jobs, scenario.processors)


def _run(
    scenario: Scenario, discipline: str, jobs: Workload, wanted: Terms
) -> tuple[Schedule, Any]:
    capacity = scenario.processors
    if discipline == 'market':
        result = MarketRun(
            jobs,
            wanted,
            (float(capacity), scenario.memory_mib),
            scenario.policy,
            scenario.market,
            scenario.pricing,
        ).run()
        return result.schedule, result.paid
    if discipline in ('edf', 'edf_keep'):
        return edf(jobs, capacity, wanted, drop=discipline == 'edf'), None
    return (fcfs if discipline == 'fcfs' else easy)(jobs, capacity), None
