# SPDX-License-Identifier: Apache-2.0
"""What the calendar costs, swept over hosts and bookings (C1).

Aims on an idle machine: 1,000 hosts with 100,000 bookings are built in under 1 s, and the earliest start on
all of them is found in under 10 ms. Milliseconds are printed; asserted are ratios to passes over the same
arrays in the same run, which a busy machine slows down as much: a sort of the bookings by host and time,
which any builder must do, and one comparison of all segments on each axis, which any search must do.
"""

import time

import numpy as np
import pytest

from nova_market.core.calendar.booking import Bookings, bookings, request
from nova_market.core.calendar.calendar import Calendar, booked, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.calendar.start import earliest_gang, earliest_starts, least_free

pytestmark = pytest.mark.benchmark

SIZES = ((100, 1_000), (100, 10_000), (1000, 10_000), (1000, 100_000))
LAST = 1e6
"""Seconds that bookings begin in: eleven days."""
NARROW, WIDE = (4, 16_384, 40), (60, 245_760, 600)
"""Of a host of 64 cores, 256 GiB, 2 TB."""


def best(call, times=9):
    """Least of several runs, seconds."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return min(found)


def world(hosts: int, count: int) -> tuple[Calendar, Bookings]:
    """A calendar without bookings, and servers of five sizes for hours."""
    rng = np.random.default_rng(1)
    cores = rng.choice([1.0, 2.0, 4.0, 8.0, 16.0], count)
    start = rng.uniform(0, LAST, count)
    made = bookings(
        host=rng.integers(0, hosts, count),
        start=start,
        end=start + rng.exponential(LAST / 40, count),
        amounts=[cores, 4096 * cores, 10 * cores],
    )
    whole = np.array([[64.0], [262_144.0], [2000.0]]) * np.ones((3, hosts))
    return unbooked(capacity(whole)), made


def test_building_costs_a_few_sorts():
    """At most 8 times the sort, at every size."""
    print(f'\n{"hosts":>6} {"bookings":>9} {"ms":>8} {"x sort":>7} {"us/booking":>11}')
    for hosts, count in SIZES:
        empty, made = world(hosts, count)
        keys = np.concatenate([made.start, made.end]), np.concatenate([made.host, made.host])
        sort = best(lambda keys=keys: np.lexsort(keys), 5)
        seconds = best(lambda empty=empty, made=made: booked(empty, made), 5)
        print(
            f'{hosts:6d} {count:9d} {1e3 * seconds:8.1f} {seconds / sort:7.1f} '
            f'{1e6 * seconds / count:11.2f}'
        )
        if count >= 10_000:
            assert seconds < 8 * sort


def test_questions_cost_a_few_passes():
    """Earliest starts of a narrow and of a wide server, and what is least free, on all hosts."""
    print(
        f'\n{"hosts":>6} {"bookings":>9} {"narrow ms":>10} {"wide ms":>8} {"least ms":>9} {"x pass":>7}'
    )
    for hosts, count in SIZES:
        calendar = booked(*world(hosts, count))
        narrow, wide = (request(one, LAST / 20, LAST / 10) for one in (NARROW, WIDE))
        calls = (
            lambda c=calendar, r=narrow: earliest_starts(c, r),
            lambda c=calendar, r=wide: earliest_starts(c, r),
            lambda c=calendar: least_free(c, LAST / 10, LAST / 5),
        )
        seconds = [best(call, 25) for call in calls]
        floor = best(lambda c=calendar: (c.free >= 4.0).all(axis=0), 25)
        print(
            f'{hosts:6d} {count:9d} {1e3 * seconds[0]:10.2f} {1e3 * seconds[1]:8.2f} '
            f'{1e3 * seconds[2]:9.2f} {max(seconds) / floor:7.1f}'
        )
        if count >= 100_000:
            assert max(seconds) < 20 * floor


def test_one_booking_more_costs_a_copy():
    """And a gang of 100 servers costs a pass for each number of them that a host can have."""
    print(f'\n{"hosts":>6} {"bookings":>9} {"book ms":>8} {"x copy":>7} {"gang ms":>8}')
    for hosts, count in SIZES:
        empty, made = world(hosts, count)
        calendar = booked(empty, made)
        one = made.take([count // 2])
        seconds = best(lambda c=calendar, one=one: booked(c, one), 25)
        copy = best(lambda c=calendar: (c.free.copy(), c.times.copy()), 25)
        wanted = request(NARROW, LAST / 20, LAST / 10)
        gang = best(lambda c=calendar, r=wanted: earliest_gang(c, r, 100), 5)
        print(f'{hosts:6d} {count:9d} {1e3 * seconds:8.2f} {seconds / copy:7.1f} {1e3 * gang:8.1f}')
        if count >= 100_000:
            assert seconds < 8 * copy
