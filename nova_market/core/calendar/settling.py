# SPDX-License-Identifier: Apache-2.0
"""What happens to bookings in conflict: they move, or their owners get alternatives and a refund.

Implements the second half of rule C4 of doc/source/specs/calendar.rst, as a plan with reasons that the
caller applies. Units: seconds, amounts in the units of AXES.

Bookings are settled in the order in which they were booked, so an earlier one chooses first. Another host at
the same time is tried before another time: the owner notices nothing of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.calendar.booking import Bookings, Request
from nova_market.core.calendar.calendar import Calendar, booked
from nova_market.core.calendar.conflict import BookingTable, conflicts, lacking
from nova_market.core.calendar.grain import instants, not_before
from nova_market.core.calendar.start import earliest_starts
from nova_market.core.resource import Array, Flags

UNITS = ('cores', 'MiB of memory', 'GiB of disk')


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A host (its row) and a time."""

    host: int
    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BookingMove:
    """booking: its id; reason: why it cannot stay, in a sentence"""

    booking: str
    old: Place
    new: Place
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Displaced:
    """A booking that is cancelled.

    alternatives: where and when its owner could have the same; nothing of it is booked
    refund:       part of what was paid that is returned, 0 to 1: of the time that is not served
    """

    booking: str
    old: Place
    alternatives: tuple[Place, ...]
    refund: float
    reason: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ConflictPlan:
    """calendar: after the plan has been carried out"""

    moves: tuple[BookingMove, ...]
    displaced: tuple[Displaced, ...]
    calendar: Calendar


def settled(
    calendar: Calendar, table: BookingTable, lost: Flags, now: float, names: Sequence[str]
) -> ConflictPlan:
    """What becomes of the bookings that no longer fit.

    calendar: of the capacity there is, with only what nobody booked but is there
    lost:     (hosts,) hosts whose servers are gone
    names:    of the hosts, for the reasons
    """
    found = conflicts(calendar, table, lost)
    free = found.calendar
    moves, displaced = [], []
    for row in found.rows[np.lexsort((found.rows, table.made[found.rows]))].tolist():
        one = table.bookings.take([row])
        why = _reason(found.calendar, one, bool(lost[one.host[0]]), names)
        old = _place(one)
        new = _new_place(free, table, row, lost, now)
        if new is None:
            displaced.append(
                Displaced(
                    booking=table.ids[row], old=old, reason=why,
                    alternatives=_alternatives(free, one, bool(table.single[row]), lost, now),
                    refund=_unserved(old, now),
                )
            )  # fmt: skip
            continue
        moves.append(BookingMove(booking=table.ids[row], old=old, new=new, reason=why))
        free = booked(free, _at(one, new))
    return ConflictPlan(moves=tuple(moves), displaced=tuple(displaced), calendar=free)


def _new_place(
    free: Calendar, table: BookingTable, row: int, lost: Flags, now: float
) -> Place | None:
    """Where the booking moves; None: it may not, or there is no room."""
    if not table.may_move()[row]:
        return None
    one = table.bookings.take([row])
    single, pinned = bool(table.single[row]), bool(table.pinned[row])
    if not pinned and one.start[0] >= now:
        same_time = _starts(free, one, single, lost, one.start[0], one.end[0])
        if (place := _first(same_time, one)) is not None:
            return place
    if not table.moves_in_time()[row]:
        return None
    earliest = max(float(not_before(now)), float(table.earliest[row]))
    starts = _starts(free, one, single, lost, earliest, float(table.finish[row]))
    if pinned:
        starts[np.arange(free.hosts) != one.host[0]] = np.inf
    return _first(starts, one)


def _alternatives(
    free: Calendar, one: Bookings, single: bool, lost: Flags, now: float
) -> tuple[Place, ...]:
    """Another host in the same slot, the same host later, the earliest of all; each at most once."""
    home, start = int(one.host[0]), float(one.start[0])
    found = []
    if start >= now:
        found.append(_first(_starts(free, one, single, lost, start, one.end[0]), one))
    anywhere = _starts(free, one, single, lost, max(start, float(not_before(now))), math.inf)
    here = np.where(np.arange(free.hosts) == home, anywhere, np.inf)
    found += [_first(here, one), _first(anywhere, one)]
    return tuple(dict.fromkeys(place for place in found if place is not None))


def _starts(
    free: Calendar, one: Bookings, single: bool, lost: Flags, earliest: float, finish: float
) -> Array:
    """(hosts,): earliest start of this booking within the window; inf: none."""
    wanted = Request(
        amounts=one.amounts[:, 0], duration=float(one.end[0] - one.start[0]),
        earliest=float(earliest), finish=float(finish),
    )  # fmt: skip
    if not single:
        free = replace(free, largest=np.full_like(free.largest, np.inf))
    starts = earliest_starts(free, wanted)
    starts[lost] = np.inf
    return starts


def _first(starts: Array, one: Bookings) -> Place | None:
    """The earliest of them, on the first host that has it."""
    if not len(starts) or not np.isfinite(starts.min()):
        return None
    host = int(starts.argmin())
    start = float(starts[host])
    return Place(host=host, start=start, end=start + float(one.end[0] - one.start[0]))


def _at(one: Bookings, place: Place) -> Bookings:
    return replace(
        one, host=np.array([place.host]), start=np.array([place.start]), end=np.array([place.end])
    )


def _place(one: Bookings) -> Place:
    return Place(host=int(one.host[0]), start=float(one.start[0]), end=float(one.end[0]))


def _unserved(place: Place, now: float) -> float:
    """Part of the booked time that lies ahead."""
    if math.isinf(place.end) or now <= place.start:
        return 1.0
    return max(place.end - float(instants(now)), 0.0) / (place.end - place.start)


def _reason(calendar: Calendar, one: Bookings, lost: bool, names: Sequence[str]) -> str:
    name = names[int(one.host[0])]
    if lost:
        return f'host {name} is lost'
    axis, free = lacking(calendar, one)
    return (
        f'room: {one.amounts[axis, 0]:g} {UNITS[axis]} on host {name}, '
        f'at most {max(free, 0.0):g} free during the whole of it'
    )
