# SPDX-License-Identifier: Apache-2.0
"""C4: whatever no longer fits, the plan that settles it holds."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.calendar.booking import Bookings
from nova_market.core.calendar.calendar import Calendar, booked
from nova_market.core.calendar.conflict import BookingTable
from nova_market.core.calendar.settling import Place, settled
from tests.support.calendar_builders import booking_table, cloud, on

HOSTS = 3
NOW = 4.0


@st.composite
def rows(draw: st.DrawFn) -> dict[str, object]:
    start = draw(st.integers(0, 12))
    return {
        'host': draw(st.integers(0, HOSTS - 1)),
        'start': start,
        'end': draw(st.integers(max(start, int(NOW)) + 1, 20)),
        'cores': draw(st.integers(1, 3)),
        'made': draw(st.integers(0, 3)),
        'started': start <= NOW,
        'flexible': draw(st.booleans()),
        'pinned': draw(st.booleans()),
        'gang': draw(st.sampled_from([-1, -1, 0])),
        'earliest': draw(st.integers(0, start)),
        'finish': draw(st.integers(20, 30)),
    }


CORES = st.lists(st.integers(0, 4), min_size=HOSTS, max_size=HOSTS)
TABLES = st.lists(rows(), max_size=8).map(lambda some: booking_table(*some))
LOST = st.lists(st.booleans(), min_size=HOSTS, max_size=HOSTS).map(np.array)


def by_hand(table: BookingTable, row: int, place: Place) -> Bookings:
    return on(place.host, place.start, place.end, float(table.bookings.amounts[0, row]))


def as_it_was(table: BookingTable, row: int) -> Place:
    one = table.bookings.take([row])
    return Place(host=int(one.host[0]), start=float(one.start[0]), end=float(one.end[0]))


def fits(calendar: Calendar, part: Bookings) -> bool:
    """Nothing is below zero where it is, once it is booked."""
    after = booked(calendar, part)
    on_host = after.host == part.host[0]
    ends = np.append(after.times, -math.inf)[1:]
    ends[np.isneginf(ends)] = math.inf
    there = on_host & (after.times < part.end[0]) & (part.start[0] < ends)
    return bool((after.free[0, there] >= 0).all())


@given(CORES, TABLES, LOST)
def test_a_plan_holds(cores: list[int], table: BookingTable, lost: np.ndarray) -> None:
    """Everything stays, moves within its window to free room, or is cancelled because it can't stay."""
    calendar = cloud(*np.where(lost, 0, cores))
    plan = settled(calendar, table, lost, NOW, 'abc')
    row_of = {name: row for row, name in enumerate(table.ids)}
    moves = {row_of[one.booking]: one.new for one in plan.moves}
    gone = {row_of[one.booking] for one in plan.displaced}
    assert not gone & moves.keys()
    result = calendar
    for row in sorted(range(len(table.ids)), key=lambda row: not table.started[row]):
        if row in gone:
            continue
        place = moves.get(row, as_it_was(table, row))
        part = by_hand(table, row, place)
        assert table.started[row] or fits(result, part)
        result = booked(result, part)
    assert np.array_equal(result.free, plan.calendar.free)
    for row, place in moves.items():
        old = as_it_was(table, row)
        assert not table.started[row] and place.start >= NOW
        assert place.end - place.start == old.end - old.start
        assert not table.pinned[row] or place.host == old.host
        if place.start != old.start:
            assert table.flexible[row] and table.gang[row] == -1
            assert table.earliest[row] <= place.start and place.end <= table.finish[row]
    for row in gone:
        host = table.bookings.host[row]
        stays = lost[host] or not fits(result, by_hand(table, row, as_it_was(table, row)))
        assert stays
