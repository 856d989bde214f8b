# SPDX-License-Identifier: Apache-2.0
"""Which leases one host should have, when each is worth something: the pricing of column generation.

For `exact` (rule L3 of doc/source/specs/leases.rst). A column is a set of options on one host that fits
there at all times. Its value is what its options are worth, less their costs, less the cost of having the
host on in the union of their intervals. The best ones are found by dynamic programming over time: a label
is a partial column; of two labels with the same leases present only the better can be a part of a best
column. A label is dropped when no completion could be worth more than the limit. The completion is bounded
slot by slot, where a host may be filled with fractions of the options, best ones first (the fractional
knapsack).

Where more labels are alive than allowed, those with the least bounds are dropped, and the largest bound of
them is reported: what is returned as `upper` holds all the same.

All kinds of hosts that differ only in what they cost are priced at once.

Units: cost of the rates. Arrays (options,), (AXES, options), (slots,), (AXES, slots), (labels,).
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from nova_market.core.resource import Array, Rows

Words = npt.NDArray[np.uint64]

MOST_COLUMNS = 12
"""Columns that one pricing returns."""

_ENTRIES = 2**21
"""Of an array (kinds, options, slots) of the bound; above that it is made for fewer kinds at a time."""

_FEW = 64
"""With so many labels of a kind at most, a better bound costs more than it saves."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Room:
    """Kinds of hosts with equal room, and the options that such a host may have.

    number:  (kinds,) of each among the kinds of all rooms
    option:  (options,) rows in the grid, by first slot; lease: of each; amounts: (AXES, options)
    cost:    (kinds, options) without having the host on; first, last: (options,) slots
    free:    (AXES, slots); on: (kinds, slots) cost of having it on in a slot; seconds: (slots,)
    """

    number: Rows
    option: Rows
    lease: Rows
    cost: Array
    amounts: Array
    first: Rows
    last: Rows
    free: Array
    on: Array
    seconds: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Priced:
    """columns: kind (its row in the room), rows of the grid's options, and what they cost together
    upper: (kinds,) no column is worth more than this, or than the limit
    complete: none that is worth more than the limit is missing (when all were asked for)
    """

    columns: tuple[tuple[int, tuple[int, ...], float], ...]
    upper: Array
    complete: bool


def best_columns(room: Room, worth: Array, limits: Array, labels: int) -> Priced:
    """The best column of each kind, and other good ones.

    worth: (options,) of the room; limits: (kinds,) only columns above it; labels: of one kind
    """
    return _Pricing(room, worth, limits, labels * len(limits), merge=True).result(MOST_COLUMNS)


def all_columns(room: Room, worth: Array, limits: Array, *, labels: int, most: int) -> Priced:
    """Every column that is worth more than the limit, which may be below zero; at most so many of a kind.

    labels: of all kinds
    """
    return _Pricing(room, worth, limits, labels, merge=False).result(most)


@dataclass(slots=True)
class _Labels:
    """kind: (labels,) row in the room; present: (words, labels) bits; used: (AXES, labels)
    value: (labels,); paid: (labels,) slot up to which the host is on; node: in the tree of choices
    """

    kind: Rows
    present: Words
    used: Array
    value: Array
    paid: Rows
    node: Rows

    def take(self, rows: npt.NDArray[np.bool_] | Rows) -> '_Labels':
        return _Labels(
            self.kind[rows], self.present[:, rows], self.used[:, rows], self.value[rows],
            self.paid[rows], self.node[rows],
        )  # fmt: skip


@dataclass(slots=True)
class _Bits:
    """Which bit stands for which option that is present; bits are used again."""

    of: dict[int, int] = field(default_factory=dict)
    free: list[int] = field(default_factory=list)
    words: int = 1

    def take(self, option: int) -> int:
        if not self.free:
            self.free.append(len(self.of))
        self.of[option] = self.free.pop()
        self.words = max(self.words, self.of[option] // 64 + 1)
        return self.of[option]

    def give(self, option: int) -> int:
        bit = self.of.pop(option)
        self.free.append(bit)
        return bit


class _Pricing:
    def __init__(
        self, room: Room, worth: Array, limits: Array, labels: int, *, merge: bool
    ) -> None:
        kinds = len(limits)
        self._worth, self._profit = worth, worth - room.cost
        self._room, self._limits, self._most, self._merge = room, limits, labels, merge
        # an option that is worth less than it costs makes any column worse by as much
        self._useful = self._profit > np.minimum(limits, 0.0)[:, None]
        self._options = np.flatnonzero(self._useful.any(axis=0))
        before = np.cumsum(room.on, axis=1)
        self._paid_before = np.concatenate([np.zeros((kinds, 1)), before], axis=1)
        self._best, self._dropped = limits.copy(), np.full(kinds, -np.inf)
        self._parents: list[Rows] = [np.full(kinds, -1, dtype=np.intp)]
        self._taken: list[Rows] = [np.full(kinds, -1, dtype=np.intp)]
        self._nodes = kinds
        self._bits = _Bits()
        self._alive = _Labels(
            np.arange(kinds), np.zeros((1, kinds), dtype=np.uint64),
            np.zeros((len(room.free), kinds)), np.zeros(kinds),
            np.zeros(kinds, dtype=np.intp), np.arange(kinds),
        )  # fmt: skip
        self._run()

    def result(self, most: int) -> Priced:
        """The columns of the labels that are left, of each kind the best, at most so many."""
        alive, kinds = self._alive, len(self._limits)
        good = np.flatnonzero((alive.value > self._limits[alive.kind]) & (alive.node >= kinds))
        good = good[np.lexsort((good, -alive.value[good], alive.kind[good]))]
        rank = np.arange(len(good)) - np.searchsorted(alive.kind[good], alive.kind[good])
        parents, taken = np.concatenate(self._parents), np.concatenate(self._taken)
        columns = []
        every = len(good) == (rank < most).sum()
        for label in good[rank < most].tolist():
            rows, node = [], int(alive.node[label])
            while node >= kinds:
                rows.append(int(taken[node]))
                node = int(parents[node])
            cost = float(self._worth[rows].sum() - alive.value[label])
            options = tuple(sorted(self._room.option[rows].tolist()))
            columns.append((int(alive.kind[label]), options, cost))
        upper = np.maximum(self._limits, self._dropped)
        np.maximum.at(upper, alive.kind, alive.value)
        return Priced(
            columns=tuple(columns), upper=upper,
            complete=bool(every and (self._dropped <= self._limits).all()),
        )  # fmt: skip

    def _run(self) -> None:
        room, chosen = self._room, self._options
        if not len(chosen):
            return
        lower = (np.diff(room.free, axis=1) < 0).any(axis=0)
        starts = room.first[chosen]
        slots = np.unique(np.concatenate([starts, np.flatnonzero(lower) + 1]))
        slots = slots[slots >= starts.min()]
        for number, slot in enumerate(slots.tolist()):
            if not number or len(self._alive.value) > _FEW * len(self._limits):
                self._bound_from(slot)
            self._leave(slot)
            if not len(self._alive.value):
                return
            for option in chosen[starts == slot].tolist():
                self._enter(option, slot)

    def _bound_from(self, slot: int) -> None:
        """What options that start from this slot on could add, in slots that are paid for and in others."""
        rows = self._options[self._room.first[self._options] >= slot]
        kinds, slots = self._room.on.shape
        gain = np.zeros((kinds, slots))
        size = max(_ENTRIES // max(len(rows) * slots, 1), 1)
        for begin in range(0, kinds, size):
            some = slice(begin, begin + size)
            gain[some] = _filled(self._room, rows, np.maximum(self._profit[some][:, rows], 0.0))
        self._if_paid = _suffix(gain)
        self._if_not = _suffix(np.maximum(gain - self._room.on, 0.0))

    def _bound(self, labels: _Labels, slot: int) -> Array:
        kind, until = labels.kind, np.maximum(labels.paid, slot)
        more = self._if_paid[kind, slot] - self._if_paid[kind, until] + self._if_not[kind, until]
        bound: Array = labels.value + more
        return bound

    def _leave(self, slot: int) -> None:
        """Options that have ended are present no more; labels that are the same now are one."""
        alive, room = self._alive, self._room
        for option in [one for one in self._bits.of if room.last[one] <= slot]:
            word, mask = _bit(self._bits.give(option))
            there = (alive.present[word] & mask) > 0
            alive.used[:, there] -= room.amounts[:, option, None]
            alive.present[word, there] &= ~mask
        fitting = (alive.used <= room.free[:, slot, None]) | (alive.used == 0.0)
        alive = alive.take(fitting.all(axis=0))
        alive = alive.take(self._bound(alive, slot) > self._best[alive.kind])
        if self._merge and len(alive.value) > 1:
            order = np.lexsort((-alive.value, *alive.present, alive.kind))
            same = (alive.present[:, order[1:]] == alive.present[:, order[:-1]]).all(axis=0)
            same &= alive.kind[order[1:]] == alive.kind[order[:-1]]
            alive = alive.take(order[np.concatenate([[True], ~same])])
        self._alive = self._within(alive, slot)

    def _within(self, alive: _Labels, slot: int) -> _Labels:
        if len(alive.value) <= self._most:
            return alive
        bound = self._bound(alive, slot)
        order = np.argsort(-(bound - self._limits[alive.kind]), kind='stable')
        lost = order[self._most :]
        np.maximum.at(self._dropped, alive.kind[lost], bound[lost])
        return alive.take(np.sort(order[: self._most]))

    def _enter(self, option: int, slot: int) -> None:
        """Each label with and without this option."""
        room, alive = self._room, self._alive
        amounts = room.amounts[:, option, None]
        free = room.free[:, slot, None]
        fitting = ((alive.used + amounts <= free) | (amounts == 0.0)).all(axis=0)
        fitting &= self._useful[alive.kind, option]
        for other, bit in self._bits.of.items():
            if room.lease[other] == room.lease[option]:
                word, mask = _bit(bit)
                fitting &= (alive.present[word] & mask) == 0
        new = alive.take(fitting)
        first, last = room.first[option], room.last[option]
        paid = self._paid_before[new.kind, np.clip(new.paid, first, last)]
        new.value = (
            new.value + self._profit[new.kind, option] - (self._paid_before[new.kind, last] - paid)
        )
        new.paid = np.maximum(new.paid, last)
        new = new.take(self._bound(new, slot) > self._best[new.kind])
        if not len(new.value):
            return
        word, mask = _bit(self._bits.take(option))
        while word >= len(new.present):
            new.present = np.vstack([new.present, np.zeros_like(new.present[:1])])
            alive.present = np.vstack([alive.present, np.zeros_like(alive.present[:1])])
        new.present[word] |= mask
        new.used = new.used + amounts
        self._parents.append(new.node)
        self._taken.append(np.full(len(new.node), option, dtype=np.intp))
        new.node = np.arange(self._nodes, self._nodes + len(new.node))
        self._nodes += len(new.node)
        if self._merge:
            # half of the best: the others are columns that the program may need soon
            np.maximum.at(self._best, new.kind, 0.5 * new.value)
        self._alive = self._within(_both(alive, new), slot)


def _filled(room: Room, rows: Rows, profit: Array) -> Array:
    """(kinds, slots): what a slot could bring if it were filled with fractions of options, best ones first.

    The least over the axes, each of which would allow so much alone. profit: (kinds, rows)
    """
    spans = np.concatenate([[0.0], np.cumsum(room.seconds)])
    rate = profit / (spans[room.last[rows]] - spans[room.first[rows]])
    here = np.arange(len(room.seconds))
    there = ((room.first[rows, None] <= here) & (here < room.last[rows, None])).astype(np.float64)
    most: Array = rate @ there
    for axis in np.flatnonzero(room.amounts.any(axis=1)):
        amount = room.amounts[axis, rows]
        density = np.divide(rate, amount, out=np.full_like(rate, np.inf), where=amount > 0)
        order = np.argsort(-density, axis=1, kind='stable')
        taken = amount[order, None] * there[order]
        left = np.maximum(room.free[axis] - (np.cumsum(taken, axis=1) - taken), 0.0)
        part = np.divide(left, taken, out=np.ones_like(left), where=taken > 0)
        gain = np.minimum(part, 1.0) * there[order]
        best = np.einsum('ko,kos->ks', np.take_along_axis(rate, order, axis=1), gain)
        most = np.minimum(most, best)
    filled: Array = most * room.seconds
    return filled


def _both(one: _Labels, other: _Labels) -> _Labels:
    return _Labels(
        np.concatenate([one.kind, other.kind]),
        np.concatenate([one.present, other.present], axis=1),
        np.concatenate([one.used, other.used], axis=1),
        np.concatenate([one.value, other.value]),
        np.concatenate([one.paid, other.paid]),
        np.concatenate([one.node, other.node]),
    )


def _bit(number: int) -> tuple[int, np.uint64]:
    return number // 64, np.uint64(1) << np.uint64(number % 64)


def _suffix(each: Array) -> Array:
    """(kinds, slots + 1): the sum from a slot on."""
    sums = np.cumsum(each[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([sums, np.zeros((len(each), 1))], axis=1)
