# SPDX-License-Identifier: Apache-2.0
"""Numbers of some owners as one array, which goes from frame to sum and back without a look at each.

For the partial sums and totals of IFI-2016.04, section IV-D. A host and its aggregator both know which owners
the host has, so once the aggregator has answered they number them: a table says places in the sorted list
of these owners instead of names, and which list it means. Units: those of the numbers.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nova_market.core.resource import Array, OwnerId

DIGEST_BYTES = 8
"""Of the names in a list: it tells lists of two peers apart that should be the same, and guards no secret."""

PLACE = np.dtype('<u2')
"""A host has 10,000 owners at most."""

Partial = tuple[float, ...]
Places = npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class OwnerList:
    """owners: sorted, none twice."""

    owners: tuple[OwnerId, ...]
    digest: bytes


def owner_list(owners: Iterable[OwnerId]) -> OwnerList:
    names = tuple(sorted(owners))
    text = '\n'.join(names).encode()
    return OwnerList(names, hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest())


NOBODY = owner_list(())


class OwnerTable(Mapping[OwnerId, Partial]):
    """Owner -> numbers, equally many of each. The arrays must not be changed.

    It is a mapping like any other once its list is known, which a frame does not say.

    digest:  of the list
    places:  in the list, ascending, none twice, shape (owners,); of a peer's table check_table sees to it
    numbers: shape (owners, width)
    """

    def __init__(
        self, digest: bytes, places: Places, numbers: Array, known: OwnerList = NOBODY
    ) -> None:
        self.digest = digest
        self.places = places
        self.numbers = numbers
        self._known = known

    def is_about(self, known: OwnerList) -> bool:
        """Does it mean this list? Then it has names from now on."""
        if self.digest != known.digest:
            return False
        if len(self.places) and self.places.item(-1) >= len(known.owners):  # the highest
            return False
        self._known = known
        return True

    @property
    def is_of_all(self) -> bool:
        """Has it numbers for every owner in the list?"""
        return len(self.places) == len(self._known.owners)

    @cached_property
    def _partials(self) -> dict[OwnerId, Partial]:
        return dict(zip(self, map(tuple, self.numbers.tolist()), strict=True))

    def __getitem__(self, owner: OwnerId) -> Partial:
        return self._partials[owner]

    def __iter__(self) -> Iterator[OwnerId]:
        owners = self._known.owners
        return iter(owners if self.is_of_all else [owners[n] for n in self.places.tolist()])

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self._partials!r})'


def table_of(partials: Mapping[OwnerId, Partial], known: OwnerList) -> OwnerTable:
    """The same by places in a list that has all of these owners."""
    numbers = [partials[owner] for owner in known.owners if owner in partials]
    places = [place for place, owner in enumerate(known.owners) if owner in partials]
    rows = np.array(numbers or np.zeros((0, 1)), dtype=float)
    return OwnerTable(known.digest, np.array(places, dtype=PLACE), rows, known)
