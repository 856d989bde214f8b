# SPDX-License-Identifier: Apache-2.0
"""What `nova-market-engine status` shows: the rounds that are stored, and what the last one decided.

Implements rule A4 of doc/source/specs/market.rst. Amounts are shown in credits.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from nova_market.core.ledger.money import MICRO, credit_text
from nova_market.core.market.enforced import unsold_on
from nova_market.core.market.record import PriceRecord, RoundRecord
from nova_market.ports import History

SHOWN = 10
LATE = 2
"""Periods without a round after which the market stands still (F1)."""


def status_document(history: History, wall: float, period: int) -> dict[str, object]:
    """As JSON has it. period: seconds."""
    rounds = history.rounds(limit=SHOWN)
    newest = history.round(rounds[0].period) if rounds else None
    found: dict[str, object] = {
        'now': int(wall // period),
        'alive': bool(rounds) and wall // period - rounds[0].period <= LATE,
        'rounds': [_round(one) for one in rounds],
    }
    if newest is not None:
        found['prices'] = [_price(p) for p in history.prices(newest.period, newest.period)]
        found['held_prices'] = newest.document.get('held_prices', [])
        found['not_sold'] = unsold_on(newest.document)
        found['largest_error'] = newest.document.get('largest_error')
        found['hosts'] = newest.document.get('hosts')
        found['payers'] = newest.document.get('payers')
    return found


def render(document: Mapping[str, object]) -> str:
    """For a person."""
    lines = [
        'market: ' + ('rounds are run' if document['alive'] else 'STANDS STILL')
        + f', it is period {document["now"]}',
        '', f'{"PERIOD":>12}  {"STATE":<8}  {"BEGAN (UTC)":<19}  LEADER',
    ]  # fmt: skip
    lines += [
        f'{one["period"]:>12}  {one["state"]:<8}  {one["started_at"]}  {one["leader"]}'
        for one in _items(document, 'rounds')
    ]
    if 'prices' in document:
        lines += ['', f'{"RESOURCE":<8}  {"PRICE":>12}  {"BID PRICE":>12}  {"GIVEN":>12}  OF']
        lines += [
            f'{one["resource"]:<8}  {one["price"]:>12}  {one["bid_price"]:>12}  '
            f'{one["allocated"]:>12g}  {one["capacity"]:g}'
            for one in _items(document, 'prices')
        ]
        lines += [
            f'the price of {one["resource"]} is held: without the breaker it would be '
            f'{float(str(one["free_price"])) / MICRO:.9g}'
            for one in _items(document, 'held_prices')
        ]
        lines += [
            f'{name:<8}  not sold on hosts that do not control it: {_some(hosts)}'
            for name, hosts in _unsold(document).items()
        ]
        lines += ['', f'{"PAYER":<44}  {"HAS":>14}  {"BIDS":>14}  {"OWES":>14}']
        lines += [
            f'{one["id"]:<44}  {_credits(one, "available")}  {_credits(one, "bids")}  '
            f'{_credits(one, "due")}{"  scaled down" if one["scaled"] else ""}'
            for one in _items(document, 'payers')
        ]
    return '\n'.join(lines)


def _round(one: RoundRecord) -> dict[str, object]:
    began = datetime.fromtimestamp(one.started_at, UTC)
    return {
        'period': one.period,
        'state': str(one.state),
        'leader': one.leader,
        'started_at': f'{began:%Y-%m-%d %H:%M:%S}',
    }


def _price(one: PriceRecord) -> dict[str, object]:
    return {
        'resource': one.resource,
        'price': round(one.price / MICRO, 9),
        'bid_price': round(one.bid_price / MICRO, 9),
        'capacity': one.capacity,
        'allocated': one.allocated,
    }


def _items(document: Mapping[str, object], key: str) -> list[dict[str, object]]:
    found = document.get(key)
    return found if isinstance(found, list) else []


def _unsold(document: Mapping[str, object]) -> dict[str, list[str]]:
    found = document.get('not_sold')
    return found if isinstance(found, dict) else {}


def _some(hosts: Sequence[str]) -> str:
    more = ', ...' if len(hosts) > SHOWN else ''
    return ', '.join(hosts[:SHOWN]) + more


def _credits(one: Mapping[str, object], key: str) -> str:
    return f'{credit_text(int(str(one[key]))):>14}'
