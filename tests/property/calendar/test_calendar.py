# SPDX-License-Identifier: Apache-2.0
"""C1 against a calendar that is looked at second by second, on worlds of whole seconds."""

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.booking import Bookings, Request, bookings, joined, request
from nova_market.core.calendar.calendar import FEW, Calendar, booked, released, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.calendar.start import (
    earliest_gang,
    earliest_starts,
    free_until,
    least_free,
    start_intervals,
)
from tests.support.brute_calendar import LAST, Booking, BruteCalendar

# tenths: no float64 holds them exactly
AMOUNTS = st.integers(0, 8).map(lambda tenths: tenths / 10)
SECONDS = st.integers(0, LAST)


@dataclass(frozen=True, kw_only=True)
class World:
    """One cloud, as both calendars see it. Amounts are tenths; the brute one counts them whole."""

    brute: BruteCalendar
    calendar: Calendar
    bookings: Bookings


def table(rows: list[Booking]) -> Bookings:
    """The bookings of the brute calendar, whose amounts are tenths."""
    return bookings(
        host=[host for host, _, _, _ in rows],
        start=[start for _, start, _, _ in rows],
        end=[math.inf if end is None else end for _, _, end, _ in rows],
        amounts=np.array([amounts for *_, amounts in rows]).reshape(-1, len(AXES)).T / 10,
    )


@st.composite
def booking_rows(draw: st.DrawFn, hosts: int, most: int = 8) -> list[Booking]:
    rows: list[Booking] = []
    for _ in range(draw(st.integers(0, most))):
        start = draw(st.integers(0, LAST - 1))
        end = draw(st.none() | st.integers(start + 1, LAST))
        amounts = draw(st.tuples(*[st.integers(0, 8)] * len(AXES)))
        rows.append((draw(st.integers(0, hosts - 1)), start, end, amounts))
    return rows


@st.composite
def worlds(draw: st.DrawFn) -> World:
    hosts = draw(st.integers(1, 3))
    whole = [draw(st.tuples(*[st.integers(0, 16)] * len(AXES))) for _ in range(hosts)]
    largest = [tuple(draw(st.integers(min(n, 4), n)) for n in one) for one in whole]
    since = [draw(st.sampled_from([0, 0, 3, 11])) for _ in range(hosts)]
    rows = draw(booking_rows(hosts))
    made = unbooked(
        capacity(
            np.array(whole).T / 10,
            largest=np.array(largest).T / 10,
            since=np.array([float(n) if n else -math.inf for n in since]),
        )
    )
    found = table(rows)
    return World(
        brute=BruteCalendar(whole, largest, since, rows),
        calendar=booked(made, found),
        bookings=found,
    )


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request, for both."""

    amounts: tuple[int, ...]
    duration: int | None
    window: tuple[int, int | None]

    @property
    def request(self) -> Request:
        earliest, finish = self.window
        return request(
            np.array(self.amounts) / 10,
            math.inf if self.duration is None else self.duration,
            earliest,
            math.inf if finish is None else finish,
        )


@st.composite
def requests(draw: st.DrawFn) -> Asked:
    return Asked(
        amounts=draw(st.tuples(*[st.integers(0, 5)] * len(AXES)).filter(any)),
        duration=draw(st.none() | st.integers(1, 9)),
        window=(draw(SECONDS), draw(st.none() | st.integers(0, LAST + 9))),
    )


def same(one: Calendar, other: Calendar) -> bool:
    """To the last bit."""
    return all(
        np.array_equal(mine, theirs)
        for mine, theirs in (
            (one.offsets, other.offsets),
            (one.times, other.times),
            (one.free, other.free),
            (one.largest, other.largest),
        )
    )


@given(worlds(), SECONDS, st.integers(1, 9))
def test_least_free_is_the_least_of_all_seconds(world: World, start: int, length: int) -> None:
    least = least_free(world.calendar, start, start + length)
    for host in world.brute.hosts:
        expected = world.brute.least_free(host, start, start + length)
        np.testing.assert_allclose(least[:, host] * 10, expected, atol=1e-3)


@given(worlds(), requests(), st.integers(1, 3))
def test_a_server_starts_in_the_first_second_in_which_it_fits(
    world: World, asked: Asked, servers: int
) -> None:
    """The possible starts are exactly those seconds, also for several servers on one host."""
    earliest = earliest_starts(world.calendar, asked.request, servers)
    found = start_intervals(world.calendar, asked.request, servers)
    for host in world.brute.hosts:
        expected = world.brute.starts(host, asked.amounts, asked.duration, asked.window, servers)
        mine = found.host == host
        seconds = [
            second
            for second in range(LAST + 1)
            if ((found.first[mine] <= second) & (second <= found.last[mine])).any()
        ]
        assert seconds == expected
        assert earliest[host] == min(expected, default=math.inf)


@given(worlds(), requests(), st.integers(1, 5), st.none() | st.integers(1, 3))
@settings(max_examples=200)
def test_a_gang_starts_in_the_first_second_in_which_all_fit(
    world: World, asked: Asked, servers: int, most_per_host: int | None
) -> None:
    gang = earliest_gang(world.calendar, asked.request, servers, most_per_host)
    expected = world.brute.gang(asked.amounts, asked.duration, asked.window, servers, most_per_host)
    found = None if gang is None else (gang.start, gang.hosts.tolist())
    assert found == expected


@given(worlds(), requests())
def test_free_until_is_the_last_second_without_a_gap(world: World, asked: Asked) -> None:
    start = asked.window[0]
    until = free_until(world.calendar, asked.request.amounts, start)
    for host in world.brute.hosts:
        second = start
        while second <= LAST and world.brute.fits(host, asked.amounts, second, 1, 1):
            second += 1
        expected = -math.inf if second == start else math.inf if second > LAST else second
        assert until[host] == expected


@given(worlds(), st.data())
def test_booking_and_releasing_end_where_they_began(world: World, data: st.DataObject) -> None:
    """To the last bit, however many; and the calendar that was booked in is as it was."""
    before = Calendar(
        offsets=world.calendar.offsets.copy(),
        times=world.calendar.times.copy(),
        free=world.calendar.free.copy(),
        largest=world.calendar.largest,
    )
    more = table(data.draw(booking_rows(world.calendar.hosts, most=2 * FEW)))
    with_them = booked(world.calendar, more)
    assert same(released(with_them, more), before)
    assert same(world.calendar, before)


@given(worlds(), st.data())
def test_the_order_of_bookings_makes_no_difference(world: World, data: st.DataObject) -> None:
    """At once, one by one, in any order: equal to the last bit, and in normal form."""
    empty = released(world.calendar, world.bookings)
    order = data.draw(st.permutations(range(len(world.bookings))))
    step_by_step = empty
    for row in order:
        step_by_step = booked(step_by_step, world.bookings.take([row]))
    many = joined([world.bookings.take(order), *[world.bookings] * FEW])
    at_once = released(booked(empty, many), joined([world.bookings] * FEW))
    assert same(step_by_step, world.calendar)
    assert same(at_once, world.calendar)
    inner = np.isfinite(at_once.times)
    assert (at_once.free[:, inner] != np.roll(at_once.free, 1, axis=1)[:, inner]).any(axis=0).all()
