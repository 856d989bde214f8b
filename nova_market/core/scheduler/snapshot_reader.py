# SPDX-License-Identifier: Apache-2.0
"""Reads tables of numbers from a JSON document that another machine wrote, and believes none of them.

Every complaint is a BadSnapshot that names the place. Numbers are finite and within bounds; where a gap is
allowed it is null in the document and NaN in the array.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import Array
from nova_market.errors import BadSnapshot

MAX_TEXT = 255


@dataclass(frozen=True, slots=True)
class Table:
    """One object of the document; `name` is how complaints call it."""

    content: Mapping[str, object]
    name: str

    @classmethod
    def of(cls, found: object, name: str) -> 'Table':
        if not isinstance(found, Mapping):
            raise BadSnapshot(f'{name} is {type(found).__name__}, not an object')
        return cls(found, name)

    def get(self, key: str) -> object:
        return self.content.get(key)

    def table(self, key: str) -> 'Table':
        return Table.of(self.get(key), key)

    def whole(self, key: str, most: int) -> int:
        found = self.get(key)
        if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= most:
            raise BadSnapshot(
                f'{self.name}: {key} is {found!r:.80}, not a whole number up to {most}'
            )
        return found

    def number(self, key: str, least: float, most: float) -> float:
        return number(self.get(key), f'{self.name}: {key}', least, most)

    def rows(self, key: str, most: int) -> dict[str, int]:
        """Name -> row of a list of different names."""
        found = self.get(key)
        if not isinstance(found, list) or len(found) > most:
            raise BadSnapshot(f'{self.name}: {key} is no list of at most {most}')
        if not all(isinstance(one, str) and 0 < len(one) <= MAX_TEXT for one in found):
            raise BadSnapshot(f'{self.name}: {key} holds what is no name')
        rows = {one: row for row, one in enumerate(found)}
        if len(rows) != len(found):
            raise BadSnapshot(f'{self.name}: {key} names something twice')
        return rows

    def numbers(self, key: str, shape: tuple[int, ...], least: float, most: float) -> Array:
        """An array of this shape; every number is within the bounds."""
        array = self._array(key, shape)
        if array.size and not (array.min() >= least and array.max() <= most):
            raise BadSnapshot(f'{self.name}: {key} holds what is not from {least:g} to {most:g}')
        return array

    def gaps(self, key: str, shape: tuple[int, ...], least: float, most: float) -> Array | None:
        """The same with null for what is not known; None when it is not there at all."""
        if self.get(key) is None:
            return None
        array = self._array(key, shape)
        known = array[~np.isnan(array)]
        if known.size and not (known.min() >= least and known.max() <= most):
            raise BadSnapshot(f'{self.name}: {key} holds what is not from {least:g} to {most:g}')
        return array

    def _array(self, key: str, shape: tuple[int, ...]) -> Array:
        try:
            array = np.array(self.get(key), dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise BadSnapshot(f'{self.name}: {key} is no table of numbers') from None
        if array.size == 0 and 0 in shape:
            return np.zeros(shape)
        if array.shape != shape:
            raise BadSnapshot(f'{self.name}: {key} has the shape {array.shape}, not {shape}')
        array.setflags(write=False)
        return array


def number(found: object, name: str, least: float, most: float) -> float:
    """A number within the bounds."""
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise BadSnapshot(f'{name} is {found!r:.80}, not a number')
    # compared as they are: whole numbers of JSON may be too long for a float; NaN is within nothing
    if not least <= found <= most:
        raise BadSnapshot(f'{name} is {found!r:.80}, not from {least:g} to {most:g}')
    return float(found)


def texts(rows: Mapping[str, int]) -> list[str]:
    """Names in the order of their rows."""
    return sorted(rows, key=rows.__getitem__)


def optional(key: str, array: Array | None) -> dict[str, object]:
    """{key: table with null for NaN}, or nothing."""
    if array is None:
        return {}
    return {key: _with_null(array.tolist())}


def _with_null(found: object) -> object:
    if isinstance(found, Sequence) and not isinstance(found, str):
        return [_with_null(one) for one in found]
    return None if isinstance(found, float) and math.isnan(found) else found
