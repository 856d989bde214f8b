# SPDX-License-Identifier: Apache-2.0
"""The edges of C1: touching intervals, no duration, no end, no room, a short window, rounding."""

import math

import numpy as np
import pytest

from nova_market.core.calendar.axes import AXES, amounts
from nova_market.core.calendar.booking import bookings, joined, request
from nova_market.core.calendar.calendar import booked, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.calendar.grain import INSTANT
from nova_market.core.calendar.start import (
    earliest_gang,
    earliest_starts,
    free_until,
    least_free,
)
from nova_market.errors import BadBooking
from tests.support.calendar_builders import cloud, on


def test_intervals_that_touch_do_not_overlap() -> None:
    """C1: [0, 10) and [10, 20) share no instant; in between a third one fits to the second."""
    calendar = booked(cloud(1), joined([on(0, 0, 10, 1), on(0, 20, 30, 1)]))
    assert earliest_starts(calendar, request([1, 0, 0], 10, 0)).tolist() == [10.0]
    assert earliest_starts(calendar, request([1, 0, 0], 10.5, 0)).tolist() == [30.0]


def test_intervals_that_touch_at_a_time_between_two_grains_do_not_overlap() -> None:
    """0.3 s is no multiple of the grain; both ends are rounded to the same one."""
    calendar = booked(cloud(1), joined([on(0, 0, 0.3, 1), on(0, 0.3, 0.7, 1)]))
    assert least_free(calendar, 0.0, 0.7).min() == 0.0


@pytest.mark.parametrize('tenths', [3, 7, 10])
def test_tenths_of_a_core_fill_a_host_exactly(tenths: int) -> None:
    """0.1 is rounded down, so ten of them fit in one core, as they do in real numbers."""
    parts = [on(0, 0, 10, 0.1) for _ in range(tenths - 1)]
    calendar = booked(cloud(tenths / 10), joined(parts))
    assert earliest_starts(calendar, request([0.1, 0, 0], 5, 0)).tolist() == [0.0]
    full = booked(calendar, on(0, 0, 10, 0.1))
    assert earliest_starts(full, request([0.1, 0, 0], 5, 0)).tolist() == [10.0]


def test_a_sum_that_is_a_little_less_than_whole_counts_as_whole() -> None:
    """0.7 + 0.2 + 0.1 is 0.9999999999999999 in float64, and a server of 1 core fits there."""
    calendar = cloud(0.7 + 0.2 + 0.1)
    assert earliest_starts(calendar, request([1, 0, 0], 5, 0)).tolist() == [0.0]


def test_times_of_a_clock_are_not_lost_in_rounding() -> None:
    """Seconds since the epoch with a fraction: a start that is found can be booked, and then is taken."""
    now = 1_800_000_000.123456
    first = on(0, now, now + 3600.1, 1)
    calendar = booked(cloud(1), first)
    start = earliest_starts(calendar, request([1, 0, 0], 60.3, now))[0]
    assert start == first.end[0]
    assert start == pytest.approx(now + 3600.1, abs=1e-3)
    again = booked(calendar, on(0, start, start + 60.3, 1))
    assert least_free(again, now, start + 60.0)[0, 0] == 0.0
    assert (start / INSTANT).is_integer() and (again.times[1:] / INSTANT % 1 == 0).all()


def test_what_never_ends_leaves_no_start_behind_it() -> None:
    calendar = booked(cloud(2), on(0, 5, math.inf, 2))
    assert earliest_starts(calendar, request([1, 0, 0], 5, 0)).tolist() == [0.0]
    assert earliest_starts(calendar, request([1, 0, 0], 6, 0)).tolist() == [math.inf]
    assert free_until(calendar, amounts(cores=1), 0.0).tolist() == [5.0]


def test_a_server_that_stays_needs_room_for_ever() -> None:
    """An infinite duration: it starts behind the last booking, and on no host that is taken for ever."""
    calendar = booked(cloud(2, 2), joined([on(0, 5, 9, 2), on(1, 5, math.inf, 1.5)]))
    assert earliest_starts(calendar, request([1, 0, 0], math.inf, 0)).tolist() == [9.0, math.inf]


def test_a_request_larger_than_any_host_has_no_start() -> None:
    calendar = cloud(4, 8)
    assert earliest_starts(calendar, request([9, 0, 0], 1, 0)).tolist() == [math.inf, math.inf]
    assert earliest_gang(calendar, request([9, 0, 0], 1, 0), 1) is None


def test_a_window_shorter_than_the_request_has_no_start() -> None:
    calendar = cloud(4)
    assert earliest_starts(calendar, request([1, 0, 0], 10, 0, 10)).tolist() == [0.0]
    assert earliest_starts(calendar, request([1, 0, 0], 10, 0, 9.999)).tolist() == [math.inf]
    assert earliest_gang(calendar, request([1, 0, 0], 10, 5, 3), 1) is None


def test_one_server_may_have_no_more_than_a_host_gives_to_one() -> None:
    """An overcommitted host of 8 real cores offers 16, but not to one server (Placement's max_unit)."""
    large = np.array([[8.0], [1e6], [1e6]])
    calendar = unbooked(capacity(np.array([[16.0], [1e6], [1e6]]), largest=large))
    assert earliest_starts(calendar, request([9, 0, 0], 1, 0)).tolist() == [math.inf]
    assert earliest_starts(calendar, request([8, 0, 0], 1, 0), servers=2).tolist() == [0.0]


def test_an_axis_that_is_not_asked_for_does_not_refuse() -> None:
    """A server without a disk starts where disks are overbooked, as Placement lets it."""
    full = bookings(host=[0], start=[0], end=[10], amounts=[[0.0], [0.0], [2e6]])
    calendar = booked(cloud(1), full)
    assert earliest_starts(calendar, request([1, 512, 0], 5, 0)).tolist() == [0.0]
    assert earliest_starts(calendar, request([1, 512, 1], 5, 0)).tolist() == [10.0]


def test_a_cloud_without_hosts_has_no_start() -> None:
    calendar = cloud()
    assert earliest_starts(calendar, request([1, 0, 0], 1, 0)).shape == (0,)
    assert least_free(calendar, 0.0, 1.0).shape == (len(AXES), 0)
    assert earliest_gang(calendar, request([1, 0, 0], 1, 0), 2) is None


def test_a_gang_on_different_hosts_waits_for_the_second_host() -> None:
    """Both at once on host 0, or a host each from 10 on."""
    calendar = booked(cloud(4, 1), on(1, 0, 10, 1))
    wanted = request([1, 0, 0], 5, 0)
    together = earliest_gang(calendar, wanted, 2)
    apart = earliest_gang(calendar, wanted, 2, most_per_host=1)
    assert together is not None and (together.start, together.hosts.tolist()) == (0.0, [0, 0])
    assert apart is not None and (apart.start, apart.hosts.tolist()) == (10.0, [0, 1])


def test_a_gang_starts_in_the_one_instant_in_which_it_can() -> None:
    """Host 0 is free in [0, 10), host 1 in [5, 15): 5 seconds on both fit from 5 on only."""
    calendar = booked(cloud(1, 1), joined([on(0, 10, 99, 1), on(1, 0, 5, 1), on(1, 15, 99, 1)]))
    gang = earliest_gang(calendar, request([1, 0, 0], 5, 0), 2)
    assert gang is not None and (gang.start, gang.hosts.tolist()) == (5.0, [0, 1])


@pytest.mark.parametrize(
    ('start', 'end', 'message'),
    [
        (5.0, 5.0, 'booking 0 is from 5 to 5: give a finite start and a later end'),
        (5.0, 4.0, 'booking 0 is from 5 to 4'),
        (-math.inf, 4.0, 'booking 0 is from -inf to 4'),
        (math.nan, 4.0, 'booking 0 is from nan to 4'),
        (0.0, 1e15, r'a time of 1e\+15 s cannot be booked'),
    ],
)
def test_an_interval_that_is_none_is_refused(start: float, end: float, message: str) -> None:
    with pytest.raises(BadBooking, match=message):
        on(0, start, end, 1)


def test_an_interval_shorter_than_a_grain_still_takes_something() -> None:
    brief = on(0, 1.0, 1.0 + 1e-6, 1)
    assert brief.end[0] > brief.start[0]


@pytest.mark.parametrize('amount', [-1.0, math.nan, math.inf])
def test_an_amount_that_is_none_is_refused(amount: float) -> None:
    with pytest.raises(BadBooking, match='cannot be booked: give 0 to'):
        on(0, 0, 1, amount)


def test_a_host_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadBooking, match='host rows 2 to 2 are booked: give 0 to 0'):
        booked(cloud(1), on(2, 0, 1, 1))


@pytest.mark.parametrize(
    ('wanted', 'duration', 'earliest', 'message'),
    [
        ([1, 0, 0], 0.0, 0.0, 'a duration of 0 s cannot be requested: give more than 0'),
        ([1, 0, 0], math.nan, 0.0, 'a duration of nan s'),
        ([0, 0, 0], 1.0, 0.0, r'amounts of \[0, 0, 0\] cannot be requested'),
        ([1, 0], 1.0, 0.0, r'amounts of \[1, 0\] cannot be requested'),
        ([1, 0, 0], 1.0, -math.inf, 'an earliest start of -inf cannot be requested'),
    ],
)
def test_a_request_that_is_none_is_refused(
    wanted: list[float], duration: float, earliest: float, message: str
) -> None:
    with pytest.raises(BadBooking, match=message):
        request(wanted, duration, earliest)
