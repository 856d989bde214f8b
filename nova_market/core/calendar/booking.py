# SPDX-License-Identifier: Apache-2.0
"""Bookings: resources on a host during [start, end), many of them as arrays; and what one asks for.

Implements rule C1 of doc/source/specs/calendar.rst. Units: seconds of the caller's clock, amounts in the
units of AXES. Arrays (bookings,) and (AXES, bookings).

Both values are on the grid of core.calendar.grain; make them with `bookings` and `request`, which check and
round.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.grain import INSTANT, instants, not_after, not_before, on_grid
from nova_market.core.resource import Array, Rows
from nova_market.errors import BadBooking


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bookings:
    """Rectangles of resources and time.

    host:    (bookings,) row of the host
    start, end: (bookings,) half open; end is infinite for what stays
    amounts: (AXES, bookings)
    """

    host: Rows
    start: Array
    end: Array
    amounts: Array

    def __len__(self) -> int:
        return len(self.host)

    def take(self, rows: npt.ArrayLike) -> 'Bookings':
        """Those of these rows (or flags), in this order."""
        chosen = np.asarray(rows)
        if chosen.dtype != np.bool_:
            chosen = chosen.astype(np.intp)
        return Bookings(
            host=self.host[chosen],
            start=self.start[chosen],
            end=self.end[chosen],
            amounts=self.amounts[:, chosen],
        )


def bookings(
    *, host: npt.ArrayLike, start: npt.ArrayLike, end: npt.ArrayLike, amounts: npt.ArrayLike
) -> Bookings:
    """Bookings, checked and on the grid. Arguments as the fields; amounts (AXES, bookings).

    An interval shorter than INSTANT gets that length.

    :raises BadBooking: for an interval that is empty or without a beginning, or an amount that is negative.
    """
    begins, ends = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    wrong = ~((begins < ends) & np.isfinite(begins))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadBooking(
            f'booking {row} is from {begins[row]:g} to {ends[row]:g}: give a finite start and a later end'
        )
    first, last = instants(begins), instants(ends)
    rows = np.asarray(host, dtype=np.intp)
    return Bookings(
        host=rows,
        start=first,
        end=np.maximum(last, first + INSTANT),
        amounts=on_grid(amounts).reshape(len(AXES), len(rows)),
    )


def joined(parts: Sequence[Bookings]) -> Bookings:
    """All bookings of several tables, in their order."""
    if not parts:
        return bookings(host=[], start=[], end=[], amounts=np.empty((len(AXES), 0)))
    return Bookings(
        host=np.concatenate([one.host for one in parts]),
        start=np.concatenate([one.start for one in parts]),
        end=np.concatenate([one.end for one in parts]),
        amounts=np.concatenate([one.amounts for one in parts], axis=1),
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Request:
    """What one server asks for.

    amounts:  (AXES,) not all zero; an axis of zero is not asked for, so nothing there can refuse it
    duration: may be infinite: a server that stays
    earliest: it starts then or later; finish: it ends then or earlier
    """

    amounts: Array
    duration: float
    earliest: float
    finish: float = math.inf


def request(
    amounts: npt.ArrayLike, duration: float, earliest: float, finish: float = math.inf
) -> Request:
    """A request, checked and on the grid. Arguments as the fields.

    A window shorter than the duration is no error: the request then has no start anywhere.

    :raises BadBooking: for a duration of zero or less, a start that is not finite, or no amount at all.
    """
    wanted = on_grid(amounts)
    if wanted.shape != (len(AXES),) or not wanted.any():
        raise BadBooking(
            f'amounts of {np.asarray(amounts).tolist()} cannot be requested: '
            f'give {", ".join(AXES)}, at least one of them above 0'
        )
    if not duration > 0.0:
        raise BadBooking(f'a duration of {duration:g} s cannot be requested: give more than 0')
    if not math.isfinite(earliest):
        raise BadBooking(f'an earliest start of {earliest:g} cannot be requested: give a time')
    return Request(
        amounts=wanted,
        duration=float(not_before(duration)),
        earliest=float(not_before(earliest)),
        finish=float(not_after(finish)),
    )
