# SPDX-License-Identifier: Apache-2.0
"""Whether a value that was read holds what its class says it holds.

Implements rule R1 of doc/source/specs/passes.rst. What checks requests has not seen what another version, a
restored backup or a hand has written to the database, and not every database keeps types: so whatever reads a
row checks each field by its annotation, and numbers by their bounds. A decision over many rows may then rely
on numbers that are numbers, finite and not larger than its arithmetic takes.

Bounds are inclusive. Fields of other types than those of CHECKS are left to whoever makes them of the row.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from math import isfinite
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from nova_market.core.timestamp import LATEST
from nova_market.errors import BadRow

Value = TypeVar('Value')
Bounds = Mapping[str, tuple[float, float]]
"""Least and most of a field, by its name."""

Check = Callable[[Any], bool]

TIME = (0.0, LATEST)
"""Seconds since the epoch, or of a duration."""

AMOUNT = (0.0, 2.0**40)
"""Of cores, MiB or GiB."""

COUNT = (0, 2**31 - 1)


def checked(value: Value, bounds: Bounds | None = None) -> Value:
    """The value itself.

    :raises BadRow: names the field, what it holds and what it may hold.
    """
    form: type = type(value)
    for name, check, kind in _checks(form):
        if not check(getattr(value, name)):
            raise BadRow(f'{name} is {getattr(value, name)!r:.80}: it must be {kind}')
    for name, limits in (bounds or {}).items():
        _check_bounds(name, getattr(value, name), limits)
    return value


def check_fields(kind: type, held: Mapping[str, Any], bounds: Bounds) -> None:
    """The same for some fields of what a value of this class would be made of.

    :raises BadRow: as `checked`.
    """
    for name, check, wanted in _checks(kind):
        if name in held and not check(held[name]):
            raise BadRow(f'{name} is {held[name]!r:.80}: it must be {wanted}')
    for name in bounds.keys() & held.keys():
        _check_bounds(name, held[name], bounds[name])


def _check_bounds(name: str, held: Any, limits: tuple[float, float]) -> None:
    least, most = limits
    if held is not None and not least <= held <= most:
        raise BadRow(f'{name} is {held!r:.80}: it must be from {least:g} to {most:g}')


def is_within(value: object, limits: tuple[float, float]) -> bool:
    """Whether it is a finite number within these bounds."""
    return _is_real(value) and limits[0] <= cast(float, value) <= limits[1]


def _is_real(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


CHECKS: Mapping[type, tuple[Check, str]] = {
    float: (_is_real, 'a finite number'),
    int: (_is_whole, 'a whole number'),
    str: (_is_text, 'a text'),
    bool: (_is_flag, 'true or false'),
}


@cache
def _checks(kind: type) -> tuple[tuple[str, Check, str], ...]:
    """Name of each field that can be checked, how, and what it may hold."""
    hints = get_type_hints(kind)
    found = ((one.name, _check(hints[one.name])) for one in fields(kind))
    return tuple((name, *check) for name, check in found if check is not None)


def _check(hint: Any) -> tuple[Check, str] | None:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType) and len(parts) == 2 and type(None) in parts:
        inner = _check(next(one for one in parts if one is not type(None)))
        return None if inner is None else (_or_none(inner[0]), f'{inner[1]}, or nothing')
    if origin is tuple or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return _of_each(origin, parts)
    hint = getattr(hint, '__supertype__', hint)  # of a NewType
    return CHECKS.get(hint) if isinstance(hint, type) else None


def _of_each(origin: type, parts: tuple[Any, ...]) -> tuple[Check, str] | None:
    """Of all values of a mapping, or all elements of a tuple, where these are of one type."""
    mapping = origin is not tuple
    kinds = {parts[1]} if mapping else {one for one in parts if one is not Ellipsis}
    inner = _check(kinds.pop()) if len(kinds) == 1 else None
    if inner is None:
        return None
    check, kind = inner

    def every(value: Any) -> bool:
        if not isinstance(value, Mapping if mapping else tuple):
            return False
        return all(check(one) for one in (value.values() if isinstance(value, Mapping) else value))

    return every, f'{kind} in each place'


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)
