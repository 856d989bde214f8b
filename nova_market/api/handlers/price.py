# SPDX-License-Identifier: Apache-2.0
"""Prices now, in the past, and what a flavor would cost (rule P3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nova_market.api.call import Call
from nova_market.api.contract import gives, takes_either, takes_query
from nova_market.api.errors import ApiError, not_found
from nova_market.api.schemas import price as schemas
from nova_market.api.schemas.shape import (
    LIMIT,
    MAX_CORES,
    MAX_MIB,
    MAX_PERIODS,
    MAX_SERVERS,
    RESOURCE,
    TEXT,
    marker,
)
from nova_market.core.json_schema import WHEN, described
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.price import quote as price_quantiles
from nova_market.core.market.record import PriceRecord
from nova_market.core.timestamp import seconds, stamp

DAY = 86_400.0
WIDTH = len(MARKET_RESOURCES)


@takes_query(resource=described(RESOURCE, 'only this one'))
@gives(200, schemas.PRICES)
def show(call: Call) -> Any:
    """The newest round's prices, of the resources that some host sells; none before the first round."""
    call.authorize('prices:show', call.project_id)
    found = newest_prices(call, call.query.get('resource'))
    return {'prices': [shown(call, record) for record in found]}


@takes_query(
    resource=described(RESOURCE, 'only this one'),
    since=described(WHEN, 'not before; default: a day before `until`'),
    until=described(WHEN, 'not after; default: now'),
    limit=LIMIT,
    marker=marker({'type': 'string', 'pattern': '^[0-9]{1,16}:(cpu|memory)$'}),
)
@gives(200, schemas.PRICES)
def history(call: Call) -> Any:
    """Prices of a window, oldest first."""
    call.authorize('prices:show', call.project_id)
    first, last = window(call)
    after = (-1, '')
    if 'marker' in call.query:
        period, _, name = call.query['marker'].partition(':')
        after = (int(period), name)
    found = call.stores.history.prices(max(first, after[0]), last, call.query.get('resource'))
    records = [r for r in found if (r.period, r.resource) > after]
    page = records[: call.limit + 1]
    return call.page(
        'prices',
        [shown(call, record) for record in page],
        page,
        lambda one: f'{one.period}:{one.resource}',
    )


@takes_either(('flavor',), ('cpu', 'memory_mib'))
@takes_query(
    flavor=described({**TEXT, 'minLength': 1, 'maxLength': 255}, "a public flavor's id or name"),
    cpu=described(
        {'type': 'number', 'exclusiveMinimum': 0, 'maximum': MAX_CORES}, 'cores, without a flavor'
    ),
    memory_mib=described(
        {'type': 'number', 'exclusiveMinimum': 0, 'maximum': MAX_MIB}, 'MiB, without a flavor'
    ),
    count=described(
        {'type': 'integer', 'minimum': 1, 'maximum': MAX_SERVERS}, 'servers', default=1
    ),
    periods=described(
        {'type': 'integer', 'minimum': 1, 'maximum': MAX_PERIODS}, 'periods', default=1
    ),
    since=described(WHEN, 'prices to judge by: not before; default: a day before `until`'),
    until=described(WHEN, 'and not after; default: now'),
)
@gives(200, schemas.QUOTE)
def quote(call: Call) -> Any:
    """What servers of a flavor would have cost: indicative, nothing is reserved."""
    call.authorize('prices:show', call.project_id)
    amounts = _amounts(call)
    first, last = window(call)
    found = call.stores.history.prices(max(first, last - 10_000 // WIDTH + 1), last)
    count, periods = call.query['count'], call.query['periods']
    by_resource = {
        name: [p.price for p in found if p.resource == name] for name in MARKET_RESOURCES
    }
    if not any(by_resource.values()):
        raise ApiError(
            404, 'market.price.not_found', 'there are no prices in this window: give another'
        )
    each = [
        price_quantiles(np.array(by_resource[name]), amount)
        for name, amount in zip(MARKET_RESOURCES, amounts, strict=True)
        if by_resource[name]  # what nobody sold cost nothing
    ]
    per_period = [
        min(int(np.ceil(sum(part) * count)), MAX_AMOUNT) for part in zip(*each, strict=True)
    ]
    return {
        'quote': {
            'flavor': call.query.get('flavor'),
            'cpu': amounts[0],
            'memory_mib': amounts[1],
            'count': count,
            'periods': periods,
            'seen_periods': min(len(seen) for seen in by_resource.values() if seen),
            **dict(zip(('low', 'median', 'high'), per_period, strict=True)),
            'total': min(per_period[1] * periods, MAX_AMOUNT),
        }
    }


def newest_prices(call: Call, resource: str | None = None) -> Sequence[PriceRecord]:
    """Of the newest round. resource: only of this one"""
    newest = call.stores.history.rounds(limit=1)
    return (
        call.stores.history.prices(newest[0].period, newest[0].period, resource) if newest else []
    )


def window(call: Call) -> tuple[int, int]:
    """First and last period of the query."""
    now = call.stores.wall()
    until = max(seconds(call.query['until']), 0.0) if 'until' in call.query else now
    since = max(seconds(call.query['since']), 0.0) if 'since' in call.query else until - DAY
    if since > until:
        raise ApiError(400, 'market.request.invalid', 'since is later than until: exchange them')
    period = call.settings.period
    return int(since // period), int(until // period)


def _amounts(call: Call) -> tuple[float, float]:
    flavor = call.query.get('flavor')
    if flavor is None:
        return float(call.query.get('cpu') or 0), float(call.query.get('memory_mib') or 0)
    found = call.stores.flavors.flavor(flavor)
    if found is None:
        raise not_found('flavor', flavor)
    return found


def shown(call: Call, record: PriceRecord) -> dict[str, object]:
    return {
        'period': record.period,
        'at': stamp(record.period * call.settings.period),
        'resource': record.resource,
        'price': record.price,
        'bid_price': record.bid_price,
        'capacity': record.capacity,
        'allocated': record.allocated,
        'bids': record.bids,
    }
