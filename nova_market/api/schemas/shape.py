# SPDX-License-Identifier: Apache-2.0
"""Building blocks of the API's schemas (JSON Schema 2020-12). Units are in the names and texts."""

from nova_market.core.json_schema import Schema, described, record
from nova_market.core.ledger.money import MAX_AMOUNT

UUID_PATTERN = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
PROJECT_PATTERN = '^[A-Za-z0-9_-]{1,64}$'
ACCOUNT_PATTERN = '^(mint|bank|escrow|(project|budget):[A-Za-z0-9_-]{1,64})$'
BUDGET_PATTERN = '^budget:[A-Za-z0-9_-]{1,64}$'
MAX_PERIOD = 2**53
MAX_SERVERS = 100_000
MAX_PERIODS = 100_000
MAX_CORES = 1_000_000
MAX_MIB = 2**40

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
HOLDER_ID: Schema = {'type': 'string', 'pattern': '^(project|budget):[A-Za-z0-9_-]{1,64}$'}
"""Of an account whose owner may get credits of the mint."""

RESOURCE: Schema = {'type': 'string', 'enum': ['cpu', 'memory']}
WEIGHT: Schema = {'type': 'number', 'minimum': 0, 'maximum': 1_000_000}


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
ALL_PROJECTS: Schema = described(FLAG, 'those of all projects (admin)', default=False)
OF_PROJECT: Schema = described(PROJECT_ID, "those of this project; default: the token's")


def marker(schema: Schema) -> Schema:
    """Where a page begins."""
    return described(schema, 'from the link to the next page')
