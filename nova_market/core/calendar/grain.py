# SPDX-License-Identifier: Apache-2.0
"""The grid that amounts and times are put on, so that sums of them are exact.

Floating-point sums depend on their order: 0.1 + 0.2 - 0.3 is not zero. A calendar adds and takes off amounts
many times, and two calendars that hold the same bookings must be equal, however they came about. Multiples of
a power of two add up without rounding as long as the sum stays below 2**53 of them, so no comparison in this
topic needs a tolerance (C1).

Amounts are multiples of AMOUNT (a millionth of a core, a byte of memory) and are rounded down: what fits in
real numbers also fits after rounding. Times are multiples of INSTANT and are rounded to the nearest one, so
intervals that touch still touch. Durations are rounded up.
"""

import numpy as np
import numpy.typing as npt

from nova_market.core.resource import Array
from nova_market.errors import BadBooking

AMOUNT = 2.0**-20
INSTANT = 2.0**-10
"""Seconds: about a millisecond."""

MOST_AMOUNT = 2.0**32
"""4 PiB of memory on one host; half of what sums are exact up to."""
MOST_TIME = 2.0**42
"""Seconds, either side of the epoch: 139,000 years."""

_NEARLY = 2.0**-10
"""Part of a grain that rounding down forgives: 0.7 + 0.2 + 0.1 is a little less than 1 in float64."""


def on_grid(amounts: npt.ArrayLike) -> Array:
    """Amounts rounded down to multiples of AMOUNT; any shape.

    :raises BadBooking: for an amount that is negative, not a number, or over MOST_AMOUNT.
    """
    given = np.asarray(amounts, dtype=np.float64)
    wrong = ~((given >= 0.0) & (given <= MOST_AMOUNT))
    if wrong.any():
        raise BadBooking(
            f'an amount of {given[wrong][0]:g} cannot be booked: give 0 to {MOST_AMOUNT:g}'
        )
    return np.floor(given / AMOUNT + _NEARLY) * AMOUNT


def instants(times: npt.ArrayLike) -> Array:
    """Times rounded to the nearest multiple of INSTANT; any shape. Infinite ones stay.

    :raises BadBooking: for a time that is not a number, or finite and over MOST_TIME.
    """
    given = _checked(times)
    return np.floor(given / INSTANT + 0.5) * INSTANT


def not_before(times: npt.ArrayLike) -> Array:
    """As `instants`, rounded up: for the earliest time that a request allows, and for durations."""
    return np.ceil(_checked(times) / INSTANT) * INSTANT


def not_after(times: npt.ArrayLike) -> Array:
    """As `instants`, rounded down: for the latest time that a request allows."""
    return np.floor(_checked(times) / INSTANT) * INSTANT


def _checked(times: npt.ArrayLike) -> Array:
    given = np.asarray(times, dtype=np.float64)
    wrong = np.isnan(given) | (np.isfinite(given) & (np.abs(given) > MOST_TIME))
    if wrong.any():
        raise BadBooking(
            f'a time of {given[wrong][0]:g} s cannot be booked: give at most {MOST_TIME:g} s '
            f'either side of the epoch, or infinity'
        )
    return given
