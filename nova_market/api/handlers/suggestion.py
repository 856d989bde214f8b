# SPDX-License-Identifier: Apache-2.0
"""What to bid for so many cores or MiB, or for a part of the cloud (rules P1, P3)."""

from collections.abc import Mapping
from typing import Any

from nova_market.api.call import Call
from nova_market.api.contract import gives, takes_query
from nova_market.api.errors import ApiError
from nova_market.api.handlers.bid import check_size, server_of
from nova_market.api.handlers.columns import columns
from nova_market.api.handlers.price import newest_prices
from nova_market.api.schemas import bid as schemas
from nova_market.api.schemas.shape import MAX_CORES, MAX_MIB, SERVER_ID
from nova_market.core.json_schema import described
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.bid_suggestion import bid_suggestion
from nova_market.core.market.owner_server import OwnedServer
from nova_market.core.market.record import PriceRecord

QUERY = dict(zip(MARKET_RESOURCES, ('cpu', 'memory_mib'), strict=True))


@takes_query(
    cpu=described({'type': 'number', 'exclusiveMinimum': 0, 'maximum': MAX_CORES}, 'cores'),
    memory_mib=described({'type': 'number', 'exclusiveMinimum': 0, 'maximum': MAX_MIB}, 'MiB'),
    share=described(
        {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 1},
        'a part of all that the cloud sells of each resource, such as 0.25',
    ),
    server_id=described(SERVER_ID, 'for this server, whose present part is not counted as others'),
)
@gives(200, schemas.SUGGESTION)
def show(call: Call) -> Any:
    """What would have been enough in the newest round: indicative, others may bid otherwise."""
    call.authorize('prices:show', call.project_id)
    prices = {one.resource: one for one in newest_prices(call)}
    if not prices:
        raise ApiError(
            404, 'market.price.not_found', 'there was no round yet: ask again in a few minutes'
        )
    period = max(one.period for one in prices.values())
    server = server_of(call, call.query['server_id']) if 'server_id' in call.query else None
    wanted = _amounts(call, prices, server)
    if server is not None:
        check_size(server, [*QUERY.values()], [wanted.get(name) for name in QUERY])
    held = _held(call, period)
    reserve = dict(zip(MARKET_RESOURCES, call.settings.reserve, strict=True))
    found = {
        name: bid_suggestion(prices[name], amount, reserve[name], held.get(name, 0.0))
        for name, amount in wanted.items()
        if name in prices
    }
    unsold = [
        f'{name} is not sold, as no host controls it: the server has what its flavor has, without a bid'
        for name in wanted
        if name not in prices
    ]
    lines = {name: columns(found[name]) if name in found else None for name in MARKET_RESOURCES}
    why = [line.pop('why') for line in lines.values() if line]
    return {
        'suggestion': {
            'server_id': call.query.get('server_id'),
            'period': period,
            'why': [*why, *unsold],
            **lines,
        }
    }


def _amounts(
    call: Call, prices: Mapping[str, PriceRecord], server: OwnedServer | None
) -> dict[str, float]:
    """By resource: what was asked for, else all that the server can use.

    :raises ApiError: 400; nothing was asked for, or an amount and a share.
    """
    given = {
        name: float(call.query[wanted]) for name, wanted in QUERY.items() if wanted in call.query
    }
    if given and 'share' not in call.query:
        return given
    if not given and 'share' in call.query:
        part = float(call.query['share'])
        return {name: part * one.capacity for name, one in prices.items() if one.capacity > 0}
    if not given and server is not None and server.is_known:
        return dict(zip(MARKET_RESOURCES, (server.vcpus, server.memory_mib), strict=True))
    raise ApiError(
        400,
        'market.request.invalid',
        'give either cpu and memory_mib, such as cpu=2, or share, such as share=0.25, or server_id alone, '
        'for all that this server can use',
    )


def _held(call: Call, period: int) -> dict[str, float]:
    """What the server had in that round, by resource."""
    if 'server_id' not in call.query:
        return {}
    newest = call.stores.history.allocations_of(call.query['server_id'], None, 1)
    if not newest or newest[0].period != period:
        return {}
    parts = (newest[0].ideal_cpu, newest[0].ideal_memory_mib)
    return dict(zip(MARKET_RESOURCES, parts, strict=True))
