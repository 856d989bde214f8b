# SPDX-License-Identifier: Apache-2.0
"""Strict checks of the plain values that peers send: numbers, names, mappings.

The peers of the message exchange of IFI-2016.04, section IV-D.2, trusted each other; here every value is
looked at before it is used. Each check returns the value or raises MalformedReport, which names the
field and the limit it breaks, and is short and printable whatever was sent.
"""

import math
from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any

from nova_market.core.exchange.packed_sums import OwnerTable
from nova_market.core.resource import RESOURCES
from nova_market.core.text import shown
from nova_market.errors import MalformedReport

MAX_OWNERS = 10_000
MAX_WIDTH = len(RESOURCES)
MAX_NAME = 255
MAX_AMOUNT = 1e24
"""Bound of every number a host says of itself; far above any real cloud, far below overflow of a sum."""
MAX_SUM = 1e4 * MAX_AMOUNT
"""Bound of a sum over hosts."""
MAX_QUOTA = 2**53
"""Bound of cores and MiB, so that every JSON library reads them exactly."""


def check_version(message: Mapping[str, object]) -> int:
    version = message.get('v')
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version < 2**31:
        raise MalformedReport(f'v: {shown(version)} is not a version number')
    return version


def name(value: object, where: str) -> str:
    # printable: names reach logs, metrics and the status document
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable():
        raise MalformedReport(
            f'{where}: {shown(value)} is not a printable name of 1 to {MAX_NAME} characters'
        )
    return value


def names(values: Collection[Any], where: str) -> None:
    """Every one of them is a name. Looked at together, as there are thirty in every message."""
    try:
        text = ''.join(values)
    except TypeError:
        text = '\n'
    if not text.isprintable() or '' in values or max(map(len, values), default=1) > MAX_NAME:
        for value in values:
            name(value, where)


def whole_number(message: Mapping[str, object], key: str) -> int:
    value = message.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise MalformedReport(f'{key}: {shown(value)} is not a whole number from 0 to 2^63 - 1')
    return value


def flag(message: Mapping[str, object], key: str) -> bool:
    """A yes or no; absent means no."""
    value = message.get(key, False)
    if not isinstance(value, bool):
        raise MalformedReport(f'{key}: {shown(value)} is not true or false')
    return value


def mapping(message: Mapping[str, object], key: str) -> Mapping[object, object]:
    value = message.get(key, {})
    if not isinstance(value, dict):
        raise MalformedReport(f'{key}: not an object')
    if len(value) > MAX_OWNERS:
        raise MalformedReport(f'{key}: {len(value)} entries, at most {MAX_OWNERS}')
    return value


def quota_pair(value: object) -> tuple[int, int]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise MalformedReport('quotas: not a list of cores and MiB')
    for number in value:
        whole = isinstance(number, int) and not isinstance(number, bool)
        if not whole or not -1 <= number <= MAX_QUOTA:
            raise MalformedReport(
                f'quotas: {shown(number)} is not a whole number from -1 to {MAX_QUOTA}'
            )
    cores, ram = value
    return cores, ram


def numbers(
    value: object,
    where: str,
    least: int,
    most: int,
    minimum: float = -MAX_AMOUNT,
    maximum: float = MAX_AMOUNT,
) -> tuple[float, ...]:
    if not isinstance(value, (list, tuple)) or not least <= len(value) <= most:
        raise MalformedReport(f'{where}: not a list of {least} to {most} numbers')
    for number in value:
        if type(number) is float and minimum <= number <= maximum:
            continue  # nearly every number is one
        if (
            isinstance(number, bool)
            or not isinstance(number, (int, float))
            or not minimum <= number <= maximum  # false for NaN and infinity too
        ):
            raise MalformedReport(
                f'{where}: {shown(number)} is not a number in [{minimum:g}, {maximum:g}]'
            )
    return tuple(map(float, value))


def number_rows(
    values: Collection[Any], where: str, most: int, maximum: float
) -> list[tuple[float, ...]]:
    """Lists of 1 to `most` numbers each, all as long as the first, no number beyond +-maximum."""
    if not are_plain_rows(values, 1, most, -maximum, maximum):
        values = [numbers(value, where, 1, most, -maximum, maximum) for value in values]
        if len(set(map(len, values))) > 1:
            raise MalformedReport(f'{where}: partial sums of different width')
    return list(map(tuple, values))


def are_plain_rows(
    values: Collection[Any], least: int, most: int, minimum: float, maximum: float
) -> bool:
    """Are they surely lists of numbers, of one length? Looked at together, in a fifth of the time."""
    if set(map(type, values)) != {list}:
        return False
    cells = list(chain.from_iterable(values))
    lengths = set(map(len, values))
    if len(lengths) > 1 or not least <= lengths.pop() <= most or set(map(type, cells)) != {float}:
        return False
    # NaN may escape min and max, though not a sum
    return minimum <= min(cells) and max(cells) <= maximum and not math.isnan(sum(cells))


def check_table(table: OwnerTable, where: str, maximum: float) -> None:
    """Numbers for 1 to MAX_OWNERS owners, 1 to MAX_WIDTH for each, none beyond +-maximum.

    The places ascend, so that no owner is there twice and the last place is the highest.
    """
    count, width = table.numbers.shape
    if not 0 < count <= MAX_OWNERS or not 0 < width <= MAX_WIDTH:
        raise MalformedReport(f'{where}: a table of {count} owners with {width} numbers each')
    amounts = abs(table.numbers)
    largest = amounts.item(amounts.argmax())
    if not largest <= maximum:  # NaN counts as the largest
        raise MalformedReport(f'{where}: {largest} is not a number in +-{maximum:g}')
    if (table.places[1:] <= table.places[:-1]).any():
        raise MalformedReport(f'{where}: the places in a table do not ascend')
