# SPDX-License-Identifier: Apache-2.0
"""What hosts have free when: one step function of time per host, as a value.

Implements rule C1 of doc/source/specs/calendar.rst. Units: seconds, amounts in the units of AXES. Booking and
releasing give new calendars; nothing is changed in place.

The steps of all hosts stand in one array, host after host, so that a question about 1,000 hosts is a few
passes of numpy over it. A calendar is in normal form: neighbouring segments of a host differ. All sums are
exact (core.calendar.grain), so equal bookings give equal arrays, in whatever order they were booked.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.booking import Bookings
from nova_market.core.calendar.capacity import Capacity
from nova_market.core.resource import Array, Rows
from nova_market.errors import BadBooking

FEW = 16
"""So many bookings at once are faster one by one; the result is the same."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Calendar:
    """A segment lasts until the next one of its host begins, the last one of a host for ever.

    offsets: (hosts + 1,) the segments of host h are offsets[h] to offsets[h + 1]
    times:   (segments,) where each begins; the first one of a host at -inf
    free:    (AXES, segments); below zero where more is booked than there is
    largest: (AXES, hosts) the most that one server may have
    """

    offsets: Rows
    times: Array
    free: Array
    largest: Array

    @property
    def hosts(self) -> int:
        return len(self.offsets) - 1

    @property
    def host(self) -> Rows:
        """(segments,) the host of each segment."""
        return np.repeat(np.arange(self.hosts), np.diff(self.offsets))


def unbooked(capacity: Capacity) -> Calendar:
    """A calendar without bookings."""
    late = np.isfinite(capacity.since) & capacity.amounts.any(axis=0)
    never = np.isposinf(capacity.since)
    offsets = np.concatenate([[0], np.cumsum(1 + late)]).astype(np.intp)
    first, last = offsets[:-1], offsets[1:] - 1
    times = np.full(offsets[-1], -np.inf)
    times[last[late]] = capacity.since[late]
    free = np.zeros((len(AXES), offsets[-1]))
    free[:, last] = np.where(never, 0.0, capacity.amounts)
    free[:, first[late]] = 0.0
    largest = np.where(never, 0.0, capacity.largest)
    return Calendar(offsets=offsets, times=times, free=free, largest=largest)


def booked(calendar: Calendar, bookings: Bookings) -> Calendar:
    """With these bookings too. They need not fit: what is free may fall below zero (C4).

    :raises BadBooking: for a booking of a host that the calendar does not have.
    """
    return _changed(calendar, bookings, -1.0)


def released(calendar: Calendar, bookings: Bookings) -> Calendar:
    """Without these bookings, which it must hold: the inverse of `booked`, to the last bit.

    :raises BadBooking: for a booking of a host that the calendar does not have.
    """
    return _changed(calendar, bookings, 1.0)


def segments_at(calendar: Calendar, hosts: Rows, times: Array) -> Rows:
    """(n,) the segment of hosts[i] that holds times[i]: a binary search in all of them at once."""
    low, high = calendar.offsets[hosts], calendar.offsets[hosts + 1]
    while True:
        open_ = high - low > 1
        if not open_.any():
            return low
        middle = (low + high) // 2
        right = open_ & (calendar.times[middle] <= times)
        low, high = np.where(right, middle, low), np.where(right | ~open_, high, middle)


def touched(calendar: Calendar, hosts: Rows, start: Array, end: Array) -> tuple[Rows, Rows]:
    """(n,) the first and the last segment of hosts[i] that the interval [start[i], end[i]) touches."""
    low, high = segments_at(calendar, hosts, start), segments_at(calendar, hosts, end)
    return low, high - (calendar.times[high] == end)


def host_part(calendar: Calendar, host: int) -> Calendar:
    """The calendar of this host alone, in which it is row 0."""
    rows = slice(calendar.offsets[host], calendar.offsets[host + 1])
    return Calendar(
        offsets=np.array([0, rows.stop - rows.start], dtype=np.intp),
        times=calendar.times[rows],
        free=calendar.free[:, rows],
        largest=calendar.largest[:, host : host + 1],
    )


def rebased(calendar: Calendar, free: Array, now: float) -> Calendar:
    """With this much free now, (AXES, hosts), on the grid, and the same changes after `now`.

    For what is known better than by bookings: what Placement reports (C4).
    """
    host = calendar.host
    at = segments_at(calendar, np.arange(calendar.hosts), np.full(calendar.hosts, now))
    keep = np.arange(len(calendar.times)) >= at[host]
    before = np.concatenate([[0], np.cumsum(keep)])
    offsets = before[calendar.offsets]
    times = calendar.times[keep]
    times[offsets[:-1]] = -np.inf
    change = free - calendar.free[:, at]
    return Calendar(
        offsets=offsets,
        times=times,
        free=calendar.free[:, keep] + change[:, host[keep]],
        largest=calendar.largest,
    )


def _changed(calendar: Calendar, bookings: Bookings, sign: float) -> Calendar:
    """Each amount added, times sign, between its start and its end."""
    if not len(bookings):
        return calendar
    host = bookings.host
    if host.min() < 0 or host.max() >= calendar.hosts:
        raise BadBooking(
            f'host rows {host.min()} to {host.max()} are booked: give 0 to {calendar.hosts - 1}'
        )
    finite = np.flatnonzero(np.isfinite(bookings.end))
    points = np.concatenate([host, host[finite]])
    instants = np.concatenate([bookings.start, bookings.end[finite]])
    refined, at = _refined(calendar, points, instants)
    starts, ends = at[: len(host)], refined.offsets[host + 1].copy()
    ends[finite] = at[len(host) :]
    if len(host) <= FEW:
        for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
            refined.free[:, start:end] += sign * bookings.amounts[:, row, None]
        return _coalesced(refined, np.unique(at))
    # of what never ends, the last step is at the first segment of the next host
    count = len(refined.times)
    for free, amounts in zip(refined.free, bookings.amounts, strict=True):
        steps = np.bincount(starts, amounts, count + 1) - np.bincount(ends, amounts, count + 1)
        free += sign * np.cumsum(steps[:count])
    return _coalesced(refined, np.arange(count))


def _refined(calendar: Calendar, hosts: Rows, instants: Array) -> tuple[Calendar, Rows]:
    """The same function with a segment that begins at each of these points; and the rows of those.

    `times` and `free` are new arrays.
    """
    order = np.lexsort((instants, hosts))
    by_host, by_time = hosts[order], instants[order]
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = (by_host[1:] != by_host[:-1]) | (by_time[1:] != by_time[:-1])
    at_host, at_time = by_host[fresh], by_time[fresh]
    position = segments_at(calendar, at_host, at_time)
    new = calendar.times[position] != at_time
    row = position + np.cumsum(new)
    times, free = _split(calendar, position[new])
    times[row[new]] = at_time[new]
    added = np.bincount(at_host[new], minlength=calendar.hosts)
    offsets = calendar.offsets + np.concatenate([[0], np.cumsum(added)])
    rows = np.empty(len(order), dtype=np.intp)
    rows[order] = row[np.cumsum(fresh) - 1]
    return Calendar(offsets=offsets, times=times, free=free, largest=calendar.largest), rows


def _split(calendar: Calendar, rows: Rows) -> tuple[Array, Array]:
    """Times and amounts with these segments (ascending) repeated, once for each time a row is named."""
    count = len(calendar.times)
    if len(rows) > 2 * FEW:
        source = np.repeat(np.arange(count), 1 + np.bincount(rows, minlength=count))
        return calendar.times[source], calendar.free.take(source, axis=1)
    # copying whole stretches is several times faster than gathering
    times = np.empty(count + len(rows))
    free = np.empty((len(AXES), count + len(rows)))
    begin = 0
    for shift, row in enumerate([*rows.tolist(), count - 1]):
        times[begin + shift : row + shift + 1] = calendar.times[begin : row + 1]
        free[:, begin + shift : row + shift + 1] = calendar.free[:, begin : row + 1]
        begin = row
    return times, free


def _coalesced(calendar: Calendar, rows: Rows) -> Calendar:
    """In normal form: a segment that is as the one before it, on the same host, becomes part of that one.

    rows: of the segments for which this may be so
    """
    later = rows[np.isfinite(calendar.times[rows])]
    gone = later[(calendar.free[:, later] == calendar.free[:, later - 1]).all(axis=0)]
    if not len(gone):
        return calendar
    keep = np.ones(len(calendar.times), dtype=np.bool_)
    keep[gone] = False
    before = np.concatenate([[0], np.cumsum(keep)])
    return Calendar(
        offsets=before[calendar.offsets],
        times=calendar.times[keep],
        free=calendar.free[:, keep],
        largest=calendar.largest,
    )
