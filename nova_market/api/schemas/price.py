# SPDX-License-Identifier: Apache-2.0
"""Schemas of prices and quotes."""

from nova_market.api.schemas.shape import NUMBER, PERIOD, RESOURCE, TEXT, TIME, listed, wrapped
from nova_market.core.app.template_schema import AMOUNT
from nova_market.core.json_schema import described, nullable, record

PRICE = record(
    {
        'period': PERIOD,
        'at': TIME,
        'resource': RESOURCE,
        'price': described(
            NUMBER, 'micro-credits per core or MiB and period, at which the market clears'
        ),
        'bid_price': described(NUMBER, 'sum of bids / capacity'),
        'capacity': described(NUMBER, 'cores or MiB'),
        'allocated': NUMBER,
        'bids': described({'type': 'integer', 'minimum': 0}, 'sum of the bids, micro-credits'),
    }
)
PRICES = listed('prices', PRICE)


QUOTE = wrapped(
    'quote',
    record(
        {
            'flavor': nullable(TEXT),
            'cpu': NUMBER,
            'memory_mib': NUMBER,
            'count': {'type': 'integer'},
            'periods': {'type': 'integer'},
            'seen_periods': described({'type': 'integer'}, 'periods whose prices it is judged by'),
            'low': described(
                AMOUNT, 'micro-credits of all servers for one period; 5 % were cheaper'
            ),
            'median': AMOUNT,
            'high': described(
                AMOUNT, '5 % of the periods were dearer; 2^53 stands for that or more'
            ),
            'total': described(AMOUNT, 'median x periods'),
            'present': nullable(
                described(
                    AMOUNT, 'the same at the prices of the newest round; from version 1.17 on'
                )
            ),
            'present_at': nullable(described(TIME, 'of the newest round')),
            'first_at': described(TIME, 'of the first of the seen periods'),
            'last_at': described(TIME, 'of the last of them'),
            'least': described(AMOUNT, 'in the cheapest of them'),
            'greatest': described(AMOUNT, 'in the dearest of them'),
        },
        optional=('present', 'present_at', 'first_at', 'last_at', 'least', 'greatest'),
    ),
)
