# SPDX-License-Identifier: Apache-2.0
"""Schemas of prices and quotes."""

from nova_market.api.schemas.shape import (
    AMOUNT,
    NUMBER,
    PERIOD,
    RESOURCE,
    TEXT,
    TIME,
    listed,
    nullable,
    record,
    said,
    wrapped,
)

PRICE = record(
    {
        'period': PERIOD,
        'at': TIME,
        'resource': RESOURCE,
        'price': said(
            NUMBER, 'micro-credits per core or MiB and period, at which the market clears'
        ),
        'bid_price': said(NUMBER, 'sum of bids / capacity'),
        'capacity': said(NUMBER, 'cores or MiB'),
        'allocated': NUMBER,
        'bids': said({'type': 'integer', 'minimum': 0}, 'sum of the bids, micro-credits'),
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
            'seen_periods': said({'type': 'integer'}, 'periods whose prices it is judged by'),
            'low': said(AMOUNT, 'micro-credits of all servers for one period; 5 % were cheaper'),
            'median': AMOUNT,
            'high': said(AMOUNT, '5 % of the periods were dearer; 2^53 stands for that or more'),
            'total': said(AMOUNT, 'median x periods'),
        }
    ),
)
