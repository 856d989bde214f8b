# SPDX-License-Identifier: Apache-2.0
"""The economy of the cloud, and what the means of projects buy (rule P4)."""

from typing import Any

from nova_market.api.call import Call
from nova_market.api.contract import gives, takes_query
from nova_market.api.errors import ApiError
from nova_market.api.handlers.columns import columns
from nova_market.api.handlers.price import pages_of_window, window
from nova_market.api.microversion import NEWEST_FIRST
from nova_market.api.schemas import economy as schemas
from nova_market.api.schemas.shape import ALL_PROJECTS, LIMIT, OF_PROJECT, PERIOD, marker
from nova_market.core.json_schema import WHEN, described
from nova_market.core.market.economy import BASE_ROUNDS, left_out
from nova_market.core.market.economy_record import basket_of, offer_of, supply_of, velocity_of
from nova_market.core.market.record import EconomyRecord, PowerRecord
from nova_market.core.timestamp import stamp

MOST = 10_000
"""Rounds that a velocity is taken from at most, the newest ones: a week of the default period."""

SINCE = described(WHEN, 'not before; default: a day before `until`')
UNTIL = described(WHEN, 'not after; default: now')
SUPPLY = ('projects', 'budgets', 'escrow', 'bank')


@takes_query(since=SINCE, until=UNTIL)
@gives(200, schemas.ECONOMY)
def show(call: Call) -> Any:
    """The newest round's economy, with the velocity of a window."""
    call.authorize('economy:show', call.project_id)
    first, last = window(call)
    records = call.stores.history.economy(max(first, last - MOST + 1), last)
    if not records:
        raise ApiError(
            404, 'market.economy.not_found', 'there was no round in this window: give another'
        )
    newest = records[-1]
    basket = basket_of(newest)
    offer = offer_of(call.stores.history.prices(newest.period, newest.period))
    return {
        'economy': {
            **_shown(call, newest),
            'circulating': supply_of(newest).circulating,
            'velocity': velocity_of(records),
            'seen_periods': sum(one.charged is not None for one in records),
            'base': {
                'rounds': basket.rounds,
                'complete': basket.rounds >= BASE_ROUNDS,
                'level': basket.level,
                'cpu': newest.base_cpu,
                'memory_mib': newest.base_memory,
            },
            'left_out': [
                {'resource': name, 'why': why} for name, why in left_out(basket, offer).items()
            ],
        }
    }


@takes_query(since=SINCE, until=UNTIL, limit=LIMIT, marker=marker(PERIOD))
@gives(200, schemas.PERIODS)
def history(call: Call) -> Any:
    """The economy of a window, newest first; before version 1.17 oldest first."""
    call.authorize('economy:show', call.project_id)
    newest_first = call.version >= NEWEST_FIRST
    first, last = window(call)
    if newest_first:
        last = min(last, call.query.get('marker', last + 1) - 1)
    else:
        first = max(first, call.query.get('marker', -1) + 1)
    found = call.stores.history.economy(first, last, call.limit + 1, newest_first=newest_first)
    return call.page('periods', [_shown(call, one) for one in found], found, lambda one: one.period)


@takes_query(
    project_id=OF_PROJECT,
    all_projects=ALL_PROJECTS,
    limit=LIMIT,
    marker=marker({'type': 'string', 'pattern': '^[A-Za-z0-9_-]{1,64}$'}),
)
@gives(200, schemas.POWERS)
def power(call: Call) -> Any:
    """What the means of projects buy at the newest prices, by project; empty before the first round."""
    project = call.whose('purchasing_power:show')
    newest = call.stores.history.rounds(limit=1)
    period = newest[0].period if newest else -1
    after = call.query.get('marker', '')
    found = call.stores.history.powers(period, period, project, after, call.limit + 1)
    return call.page(
        'purchasing_power', [_power(call, one) for one in found], found, lambda one: one.project_id
    )


@takes_query(
    project_id=OF_PROJECT,
    all_projects=ALL_PROJECTS,
    since=SINCE,
    until=UNTIL,
    limit=LIMIT,
    marker=marker({'type': 'string', 'pattern': '^[0-9]{1,16}:[A-Za-z0-9_-]{1,64}$'}),
)
@gives(200, schemas.POWERS)
def power_history(call: Call) -> Any:
    """The same in a window, newest first; before version 1.17 oldest first. In a round by project."""
    project = call.whose('purchasing_power:show')
    newest_first = call.version >= NEWEST_FIRST
    first, last, after = pages_of_window(call, newest_first=newest_first)
    given = project, after, call.limit + 1
    found = call.stores.history.powers(first, last, *given, newest_first=newest_first)
    return call.page(
        'purchasing_power',
        [_power(call, one) for one in found],
        found,
        lambda one: f'{one.period}:{one.project_id}',
    )


def _shown(call: Call, record: EconomyRecord) -> dict[str, object]:
    return {
        'period': record.period,
        'at': stamp(record.period * call.settings.period),
        'issued': supply_of(record).issued,
        **{name: getattr(record, name) for name in (*SUPPLY, 'charged', 'price_index')},
    }


def _power(call: Call, record: PowerRecord) -> dict[str, object]:
    return {**columns(record), 'at': stamp(record.period * call.settings.period)}
