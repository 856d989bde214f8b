# SPDX-License-Identifier: Apache-2.0
"""Schemas of bids."""

from nova_market.api.schemas.shape import (
    ACCOUNT_ID,
    MAX_CORES,
    MAX_MIB,
    NUMBER,
    PERIOD,
    PROJECT_ID,
    RESOURCE,
    SERVER_ID,
    TEXT,
    listed,
    wrapped,
)
from nova_market.core.app.template_schema import AMOUNT
from nova_market.core.json_schema import Schema, described, nullable, record
from nova_market.core.market.bid import BidSource
from nova_market.core.market.extra_spec import LEAST_CORES, LEAST_MIB

CORES: Schema = {'type': 'number', 'minimum': LEAST_CORES, 'maximum': MAX_CORES}
MIB: Schema = {'type': 'number', 'minimum': LEAST_MIB, 'maximum': MAX_MIB}
PAYER: Schema = {'type': 'string', 'pattern': '^(project|budget):[A-Za-z0-9_-]{1,64}$'}
GENERATION: Schema = {'type': 'integer', 'minimum': 0, 'maximum': 2**53}

BID_NEW = record(
    {
        **{
            name: nullable(
                described(
                    AMOUNT,
                    f'micro-credits per period for {text}; null: as if there were no bid, from 1.17 on',
                )
            )
            for name, text in (('cpu', 'CPU'), ('memory', 'memory'))
        },
        'max_cpu': nullable(described(CORES, 'the most cores to buy; null: the flavor')),
        'max_memory_mib': nullable(described(MIB, 'the most memory to buy; null: the flavor')),
        'payer': described(PAYER, "account that pays; default: the project's"),
        'generation': described(
            GENERATION,
            'of the bid that this replaces, 0: there is none; default: whatever there is',
        ),
    },
    optional=('cpu', 'memory', 'max_cpu', 'max_memory_mib', 'payer', 'generation'),
)
SOURCES = [source.name.lower() for source in BidSource]
COUNTED = record(
    {
        'bid': described(AMOUNT, 'micro-credits per period'),
        'source': described(
            {'enum': SOURCES},
            'tenant: this bid; server: its metadata or hint; flavor: its extra specs; sustainable: the '
            'default, its part of what its project can spend per period for ever',
        ),
    }
)
IN_FORCE = record({'period': PERIOD, 'payer': nullable(TEXT), 'cpu': COUNTED, 'memory': COUNTED})
SHOWN = record(
    {
        'server_id': SERVER_ID,
        'project_id': PROJECT_ID,
        'payer': ACCOUNT_ID,
        'cpu': described(nullable(AMOUNT), 'null: it sets none; 0 in versions before 1.17'),
        'memory': nullable(AMOUNT),
        'max_cpu': nullable({'type': 'number'}),
        'max_memory_mib': nullable({'type': 'number'}),
        'source': described(TEXT, 'who has set it: tenant, or app; none: there is no bid'),
        'generation': GENERATION,
        'in_force': described(
            nullable(IN_FORCE),
            'what the newest round counted, when one server is shown; null: it did not see the server; '
            'from 1.17 on',
        ),
    },
    optional=('in_force',),
)
BID = wrapped('bid', SHOWN)
BIDS = listed('bids', SHOWN)

SUGGESTED = record(
    {
        'resource': RESOURCE,
        'amount': described(NUMBER, 'cores or MiB that are wanted'),
        'bid': described(AMOUNT, 'micro-credits per period that would have been enough'),
        'price': described(NUMBER, 'of the newest round, micro-credits per core or MiB and period'),
        'new_price': described(NUMBER, 'that this bid makes of it'),
        'others': described(NUMBER, 'what all others paid for theirs, micro-credits per period'),
        'idle': described(NUMBER, 'cores or MiB that no other server had'),
    }
)
SUGGESTION = wrapped(
    'suggestion',
    record(
        {
            'server_id': nullable(SERVER_ID),
            'period': described(PERIOD, 'of the round by whose prices it is made'),
            'cpu': described(nullable(SUGGESTED), 'null: it was not asked for, or is not sold'),
            'memory': nullable(SUGGESTED),
            'why': {'type': 'array', 'items': TEXT},
        }
    ),
)
