# SPDX-License-Identifier: Apache-2.0
"""Schemas of the economy and of purchasing power."""

from nova_market.api.schemas.shape import (
    NUMBER,
    PERIOD,
    PROJECT_ID,
    RESOURCE,
    TEXT,
    TIME,
    listed,
    wrapped,
)
from nova_market.core.app.template_schema import AMOUNT
from nova_market.core.json_schema import described, nullable, record

COUNT = {'type': 'integer', 'minimum': 0}
INDEX = nullable(
    described(
        NUMBER, '100: prices are those of the base window; null: nothing of the basket is on sale'
    )
)
PAST = {
    'period': PERIOD,
    'at': TIME,
    'issued': described(AMOUNT, 'all credits, in micro-credits: the sum of the next four'),
    'projects': described(AMOUNT, 'in the accounts of projects'),
    'budgets': AMOUNT,
    'escrow': described(
        AMOUNT, 'held for rounds that are not settled and jobs that have not ended'
    ),
    'bank': described(AMOUNT, 'paid, and neither returned nor distributed yet'),
    'charged': nullable(described(AMOUNT, 'by this round so far; null: nothing is settled yet')),
    'price_index': INDEX,
}
PERIODS = listed('periods', record(PAST))

BASE = record(
    {
        'rounds': described(COUNT, 'of the base window so far'),
        'complete': described(
            {'type': 'boolean'}, 'the basket is fixed; false: the index is that of a growing basket'
        ),
        'level': described(NUMBER, 'index in the base window: 100 in the first one'),
        'cpu': described(NUMBER, 'cores that were sold, times periods'),
        'memory_mib': described(NUMBER, 'MiB that were sold, times periods'),
    }
)
ECONOMY = wrapped(
    'economy',
    record(
        {
            **PAST,
            'circulating': described(AMOUNT, 'issued, without the bank'),
            'velocity': nullable(
                described(NUMBER, 'part of the credits that is charged in a period; of the window')
            ),
            'seen_periods': described(COUNT, 'settled rounds that the velocity is taken from'),
            'base': BASE,
            'left_out': described(
                {'type': 'array', 'items': record({'resource': RESOURCE, 'why': TEXT})},
                'what does not count in the index',
            ),
        }
    ),
)

POWERS = listed(
    'purchasing_power',
    record(
        {
            'period': PERIOD,
            'at': TIME,
            'project_id': PROJECT_ID,
            'wealth': described(
                AMOUNT, 'what it and its budgets have, and what is on its way back'
            ),
            'spend': described(AMOUNT, 'micro-credits per period that it can spend for ever'),
            'cores': nullable(described(NUMBER, 'what that buys of CPU alone; null: not on sale')),
            'part': nullable(described(NUMBER, 'what it buys of all that is on sale, 0 to 1')),
            'real': nullable(described(NUMBER, 'the spend in micro-credits of the base window')),
        }
    ),
)
