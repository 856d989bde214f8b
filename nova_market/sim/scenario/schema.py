# SPDX-License-Identifier: Apache-2.0
"""What a scenario file may hold: its JSON schema, and reading one.

Beyond the papers. Units: seconds, processors, MiB, credits per period.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from nova_market.core.json_schema import record
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.document_check import DocumentSchema
from nova_market.errors import BadDocument, BadScenario

LARGEST = 2 * 1024 * 1024
"""Bytes of a scenario file."""

DISCIPLINES = ('market', 'fcfs', 'easy', 'edf', 'edf_keep')

ARRAYS, SERVICES = 'arrays', 'services'

_POSITIVE = {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 1e15}
_FROM_0 = {'type': 'number', 'minimum': 0, 'maximum': 1e15}
_ANY = {'type': 'number', 'minimum': -1e6, 'maximum': 1e6}
_PART = {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 1}
_COUNT = {'type': 'integer', 'minimum': 1, 'maximum': 10_000_000}
_COUNT_0 = {'type': 'integer', 'minimum': 0, 'maximum': 10_000_000}
_NAME = {'type': 'string', 'minLength': 1, 'maxLength': 255}


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return record(properties, optional=[name for name in properties if name not in required])


def _several(one: dict[str, Any]) -> dict[str, Any]:
    return {'type': 'array', 'items': one, 'minItems': 1, 'maxItems': 1000, 'uniqueItems': True}


def _two(one: dict[str, Any]) -> dict[str, Any]:
    return {'type': 'array', 'items': one, 'minItems': 2, 'maxItems': 2}


CLOUD = _object(
    ('hosts',),
    hosts={
        'type': 'array',
        'items': _object(
            ('count', 'cores', 'memory_mib'),
            count={'type': 'integer', 'minimum': 1, 'maximum': 100_000},
            cores=_POSITIVE,
            memory_mib=_POSITIVE,
        ),
        'minItems': 1,
        'maxItems': 100,
    },
    reserve=_object(cores=_FROM_0, memory_mib=_FROM_0),
    ratios=_object(cpu=_POSITIVE, ram=_POSITIVE),
    unknown_memory=_two(_PART),
    weights=_object(cpu=_ANY, ram=_ANY, bid_load=_ANY, allocation_error=_ANY, packing=_ANY),
    candidates=_COUNT_0,
    affordable_periods=_COUNT_0,
    rebalancing=_object(
        every=_COUNT,
        rest=_FROM_0,
        tick={'type': 'number', 'minimum': 0.5, 'maximum': 86400},
        tolerated_error=_FROM_0,
        idle_iterations=_COUNT,
        migrations=_COUNT,
        inflow=_COUNT,
        horizon=_COUNT,
        copy_cores=_FROM_0,
    ),
    engine={'enum': [ARRAYS, SERVICES]},
    enforced={'type': 'array', 'items': {'enum': list(MARKET_RESOURCES)}, 'uniqueItems': True},
)

COSTS = _object(
    boot=_FROM_0,
    suspend_rate=_FROM_0,
    resume_rate=_FROM_0,
    migration_rate=_FROM_0,
    migration_slowdown={'type': 'number', 'minimum': 0, 'maximum': 1},
    migration_downtime=_FROM_0,
    working_set=_PART,
    swapping=_FROM_0,
)

MONEY = _object(
    total={'type': 'number', 'minimum': 0, 'maximum': 9e9},
    grant={'type': 'number', 'minimum': 0, 'maximum': 9e6},
    projects={'type': 'integer', 'minimum': 1, 'maximum': 100_000},
    renew_every=_COUNT,
    return_delay=_COUNT_0,
    tax_rate={'type': 'number', 'minimum': 0, 'maximum': 1},
    tax_floor=_FROM_0,
    currency=_NAME,
)

SCHEMA = _object(
    ('format', 'workload'),
    format={'const': 1},
    name=_NAME,
    machine=_object(('processors',), processors=_COUNT, memory_mib=_POSITIVE),
    cloud=CLOUD,
    costs=COSTS,
    money=MONEY,
    workload={
        'type': 'object',
        'oneOf': [
            _object(('swf',), swf=_NAME, jobs=_COUNT),
            _object(('lublin',), lublin=_object(('jobs',), jobs=_COUNT, processors=_COUNT)),
        ],
    },
    terms=_object(factors=_two(_POSITIVE), budget=_POSITIVE),
    disciplines=_several({'enum': list(DISCIPLINES)}),
    market=_object(
        period={'type': 'number', 'minimum': 0.5, 'maximum': 86400},
        policy=_NAME,
        pricing=_NAME,
        reserve_cpu=_FROM_0,
        reserve_memory=_FROM_0,
        least_part=_PART,
        reference=_POSITIVE,
        low=_POSITIVE,
        high=_POSITIVE,
        start_cost=_FROM_0,
        resume_cost=_FROM_0,
        price_memory={'type': 'number', 'minimum': 0, 'maximum': 0.99},
        memory={'type': 'boolean'},
    ),
    scales=_several(_POSITIVE),
    seeds=_several({'type': 'integer', 'minimum': 0, 'maximum': 2**32}),
) | {
    'oneOf': [{'required': ['machine']}, {'required': ['cloud']}],
    'dependentRequired': {'costs': ['cloud'], 'money': ['cloud']},
}


CHECK = DocumentSchema(SCHEMA)


def read(path: Path) -> Any:
    """The document in a file, not checked.

    :raises BadScenario: names the file and what is wrong with it.
    """
    if path.stat().st_size > LARGEST:
        raise BadScenario(f'{path} has more than {LARGEST} bytes')
    try:
        return yaml.safe_load(path.read_text(encoding='utf-8'))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadScenario(f'{path} is no YAML: {error}') from error


def check(document: Any, name: str) -> Mapping[str, Any]:
    """The document, which is a scenario.

    :raises BadScenario: names the entry, its value and what it may be.
    """
    try:
        CHECK.check(document)
    except BadDocument as error:
        raise BadScenario(f'{name}: {error}') from None
    checked: Mapping[str, Any] = document
    return checked
