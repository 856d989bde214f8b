# SPDX-License-Identifier: Apache-2.0
"""Amounts of credit as whole micro-credits.

Implements rule M1 of doc/source/specs/market.rst: money is an integer, floats never touch the ledger.
Units: one credit is 1,000,000 micro-credits; every amount in this package is in micro-credits unless its
name says otherwise.
"""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from nova_market.errors import BadAmount

MICRO = 1_000_000
DIGITS = 6

MAX_AMOUNT = 2**53
"""Largest amount that is taken from outside: every JSON library reads it exactly, and a float holds it."""

AMOUNT_PARAMETERS = ('cpu', 'memory', 'cpu_price', 'memory_price', 'disk_price')
"""Parameters of policies, of applications and of queues, that are amounts, whichever policy takes them:
micro-credits here and in the API, credits where people write them."""

MONEY = (0, MAX_AMOUNT)
"""Bounds of what is stored, as core.row_check takes them."""


def micro_credits(value: object, name: str) -> int:
    """Credits as a person writes them (`12`, `"0.5"`) in micro-credits; `name` says what it is.

    :raises BadAmount: negative, not a number, finer than a micro-credit, or above MAX_AMOUNT.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise BadAmount(f'{name} is {value!r:.80}: give credits as a number, such as 12 or "0.5"')
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        raise BadAmount(f'{name} is {value!r:.80}: give credits as a number') from None
    if not number.is_finite() or number < 0:
        raise BadAmount(f'{name} is {value!r:.80}: give a finite number of credits, 0 or more')
    if number > Decimal(MAX_AMOUNT) / MICRO:
        raise BadAmount(f'{name} is {value!r:.80} credits: at most {credit_text(MAX_AMOUNT)}')
    micro = number.scaleb(DIGITS)
    if micro != micro.to_integral_value():
        raise BadAmount(f'{name} is {value!r:.80}: at most {DIGITS} digits after the point')
    return int(micro)


def credit_text(amount: int) -> str:
    """Micro-credits as a person reads them, exactly and without trailing zeros: 1500000 -> `1.5`."""
    whole, rest = divmod(abs(amount), MICRO)
    text = f'{whole}.{rest:0{DIGITS}d}'.rstrip('0').rstrip('.')
    return f'-{text}' if amount < 0 else text


def split(amount: int, weights: Mapping[str, int]) -> dict[str, int]:
    """amount in parts proportional to the weights, to the last micro-credit: the parts add up to it.

    Largest remainder; equal remainders go by id. An empty dict when no weight is positive: nobody is
    there to take anything, so nothing is given.
    """
    if amount < 0:
        raise BadAmount(f'{amount} micro-credits to split: give 0 or more')
    total = sum(weight for weight in weights.values() if weight > 0)
    if not total:
        return {}
    takers = sorted(name for name, weight in weights.items() if weight > 0)
    parts = {name: amount * weights[name] // total for name in takers}
    left = amount - sum(parts.values())
    by_remainder = sorted(takers, key=lambda name: (-(amount * weights[name] % total), name))
    for name in by_remainder[:left]:
        parts[name] += 1
    return parts
