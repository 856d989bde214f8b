# SPDX-License-Identifier: Apache-2.0
"""Schemas of bids."""

from nova_market.api.schemas.shape import (
    ACCOUNT_ID,
    MAX_CORES,
    MAX_MIB,
    PROJECT_ID,
    SERVER_ID,
    TEXT,
    listed,
    wrapped,
)
from nova_market.core.app.template_schema import AMOUNT
from nova_market.core.json_schema import Schema, described, nullable, record
from nova_market.core.market.extra_spec import LEAST_CORES, LEAST_MIB

CORES: Schema = {'type': 'number', 'minimum': LEAST_CORES, 'maximum': MAX_CORES}
MIB: Schema = {'type': 'number', 'minimum': LEAST_MIB, 'maximum': MAX_MIB}
PAYER: Schema = {'type': 'string', 'pattern': '^(project|budget):[A-Za-z0-9_-]{1,64}$'}
GENERATION: Schema = {'type': 'integer', 'minimum': 0, 'maximum': 2**53}

BID_NEW = record(
    {
        'cpu': described(AMOUNT, 'micro-credits per period for CPU'),
        'memory': described(AMOUNT, 'micro-credits per period for memory'),
        'max_cpu': nullable(described(CORES, 'the most cores to buy; null: the flavor')),
        'max_memory_mib': nullable(described(MIB, 'the most memory to buy; null: the flavor')),
        'payer': described(PAYER, "account that pays; default: the project's"),
        'generation': described(
            GENERATION,
            'of the bid that this replaces, 0: there is none; default: whatever there is',
        ),
    },
    optional=('max_cpu', 'max_memory_mib', 'payer', 'generation'),
)
SHOWN = record(
    {
        'server_id': SERVER_ID,
        'project_id': PROJECT_ID,
        'payer': ACCOUNT_ID,
        'cpu': AMOUNT,
        'memory': AMOUNT,
        'max_cpu': nullable({'type': 'number'}),
        'max_memory_mib': nullable({'type': 'number'}),
        'source': described(TEXT, 'who has set it: tenant'),
        'generation': GENERATION,
    }
)
BID = wrapped('bid', SHOWN)
BIDS = listed('bids', SHOWN)
