# SPDX-License-Identifier: Apache-2.0
"""Bookings that no longer fit: which they are.

Implements the first half of rule C4 of doc/source/specs/calendar.rst; core.calendar.settling decides what
happens to them. Units: seconds, amounts in the units of AXES. Arrays (bookings,).

Placement is right about now: what runs goes on, and takes its room before all that is only booked. Of the
bookings that are left, those that cannot move come before those that can, and earlier ones before later
ones; each of them that still fits stays.
"""

from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.calendar.booking import Bookings
from nova_market.core.calendar.calendar import Calendar, booked, host_part, released, touched
from nova_market.core.calendar.start import least_free
from nova_market.core.resource import Array, Flags, Rows

ALONE = -1
"""No gang."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BookingTable:
    """What is booked, and what may become of it.

    ids:      of the bookings; bookings: of the same rows
    made:     when each was booked
    started:  its servers run: it stays where it is
    flexible: it may start at another time within its window: from `earliest` on, over by `finish`
    pinned:   its owner named the host
    single:   it is one server, which must not be larger than a host allows; else it is a part of a host
    gang:     row of the gang or lease whose servers start together, ALONE = none; such a booking may go to
              another host, but not to another time
    """

    ids: tuple[str, ...]
    bookings: Bookings
    made: Array
    started: Flags
    flexible: Flags
    earliest: Array
    finish: Array
    pinned: Flags
    single: Flags
    gang: Rows

    def may_move(self) -> Flags:
        """To another time or another host."""
        return ~self.started & (self.moves_in_time() | ~self.pinned)

    def moves_in_time(self) -> Flags:
        alone: Flags = np.asarray(self.gang == ALONE)
        return ~self.started & self.flexible & alone


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Conflicts:
    """rows: in conflict, ascending; calendar: with all that is not"""

    rows: Rows
    calendar: Calendar


def conflicts(calendar: Calendar, table: BookingTable, lost: Flags) -> Conflicts:
    """Which bookings do not fit in a calendar that holds only what nobody booked but is there.

    lost: (hosts,) hosts whose servers are gone, so that what had started there is in conflict too
    """
    every = table.bookings
    gone = lost[every.host]
    whole = booked(calendar, every.take(~gone))
    doubtful = _touches_overbooked(whole, every) & ~gone & ~table.started
    agreed = released(whole, every.take(doubtful))
    rows = np.flatnonzero(doubtful)
    ranked = rows[np.lexsort((rows, table.made[rows], table.may_move()[rows]))]
    for host in np.unique(every.host[rows]):
        part = host_part(agreed, int(host))
        for row in ranked[every.host[ranked] == host]:
            one = every.take([row])
            if fits_as_booked(part, one)[0]:
                part = booked(part, replace(one, host=np.zeros(1, dtype=np.intp)))
                doubtful[row] = False
    staying = every.take(np.setdiff1d(rows, np.flatnonzero(doubtful)))
    return Conflicts(rows=np.flatnonzero(gone | doubtful), calendar=booked(agreed, staying))


def fits_as_booked(calendar: Calendar, booking: Bookings) -> Flags:
    """(hosts,): on which hosts is what this one booking takes free, at its own time?"""
    least = least_free(calendar, float(booking.start[0]), float(booking.end[0]))
    enough: Flags = ((least >= booking.amounts) | (booking.amounts == 0.0)).all(axis=0)
    return enough


def lacking(calendar: Calendar, booking: Bookings) -> tuple[int, float]:
    """The axis that lacks most of what this one booking wants on its host, as a part; and what is free."""
    host = host_part(calendar, int(booking.host[0]))
    wanted = booking.amounts[:, 0]
    free = least_free(host, float(booking.start[0]), float(booking.end[0]))[:, 0]
    part = np.divide(free, wanted, out=np.full(len(wanted), np.inf), where=wanted > 0)
    axis = int(part.argmin())
    return axis, float(free[axis])


def _touches_overbooked(calendar: Calendar, every: Bookings) -> Flags:
    """(bookings,): does a segment of the booking lack something that the booking takes?"""
    first, last = touched(calendar, every.host, every.start, every.end)
    found = np.zeros(len(every), dtype=np.bool_)
    for free, amounts in zip(calendar.free, every.amounts, strict=True):
        below = np.concatenate([[0], np.cumsum(free < 0.0)])
        found |= (below[last + 1] > below[first]) & (amounts > 0.0)
    return found
