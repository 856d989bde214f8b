# SPDX-License-Identifier: Apache-2.0
"""Building blocks of the API's schemas (JSON Schema 2020-12). Units are in the names and texts."""

from collections.abc import Sequence
from typing import Any

from nova_market.core.ledger.money import MAX_AMOUNT

Schema = dict[str, Any]

UUID_PATTERN = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
PROJECT_PATTERN = '^[A-Za-z0-9_-]{1,64}$'
ACCOUNT_PATTERN = '^(mint|bank|escrow|(project|budget):[A-Za-z0-9_-]{1,64})$'
BUDGET_PATTERN = '^budget:[A-Za-z0-9_-]{1,64}$'
MAX_PERIOD = 2**53
MAX_EVERY = 2**31 - 1
MAX_SERVERS = 100_000
MAX_PERIODS = 100_000
MAX_CORES = 1_000_000
MAX_MIB = 2**40


def said(schema: Schema, text: str, **more: Any) -> Schema:
    """A schema with a description."""
    return {**schema, 'description': text, **more}


AMOUNT: Schema = {'type': 'integer', 'minimum': 0, 'maximum': MAX_AMOUNT}
"""Whole micro-credits; a credit is 1,000,000 of them."""

BALANCE: Schema = {'type': 'integer', 'minimum': -MAX_AMOUNT, 'maximum': MAX_AMOUNT}
MOVED: Schema = {'type': 'integer', 'minimum': 1, 'maximum': MAX_AMOUNT}
NUMBER: Schema = {'type': 'number'}
PERIOD: Schema = {'type': 'integer', 'minimum': 0, 'maximum': MAX_PERIOD}
TIME: Schema = {'type': 'string', 'format': 'date-time'}
TEXT: Schema = {'type': 'string'}
FLAG: Schema = {'type': 'boolean'}
SERVER_ID: Schema = {'type': 'string', 'pattern': UUID_PATTERN}
PROJECT_ID: Schema = {'type': 'string', 'pattern': PROJECT_PATTERN}
ACCOUNT_ID: Schema = {'type': 'string', 'pattern': ACCOUNT_PATTERN}
BUDGET_ID: Schema = {'type': 'string', 'pattern': BUDGET_PATTERN}
NAME: Schema = {
    'type': 'string',
    'minLength': 1,
    'maxLength': 255,
    'pattern': '^[^\\u0000-\\u001f\\u007f]*$',
}
RESOURCE: Schema = {'type': 'string', 'enum': ['cpu', 'memory']}
EVERY: Schema = {'type': 'integer', 'minimum': 1, 'maximum': MAX_EVERY}
WEIGHT: Schema = {'type': 'number', 'minimum': 0, 'maximum': 1_000_000}
WHEN: Schema = {
    'type': 'string',
    'pattern': (
        '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'
        'T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](Z|[+-][0-9]{2}:[0-9]{2})?$'
    ),
    'description': 'ISO 8601, UTC when it names no zone, such as 2026-11-21T12:00:00Z',
}


def nullable(schema: Schema) -> Schema:
    """The same or null."""
    return {'anyOf': [schema, {'type': 'null'}]}


def record(properties: Schema, optional: Sequence[str] = ()) -> Schema:
    """An object of exactly these properties."""
    return {
        'type': 'object',
        'properties': properties,
        'required': [name for name in properties if name not in optional],
        'additionalProperties': False,
    }


def wrapped(name: str, schema: Schema) -> Schema:
    """`{name: ...}`, the form of one resource."""
    return record({name: schema})


def listed(name: str, item: Schema) -> Schema:
    """`{name: [...], name_links: [...]}`, the form of a page."""
    link = record({'rel': TEXT, 'href': TEXT})
    return record(
        {name: {'type': 'array', 'items': item}, f'{name}_links': {'type': 'array', 'items': link}},
        optional=[f'{name}_links'],
    )


LIMIT: Schema = {
    'type': 'integer',
    'minimum': 1,
    'maximum': 10_000,
    'description': 'items of a page; the service may give fewer',
}
ALL_PROJECTS: Schema = said(FLAG, 'those of all projects (admin)', default=False)
OF_PROJECT: Schema = said(PROJECT_ID, "those of this project; default: the token's")


def marker(schema: Schema) -> Schema:
    """Where a page begins."""
    return said(schema, 'from the link to the next page')
