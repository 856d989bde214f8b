# SPDX-License-Identifier: Apache-2.0
"""Numbers of some owners as one array, which goes from frame to sum and back without a look at each.

For the partial sums and totals of IFI-2016.04, section IV-D. A host and its aggregator both know which owners
the host has, so once the aggregator has replied they number them: packed sums hold places in the sorted list
of these owners instead of names, and the digest of that list. Units: those of the numbers.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nova_market.core.exchange.validation import MAX_OWNERS, MAX_WIDTH
from nova_market.core.resource import Array, OwnerId
from nova_market.errors import MalformedReport

DIGEST_BYTES = 8
"""Of the names in a list: it tells lists of two peers apart that should be the same, and guards no secret."""

PLACE = np.dtype('<u2')
"""A host has 10,000 owners at most."""

DOUBLE = np.dtype('<f8')

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


class PackedSums(Mapping[OwnerId, Partial]):
    """Owner -> numbers, equally many of each. The arrays must not be changed.

    It is a mapping like any other once its list is known, which a frame does not hold.

    digest:  of the list
    places:  in the list, ascending, none twice, shape (owners,); `unpacked` checks a peer's
    numbers: shape (owners, width)
    """

    def __init__(
        self, digest: bytes, places: Places, numbers: Array, known: OwnerList = NOBODY
    ) -> None:
        self.digest = digest
        self.places = places
        self.numbers = numbers
        self._known = known

    def refers_to(self, known: OwnerList) -> bool:
        """Does it refer to this list? Then its owners have names from now on."""
        if self.digest != known.digest:
            return False
        if len(self.places) and self.places.item(-1) >= len(known.owners):  # the highest
            return False
        self._known = known
        return True

    @property
    def covers_all(self) -> bool:
        """Does it have numbers for every owner in the list?"""
        return len(self.places) == len(self._known.owners)

    @cached_property
    def _partials(self) -> dict[OwnerId, Partial]:
        return dict(zip(self, map(tuple, self.numbers.tolist()), strict=True))

    def __getitem__(self, owner: OwnerId) -> Partial:
        return self._partials[owner]

    def __iter__(self) -> Iterator[OwnerId]:
        owners = self._known.owners
        return iter(owners if self.covers_all else [owners[n] for n in self.places.tolist()])

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self._partials!r})'


def pack(partials: Mapping[OwnerId, Partial], known: OwnerList) -> PackedSums:
    """The same by places in a list that has all of these owners."""
    numbers = [partials[owner] for owner in known.owners if owner in partials]
    places = [place for place, owner in enumerate(known.owners) if owner in partials]
    rows = np.array(numbers or np.zeros((0, 1)), dtype=float)
    return PackedSums(known.digest, np.array(places, dtype=PLACE), rows, known)


def packed_bytes(sums: PackedSums) -> bytes:
    """The doubles of the numbers, the places, the digest of the list, and the width in a byte."""
    numbers = sums.numbers.astype(DOUBLE, copy=False)
    places = sums.places.astype(PLACE, copy=False)
    width = bytes([numbers.shape[1]])
    return b''.join((numbers.tobytes(), places.tobytes(), sums.digest, width))


def unpacked(content: bytes, where: str, maximum: float) -> PackedSums:
    """The sums in a peer's bytes: of 1 to MAX_OWNERS owners, 1 to MAX_WIDTH numbers each.

    No number is beyond +-maximum. The places ascend, so that no owner is there twice and the last place is
    the highest.

    :raises MalformedReport: names the field and the limit that is broken.
    """
    width = content[-1] if len(content) > DIGEST_BYTES else 0
    end = len(content) - 1 - DIGEST_BYTES
    count, rest = divmod(end, width * DOUBLE.itemsize + PLACE.itemsize)
    if rest or not 0 < count <= MAX_OWNERS or not 0 < width <= MAX_WIDTH:
        raise MalformedReport(
            f'{where}: {len(content)} bytes are no packed sums of 1 to {MAX_OWNERS} owners with 1 to '
            f'{MAX_WIDTH} numbers each'
        )
    numbers = np.frombuffer(content, DOUBLE, count * width)
    places = np.frombuffer(content, PLACE, count, numbers.nbytes)
    amounts = abs(numbers)
    largest = amounts.item(amounts.argmax())
    if not largest <= maximum:  # NaN counts as the largest
        raise MalformedReport(f'{where}: {largest} is not a number in +-{maximum:g}')
    if (places[1:] <= places[:-1]).any():
        raise MalformedReport(f'{where}: the places in packed sums do not ascend')
    return PackedSums(content[end:-1], places, numbers.reshape(count, width))
