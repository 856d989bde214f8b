# SPDX-License-Identifier: Apache-2.0
"""Numbers of some owners as one array, which goes from frame to sum and back without a look at each.

For the partial sums and totals of IFI-2016.04, section IV-D. To read it is a mapping like any other. Owners
that are UUIDs, as Keystone's are, have 16 bytes each. Units: those of the numbers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from nova_market.core.quantity import Array, OwnerId

ID_BYTES = 16
_DIGITS = 2 * ID_BYTES
_HEXADECIMAL = re.compile('[0-9a-f]*')

Partial = tuple[float, ...]


class OwnerTable(Mapping[OwnerId, Partial]):
    """Owner -> numbers, equally many of each. Must not be changed.

    ids:     of the owners, one behind the other, none twice
    numbers: shape (owners, width)
    """

    def __init__(self, ids: bytes, numbers: Array) -> None:
        self.ids = ids
        self.numbers = numbers

    @cached_property
    def _partials(self) -> dict[OwnerId, Partial]:
        return dict(zip(owners_of(self.ids), map(tuple, self.numbers.tolist()), strict=True))

    def __getitem__(self, owner: OwnerId) -> Partial:
        return self._partials[owner]

    def __iter__(self) -> Iterator[OwnerId]:
        return iter(owners_of(self.ids))

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self._partials!r})'


def table_of(partials: Mapping[OwnerId, Partial]) -> Mapping[OwnerId, Partial]:
    """As a table, where all names are UUIDs."""
    ids = ids_of(list(partials))
    if ids is None:
        return partials
    return OwnerTable(ids, np.array(list(partials.values()), dtype=float))


def ids_of(owners: Sequence[OwnerId]) -> bytes | None:
    """None: there are none, or some are not UUIDs in 32 lower case digits."""
    text = ''.join(owners)
    if set(map(len, owners)) != {_DIGITS} or not _HEXADECIMAL.fullmatch(text):
        return None
    return bytes.fromhex(text)


def owners_of(ids: bytes) -> list[OwnerId]:
    text = ids.hex()
    return [OwnerId(text[i : i + _DIGITS]) for i in range(0, len(text), _DIGITS)]
