# SPDX-License-Identifier: Apache-2.0
"""Prices now, in the past, and what a flavor would cost (rule P3)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nova_market.api.call import Call
from nova_market.api.contract import gives, takes_either, takes_query
from nova_market.api.errors import ApiError, not_found
from nova_market.api.microversion import NEWEST_FIRST, QUOTED_PRICES
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
from nova_market.core.market.price import quantiles
from nova_market.core.market.record import PriceRecord
from nova_market.core.timestamp import seconds, stamp

DAY = 86_400.0
WIDTH = len(MARKET_RESOURCES)
MOST_PRICES = 10_000
"""That a quote is made from at most, the newest ones."""

Amounts = tuple[float, float]
"""Cores and MiB of a server."""


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
    """Prices of a window, newest first; before version 1.17 oldest first."""
    call.authorize('prices:show', call.project_id)
    newest_first = call.version >= NEWEST_FIRST
    first, last, after = pages_of_window(call, newest_first=newest_first)
    given = call.query.get('resource'), after, call.limit + 1
    found = call.stores.history.prices(first, last, *given, newest_first=newest_first)
    return call.page(
        'prices',
        [shown(call, record) for record in found],
        found,
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
    found = call.stores.history.prices(max(first, last - MOST_PRICES // WIDTH + 1), last)
    if not found:
        raise ApiError(
            404, 'market.price.not_found', 'there are no prices in this window: give another'
        )
    count, periods = call.query['count'], call.query['periods']
    costs = _costs(found, amounts, count)
    low, median, high = (_credits(part) for part in quantiles(np.array([*costs.values()])))
    return {
        'quote': {
            'flavor': call.query.get('flavor'),
            'cpu': amounts[0],
            'memory_mib': amounts[1],
            'count': count,
            'periods': periods,
            'seen_periods': len(costs),
            'low': low,
            'median': median,
            'high': high,
            'total': min(median * periods, MAX_AMOUNT),
            **(_seen(call, costs, amounts) if call.version >= QUOTED_PRICES else {}),
        }
    }


def _costs(found: Sequence[PriceRecord], amounts: Amounts, count: int) -> dict[int, float]:
    """Period -> what all servers would have paid in it; what nobody sold cost nothing."""
    each = dict(zip(MARKET_RESOURCES, amounts, strict=True))
    costs: dict[int, float] = {}
    for one in found:
        costs[one.period] = costs.get(one.period, 0.0) + one.price * each[one.resource] * count
    return costs


def _seen(call: Call, costs: Mapping[int, float], amounts: Amounts) -> dict[str, object]:
    """How the quantiles came about, and what the servers cost at the prices of the newest round."""
    present = newest_prices(call)
    now = _costs(present, amounts, call.query['count'])
    return {
        'present': _credits(sum(now.values())) if present else None,
        'present_at': stamp(max(now) * call.settings.period) if present else None,
        'first_at': stamp(min(costs) * call.settings.period),
        'last_at': stamp(max(costs) * call.settings.period),
        'least': _credits(min(costs.values())),
        'greatest': _credits(max(costs.values())),
    }


def _credits(cost: float) -> int:
    return min(int(np.ceil(cost)), MAX_AMOUNT)


def newest_prices(call: Call, resource: str | None = None) -> Sequence[PriceRecord]:
    """Of the newest round. resource: only of this one"""
    newest = call.stores.history.rounds(limit=1)
    return (
        call.stores.history.prices(newest[0].period, newest[0].period, resource) if newest else []
    )


def span(call: Call) -> tuple[float, float]:
    """Seconds of since and until, by default the day that ends now.

    :raises ApiError: 400, they are exchanged.
    """
    now = call.stores.wall()
    until = max(seconds(call.query['until']), 0.0) if 'until' in call.query else now
    since = max(seconds(call.query['since']), 0.0) if 'since' in call.query else until - DAY
    if since > until:
        raise ApiError(
            400,
            'market.request.invalid',
            f'since, {stamp(since)}, is later than until, {stamp(until)}: exchange them',
        )
    return since, until


def window(call: Call) -> tuple[int, int]:
    """First and last period of the query."""
    period = call.settings.period
    since, until = span(call)
    return int(since // period), int(until // period)


def pages_of_window(call: Call, *, newest_first: bool) -> tuple[int, int, str]:
    """First and last period that a page may still have, and the name that it goes on after.

    The marker is that of a list by period and name: <period>:<name>
    """
    first, last = window(call)
    if 'marker' not in call.query:
        return first, last, ''
    text, _, name = call.query['marker'].partition(':')
    period = int(text)
    if not first <= period <= last:
        # of another window: all of this one is behind it, or none
        behind = (period > last) if newest_first else (period < first)
        return (first, last, '') if behind else (1, 0, '')
    return (first, period, name) if newest_first else (period, last, name)


def _amounts(call: Call) -> Amounts:
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
