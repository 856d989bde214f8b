# SPDX-License-Identifier: Apache-2.0
"""Files with templates of applications: as they are written, and as they are sent.

Amounts are in credits and times as they are typed, as in all commands. Units of what is sent: micro-credits,
ISO 8601 in UTC.
"""

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from osc_lib import exceptions

from nova_market.core.ledger.money import AMOUNT_PARAMETERS, MICRO, micro_credits
from nova_market.core.text import shown
from nova_market.core.timestamp import stamp
from nova_market.errors import BadAmount, BadTime
from nova_market.osc.v1 import cloud_clock
from nova_market.osc.v1.document_file import check_names, document_of
from nova_market.osc.v1.time_argument import moment

LARGEST = 200_000
"""Bytes of a template; the service takes fewer."""

UNIT = 'credits'

DOUBTFUL_BUDGET = 10_000
"""Credits from which on a budget needs the unit: before, templates were in micro-credits, and what is read as
40,000,000 credits would take all that the project has."""

DOUBTFUL_PRICE = {'cpu': 1000.0, 'memory': 1.0}
"""The same of prices, credits per core or MiB: a MiB costs millionths."""

DOUBTFUL_PARAMETER = {
    'cpu': 1000.0, 'memory': 1000.0, 'cpu_price': 1000.0, 'memory_price': 1.0, 'disk_price': 1.0,
}  # fmt: skip
"""Of AMOUNT_PARAMETERS; `cpu` and `memory` are bids of a server."""


ENTRIES = (
    'name', 'policy', 'parameters', 'slo', 'when_suspended', 'budget', 'start', 'components',
)  # fmt: skip
"""Of a template."""


def template_of(path: str, now: float | None = None) -> dict[str, Any]:
    """The request of a file. now: seconds since the epoch, from which durations count; None: the clock's

    :raises CommandError: names the file, the entry, its value and what to write.
    """
    document = document_of(path, LARGEST, 'template: give entries such as "name: x"')
    try:
        check_names('', document, ENTRIES)
        return sent(document, cloud_clock.now() if now is None else now)
    except ValueError as error:
        raise exceptions.CommandError(f'{path}: {error}') from None


def sent(document: Mapping[str, Any], now: float) -> dict[str, Any]:
    """A template as the API takes it; what has another form than it should is left to the API to refuse.

    :raises ValueError: an amount or a time is none; names the entry, its value and what to write.
    """

    def budget(where: str, value: Any) -> int:
        return credits_written(where, value, DOUBTFUL_BUDGET)

    def at(where: str, value: Any) -> str:
        return time_text(where, value, now)

    found = {str(name): value for name, value in document.items()}
    _change(found, 'budget', {'renew_amount': budget})
    _change(found, 'slo', {'deadline': at})
    _change(found, 'start', {'before': at})
    _change(found, 'parameters', dict.fromkeys(AMOUNT_PARAMETERS, parameter_written))
    if isinstance(found.get('start'), dict):
        prices = dict.fromkeys(('cpu', 'memory'), _price)
        _change(found['start'], 'price_below', prices, 'start.price_below')
    return {name: _plain(value) for name, value in found.items()}


def credits_written(where: str, value: Any, doubtful: float) -> int:
    """Credits as people write them (5, 0.5, '5 credits') in micro-credits.

    doubtful: credits from which on the unit has to stand there
    :raises ValueError: as `sent`.
    """
    number, with_unit = _without_unit(value)
    try:
        found = micro_credits(number, where)
    except BadAmount:
        raise ValueError(
            f'{where}: {shown(value)} is no amount: write credits, 0 or more with at most 6 digits after the '
            'point, such as 5 or 0.25'
        ) from None
    if found >= doubtful * MICRO and not with_unit:
        raise ValueError(_doubt(where, number))
    return found


def price_written(where: str, value: Any, doubtful: float) -> float:
    """A price in credits per core or MiB, in micro-credits, whole or not; the same holds."""
    number, with_unit = _without_unit(value)
    try:
        found = math.nan if isinstance(number, bool) else float(number)
    except (TypeError, ValueError):
        found = math.nan
    if not 0 <= found < math.inf:
        raise ValueError(f'{where}: {shown(value)} is no price: write credits, such as 0.4')
    if found >= doubtful and not with_unit:
        raise ValueError(_doubt(where, number))
    return float(f'{found * MICRO:.12g}')


def parameter_written(where: str, value: Any) -> float:
    """One of AMOUNT_PARAMETERS, the last part of `where`, in micro-credits; the same holds."""
    return price_written(where, value, DOUBTFUL_PARAMETER[where.rpartition('.')[2]])


def time_text(where: str, value: Any, now: float) -> str:
    """A time as commands take it, as the API has it.

    :raises ValueError: as `sent`.
    """
    try:
        return stamp(moment(str(value), now, ahead=True))
    except BadTime as error:
        raise ValueError(f'{where}: {error}') from None


def _price(where: str, value: Any) -> float:
    return price_written(where, value, DOUBTFUL_PRICE[where.rpartition('.')[2]])


def _change(
    document: dict[str, Any],
    name: str,
    changes: Mapping[str, Callable[[str, Any], Any]],
    where: str = '',
) -> None:
    """Entries of a part of a document, where it has them; null stays."""
    part = document.get(name)
    if isinstance(part, Mapping):
        document[name] = {
            key: changes[key](f'{where or name}.{key}', value)
            if key in changes and value is not None
            else value
            for key, value in part.items()
        }


def _without_unit(value: Any) -> tuple[Any, bool]:
    """The number, and whether its unit stood there."""
    if isinstance(value, str) and value.endswith(UNIT):
        return value.removesuffix(UNIT).strip(), True
    return value, False


def _doubt(where: str, number: Any) -> str:
    return (
        f'{where}: {number} without a unit: amounts are in credits, and were in micro-credits once; write '
        f'{_digits(float(number) / MICRO)} if it is from then, or "{number} {UNIT}" if it is right'
    )


def _digits(value: float) -> str:
    return f'{value:.12f}'.rstrip('0').rstrip('.')


def _plain(value: Any) -> Any:
    """JSON's kinds of values only."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value
