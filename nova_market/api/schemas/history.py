# SPDX-License-Identifier: Apache-2.0
"""Schemas of rounds, allocations, heaviness and hosts."""

from nova_market.api.schemas.price import PRICE
from nova_market.api.schemas.shape import (
    FLAG,
    NUMBER,
    PERIOD,
    PROJECT_ID,
    RESOURCE,
    SERVER_ID,
    TEXT,
    TIME,
    listed,
    wrapped,
)
from nova_market.core.app.template_schema import AMOUNT
from nova_market.core.json_schema import Schema, described, nullable, record

SUMMARY = {
    'period': PERIOD,
    'state': {'type': 'string', 'enum': ['planned', 'applied', 'settled', 'undone']},
    'at': TIME,
    'started_at': described(TIME, 'when the engine decided it'),
}
ROUNDS = listed('rounds', record(SUMMARY))
ALLOCATED = {
    'period': PERIOD,
    'at': TIME,
    'server_id': SERVER_ID,
    'project_id': PROJECT_ID,
    'host': nullable(described(TEXT, 'for admins')),
    'ideal_cpu': described(NUMBER, 'cores with the whole cloud as one host'),
    'actual_cpu': described(NUMBER, "cores on the server's own host"),
    'ideal_memory_mib': NUMBER,
    'actual_memory_mib': NUMBER,
    'error': described(NUMBER, 'the larger of (ideal - actual) / ideal'),
    'charge_cpu': AMOUNT,
    'charge_memory': AMOUNT,
    'confirmed': described(FLAG, 'the host has applied it; nobody pays for what was not'),
}
ALLOCATIONS = listed('allocations', record(ALLOCATED))

PAIR: Schema = {'type': 'array', 'items': NUMBER, 'description': 'cpu, memory'}
WHY = {
    'payer': described(TEXT, 'account that pays'),
    'bid': PAIR,
    'counted': described(PAIR, 'bid after it was scaled to what the payer can pay'),
    'source': described({'type': 'array', 'items': TEXT}, 'where each bid came from'),
    'limit': described(PAIR, 'the most it can use: cores, MiB'),
    'why': described({'type': 'array', 'items': TEXT}, 'what shaped its allocation'),
    'note': TEXT,
}
LINES = listed('explanation', record({**ALLOCATED, **WHY}, optional=tuple(WHY)))
OBJECT: Schema = {'type': 'object'}
CONTEXT = {
    'settings': OBJECT,
    'demand': PAIR,
    'last_price': PAIR,
    'largest_error': NUMBER,
    'payers': described(
        {'type': 'array', 'items': OBJECT}, 'what payers had and bid; those of others for admins'
    ),
    'hosts': described({'type': 'array', 'items': OBJECT}, 'for admins'),
}
HELD_PRICE = record(
    {
        'resource': RESOURCE,
        'last_price': NUMBER,
        'price': NUMBER,
        'free_price': described(NUMBER, 'what it would have been'),
    }
)
NEWER = {
    'held_prices': described(
        {'type': 'array', 'items': HELD_PRICE}, 'from 1.3 on: prices that the breaker has held'
    ),
    'default_bids': described(
        record(
            {
                'cycle': described(
                    PERIOD, 'periods until a credit that is spent can be spent again'
                ),
                'load': described(PAIR, 'what all servers could use, per unit of capacity'),
            }
        ),
        'from 1.3 on: what the bids of servers without one were computed from',
    ),
}
NOT_SOLD: Schema = {
    **record(
        {
            'resource': RESOURCE,
            'everywhere': described(FLAG, 'no host sells it: it has no price'),
            'hosts': nullable(
                described(
                    {'type': 'array', 'items': TEXT}, 'those that do not control it; for admins'
                )
            ),
        }
    ),
    'description': 'from 1.3 on: what was not sold on all hosts',
}
SHOWN: Schema = record(
    {
        **SUMMARY,
        'leader': nullable(described(TEXT, 'engine; for admins')),
        'prices': {'type': 'array', 'items': PRICE},
        **CONTEXT,
        **NEWER,
        'not_sold': {'type': 'array', 'items': NOT_SOLD},
        **LINES['properties'],
    },
    optional=(*CONTEXT, *NEWER, 'not_sold', 'explanation_links'),
)
ROUND = wrapped('round', SHOWN)

HEAVINESS = listed(
    'heaviness',
    record(
        {
            'project_id': PROJECT_ID,
            'period': PERIOD,
            'heaviness': described(NUMBER, 'how heavy it weighs on the cloud'),
        }
    ),
)
HOSTS = listed('hosts', {'type': 'object', 'properties': {'name': TEXT}, 'required': ['name']})
