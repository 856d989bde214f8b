# SPDX-License-Identifier: Apache-2.0
"""Sums per owner over hosts: changed by what a host changes, and read a host at a time.

Implements the sums of eq. (4) of IFI-2016.04. Units: those of the terms, heaviness without a dimension.

They lie in one array, `width` numbers per owner, and a host knows the places of its own: a thousand hosts
with thirty owners each are read in every interval. A change leaves at most 2^-52 of the largest sum there has
been as an error, until `recount` adds up anew. The sum of an owner that one host has is exactly its term.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.exchange.deadband import cells_outside_deadband
from nova_market.core.exchange.packed_sums import (
    NOBODY,
    PLACE,
    OwnerList,
    PackedSums,
    Partial,
    Places,
    owner_list,
)
from nova_market.core.exchange.report_bounds import counted_owners, cut, listed_owners
from nova_market.core.resource import Array, Flags, OwnerId, Rows

NOT_SENT = math.nan
"""As a sum that was sent: every other one is outside its deadband."""

MAX_UNACKED = 8
"""So many replies can be distinguished; a host that has acknowledged none must acknowledge the last."""


@dataclass(slots=True, eq=False)
class Contribution:
    """What one host adds, and what was last sent to it of the others. `width` numbers for each owner in turn.

    The arrays of floats are replaced and never written to, as messages hold them too.

    known:   the owners of this host
    places:  owner -> its number among them
    cells:   where in the sums each number goes
    stated:  the host's own terms, as it has reported them
    added:   the same as far as they count (H26)
    sent:    the sums over the others that were sent to it, or NOT_SENT
    unacked: what replies that are not acknowledged have held: to which update, which owners
    marks:   how many marks `sent` takes into account
    seen:    how many changes `sent` takes into account
    """

    width: int = 1
    known: OwnerList = NOBODY
    places: dict[OwnerId, int] = field(default_factory=dict)
    cells: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    stated: Array = field(default_factory=lambda: np.zeros(0))
    added: Array = field(default_factory=lambda: np.zeros(0))
    sent: Array = field(default_factory=lambda: np.zeros(0))
    unacked: list[tuple[int, Flags]] = field(default_factory=list)
    marks: int = 0
    seen: int = -1


class OwnerSums:
    """All owners have as many numbers as the widest term has had.

    changed: owners have come or gone, or have got or lost a second host, since somebody set it to False
    """

    def __init__(self) -> None:
        self.changed = True
        self._width = 1
        self._rows: dict[OwnerId, int] = {}
        self._free: list[int] = []
        self._sums = np.zeros(0)  # has room for more rows than there are
        self._hosts: list[int] = []  # by row, as the next
        self._marked: list[int] = []
        self._marks = 0
        self._changes = 0
        self._recounted = 0
        self._most: Array | None = None
        self._holders: list[int] = []  # by row: the sum of the ids of its hosts' contributions
        self._alone: Counter[int] = Counter()  # by id: owners that this host has and no other one

    @property
    def owners(self) -> Collection[OwnerId]:
        """Owners that some host has a term of."""
        return self._rows.keys()

    def listed(self, hosts: int) -> tuple[OwnerId, ...]:
        """Owners whose quotas are read, last those that may be invented; of these as many as count (H28)."""
        shared: list[OwnerId] = []
        alone: dict[int, list[OwnerId]] = {}
        for owner, row in self._rows.items():
            mine = alone.setdefault(self._holders[row], []) if self._hosts[row] == 1 else shared
            mine.append(owner)
        return listed_owners(shared, alone.values(), hosts)

    def counted(self, hosts: int) -> int:
        """The number of owners; of those that one host alone has, as many as it may add (H27)."""
        alone = np.fromiter(self._alone.values(), dtype=float, count=len(self._alone))
        return counted_owners(len(self._rows), alone, hosts)

    def bound(self, most: Array | None, hosts: Sequence[Contribution]) -> None:
        """From now on the terms of a host count to this sum of their amounts, shape (width,) or more.

        hosts: all contributions
        """
        if most is None and self._most is None:
            return
        self._most, before = most, self._changes
        for contribution in hosts:
            self._fit(contribution)
            self._count(contribution)
        if self._changes != before:
            # terms of 1e24 that count no more have taken the last digits of the others
            self.recount(hosts)

    def state(
        self,
        contribution: Contribution,
        changes: Mapping[OwnerId, Partial],
        gone: Collection[OwnerId],
    ) -> None:
        """Replace some terms of a host, or add them; those of owners that are gone leave the sums.

        changes: all of one width; a table is about the owners of this host
        """
        numbers = _rows_of(changes)
        width = numbers.shape[1]
        self._widen(width)
        self._fit(contribution)
        if isinstance(changes, PackedSums) and not gone:
            if changes.covers_all and width == self._width:
                self._replace(contribution, numbers.ravel())
            else:
                self._change(contribution, changes.places, numbers)
            return
        known = contribution.places.keys()
        if not known >= changes.keys() or not known.isdisjoint(gone):
            self._arrange(contribution, owner_list((known - set(gone)) | changes.keys()))
        if changes:
            chosen = np.array([contribution.places[owner] for owner in changes], dtype=np.intp)
            self._change(contribution, chosen, numbers)

    def _change(self, contribution: Contribution, places: Places, numbers: Array) -> None:
        after = contribution.stated.copy()
        if self._width == 1:
            after[places] = numbers.ravel()  # most metrics: in a tenth of the time
        else:
            after.reshape(-1, self._width)[places, : numbers.shape[1]] = numbers
        self._replace(contribution, after)

    def _replace(self, contribution: Contribution, after: Array) -> None:
        """All terms of a host, in their order."""
        if after.tobytes() == contribution.stated.tobytes():
            return  # most full updates at night
        contribution.stated = after
        self._count(contribution)

    def _count(self, contribution: Contribution) -> None:
        """Add what has been stated, as far as it counts."""
        after = contribution.stated
        if self._most is not None and len(after):
            after = cut(after.reshape(-1, self._width), self._most).ravel()
        if after is contribution.added or after.tobytes() == contribution.added.tobytes():
            return
        sums = self._sums.take(contribution.cells)
        sums -= contribution.added  # first: an owner of this host alone has 0 then
        sums += after
        self._sums[contribution.cells] = sums
        contribution.added = after
        self._changes += 1

    def news(
        self, contribution: Contribution, number: int, acked: int
    ) -> Mapping[OwnerId, Partial]:
        """What the others add to the host's owners, where it may not know it after acknowledging `acked`.

        number: of the update that is replied to
        """
        unacked = [sent for sent in contribution.unacked if sent[0] > acked]
        if contribution.seen == self._changes and not unacked:
            return {}  # most replies at night
        contribution.seen = self._changes
        self._fit(contribution)
        if contribution.marks < self._marks:
            self._take_marks(contribution)
        others = self._sums.take(contribution.cells)
        others -= contribution.added
        new = cells_outside_deadband(contribution.sent, others)
        np.copyto(others, contribution.sent, where=~new)
        contribution.sent = others
        if self._width > 1:
            new = np.logical_or.reduce(new.reshape(-1, self._width), axis=1)
        due = new
        for _, before in unacked:
            due = due | before
        places = due.nonzero()[0]
        if not len(places):
            contribution.unacked = []
            return {}
        if len(unacked) == MAX_UNACKED:
            unacked, new = [], due
        contribution.unacked = [*unacked, (number, new)]
        numbers = contribution.sent.reshape(-1, self._width)
        if len(places) < len(numbers):
            numbers = numbers.take(places, axis=0)
        return PackedSums(
            contribution.known.digest, places.astype(PLACE), numbers, contribution.known
        )

    def recount(self, hosts: Iterable[Contribution]) -> None:
        """Add up the terms anew; of all hosts."""
        if self._recounted == self._changes:
            return
        present = [contribution for contribution in hosts if contribution.places]
        for contribution in present:
            self._fit(contribution)
        if present:
            cells = np.concatenate([contribution.cells for contribution in present])
            added = np.concatenate([contribution.added for contribution in present])
            self._sums = np.zeros(len(self._sums))
            np.add.at(self._sums, cells, added)
        self._changes += 1
        self._recounted = self._changes

    def forget_sent(self, contribution: Contribution) -> None:
        """Everything is sent to the host again."""
        contribution.sent = np.full(len(contribution.sent), NOT_SENT)
        contribution.unacked = []
        contribution.seen = -1

    def mark(self, owner: OwnerId) -> None:
        """It is sent again to every host with this owner."""
        row = self._rows.get(owner)
        if row is not None:
            self._marks += 1
            self._changes += 1
            self._marked[row] = self._marks

    def _take_marks(self, contribution: Contribution) -> None:
        sent = contribution.sent.copy()
        for owner, place in contribution.places.items():
            if self._marked[self._rows[owner]] > contribution.marks:
                sent[self._width * place] = NOT_SENT
        contribution.sent = sent
        contribution.marks = self._marks

    # -- which numbers there are

    def _widen(self, width: int) -> None:
        if width > self._width:
            self._sums = _respaced(self._sums, self._width, width)
            self._width = width
            self._changes += 1

    def _fit(self, contribution: Contribution) -> None:
        """A host's numbers as wide as the sums are by now."""
        if contribution.width < self._width:
            for name in ('stated', 'added'):
                wider = _respaced(getattr(contribution, name), contribution.width, self._width)
                setattr(contribution, name, wider)
            contribution.width = self._width
            self._place(contribution, contribution.known)

    def _arrange(self, contribution: Contribution, known: OwnerList) -> None:
        """Make these the owners of a host; the new ones with 0."""
        owners, before, width = known.owners, contribution.places, self._width
        left = before.keys() - set(owners)
        if left:
            after = contribution.stated.copy()
            after.reshape(-1, width)[[before[owner] for owner in left]] = 0.0
            self._replace(contribution, after)
        for owner in owners:
            if owner not in before:
                self._claim(owner, id(contribution))
        for owner in left:
            self._release(owner, id(contribution))
        places = [before.get(owner, -1) for owner in owners]
        for name in ('stated', 'added'):
            with_zeros = np.append(getattr(contribution, name), np.zeros(width)).reshape(-1, width)
            setattr(contribution, name, with_zeros[places].ravel())
        self._place(contribution, known)

    def _place(self, contribution: Contribution, known: OwnerList) -> None:
        """Number the owners of a host anew; all of them are sent to it again."""
        contribution.known = known
        contribution.places = {owner: place for place, owner in enumerate(known.owners)}
        rows = np.array([self._rows[owner] for owner in known.owners], dtype=np.intp)
        contribution.cells = np.add.outer(self._width * rows, np.arange(self._width)).ravel()
        contribution.sent = np.full(len(contribution.cells), NOT_SENT)
        contribution.unacked = []
        contribution.seen = -1
        self._changes += 1

    def _claim(self, owner: OwnerId, host: int) -> None:
        row = self._rows.get(owner)
        if row is None:
            row = self._free.pop() if self._free else len(self._hosts)
            if row == len(self._hosts):
                self._hosts.append(0)
                self._holders.append(0)
                self._marked.append(0)
                if self._width * row == len(self._sums):
                    self._sums = np.append(self._sums, np.zeros(self._width * (row + 1)))
            self._rows[owner] = row
        self._hold(row, host, 1)

    def _release(self, owner: OwnerId, host: int) -> None:
        """Its term of this host is 0 already."""
        row = self._rows[owner]
        self._hold(row, host, -1)
        if not self._hosts[row]:
            self._sums[self._width * row : self._width * (row + 1)] = 0.0
            del self._rows[owner]
            self._free.append(row)

    def _hold(self, row: int, host: int, change: int) -> None:
        """One host more or less has the owner of this row."""
        self.changed |= min(self._hosts[row], self._hosts[row] + change) <= 1
        if self._hosts[row] == 1:
            self._count_alone(self._holders[row], -1)
        self._hosts[row] += change
        self._holders[row] += change * host
        if self._hosts[row] == 1:
            self._count_alone(self._holders[row], 1)

    def _count_alone(self, host: int, change: int) -> None:
        self._alone[host] += change
        if not self._alone[host]:
            del self._alone[host]


def _rows_of(partials: Mapping[OwnerId, Partial]) -> Array:
    """Shape (owners, width)."""
    if isinstance(partials, PackedSums):
        return partials.numbers
    return np.array(list(partials.values()) or np.zeros((0, 1)), dtype=float)


def _respaced(numbers: Array, width: int, wider: int) -> Array:
    """With zeros behind every `width` numbers."""
    result = np.zeros((len(numbers) // width, wider))
    result[:, :width] = numbers.reshape(-1, width)
    return result.ravel()
