# SPDX-License-Identifier: Apache-2.0
"""C4: bookings that no longer fit move, or their owners get alternatives and a refund."""

import math
from collections.abc import Mapping

import numpy as np
import pytest

from nova_market.core.calendar.booking import bookings
from nova_market.core.calendar.calendar import Calendar, booked
from nova_market.core.calendar.settling import ConflictPlan, Place, settled
from tests.support.calendar_builders import PLENTY, booking_table, cloud, on


def plan(
    calendar: Calendar, *rows: Mapping[str, object], lost: tuple[int, ...] = (), now: float = 0.0
) -> ConflictPlan:
    gone = np.isin(np.arange(calendar.hosts), lost)
    names = [f'h{row}' for row in range(calendar.hosts)]
    return settled(calendar, booking_table(*rows), gone, now, names)


def moved(found: ConflictPlan) -> list[tuple[str, int, float]]:
    return [(one.booking, one.new.host, one.new.start) for one in found.moves]


def cancelled(found: ConflictPlan) -> list[str]:
    return [one.booking for one in found.displaced]


def test_what_fits_is_left_alone() -> None:
    found = plan(cloud(2), {'cores': 1}, {'cores': 1}, {'cores': 2, 'start': 10, 'end': 20})
    assert (found.moves, found.displaced) == ((), ())


def test_the_later_booking_gives_way() -> None:
    """Capacity shrank from 2 cores to 1: who booked first stays, wherever its row is."""
    found = plan(cloud(1), {'id': 'b', 'made': 2.0}, {'id': 'a', 'made': 1.0})
    assert cancelled(found) == ['b']


def test_the_flexible_one_gives_way_before_the_fixed_one() -> None:
    """It loses nothing: it moves behind the other one."""
    found = plan(
        cloud(1),
        {'id': 'flexible', 'flexible': True, 'pinned': True},
        {'id': 'fixed', 'pinned': True},
    )
    assert moved(found) == [('flexible', 0, 10.0)]
    assert cancelled(found) == []


def test_another_host_at_the_same_time_is_tried_first() -> None:
    """Nobody notices, so also a booking whose time is fixed moves so."""
    found = plan(cloud(1, 1), {'id': 'a'}, {'id': 'b'})
    assert moved(found) == [('b', 1, 0.0)]


def test_a_server_that_nobody_booked_displaces_a_booking() -> None:
    """Placement is right about now: it has the room, for ever."""
    present = booked(cloud(4), on(0, 0, math.inf, 3))
    found = plan(present, {'id': 'a', 'cores': 2, 'start': 5, 'end': 9, 'pinned': True})
    assert cancelled(found) == ['a']
    assert found.displaced[0].reason == (
        'room: 2 cores on host h0, at most 1 free during the whole of it'
    )
    assert found.displaced[0].alternatives == ()


def test_what_runs_goes_on_and_what_is_only_booked_gives_way() -> None:
    """Earlier or later, on a host that offers less than it did."""
    found = plan(cloud(1), {'id': 'booked'}, {'id': 'runs', 'started': True})
    assert cancelled(found) == ['booked']
    assert plan(cloud(1), {'started': True, 'cores': 2}).displaced == ()


def test_a_lost_host_loses_what_runs_too() -> None:
    """What had started can't move; what had not goes to another host."""
    found = plan(
        cloud(4, 4),
        {'id': 'runs', 'started': True, 'start': 0, 'end': 10},
        {'id': 'waits', 'start': 5, 'end': 10},
        lost=(0,), now=4.0,
    )  # fmt: skip
    assert cancelled(found) == ['runs']
    assert found.displaced[0].reason == 'host h0 is lost'
    assert found.displaced[0].refund == pytest.approx(0.6)
    assert moved(found) == [('waits', 1, 5.0)]


def test_a_move_stays_within_the_window() -> None:
    """It could be had from 10 on, and must be over by 19."""
    rows = {'id': 'a', 'pinned': True}, {'id': 'b', 'pinned': True, 'flexible': True, 'finish': 19}
    found = plan(cloud(1), *rows)
    assert (moved(found), cancelled(found)) == ([], ['b'])
    assert moved(plan(cloud(1), rows[0], {**rows[1], 'finish': 20})) == [('b', 0, 10.0)]


def test_a_move_is_not_into_the_past() -> None:
    found = plan(
        cloud(1, 1),
        {'id': 'a', 'pinned': True, 'start': 50, 'end': 60},
        {'id': 'b', 'pinned': True, 'flexible': True, 'start': 50, 'end': 55},
        now=40.0,
    )
    assert moved(found) == [('b', 0, 40.0)]


def test_a_server_of_a_gang_keeps_its_time() -> None:
    """The others start then: it may go to another host only."""
    full = booked(cloud(1, 1), on(0, 0, 10, 1))
    one = {'id': 'g', 'gang': 7, 'flexible': True}
    assert moved(plan(full, one)) == [('g', 1, 0.0)]
    assert cancelled(plan(booked(full, on(1, 0, 10, 1)), one)) == ['g']


def test_the_owner_of_a_displaced_booking_gets_alternatives() -> None:
    """The named host is taken until 30: another host at the same time, or the same host from 30 on."""
    found = plan(
        booked(cloud(1, 1), on(0, 0, 30, 1)),
        {'id': 'a', 'pinned': True, 'start': 5, 'end': 15},
    )
    assert found.displaced[0].alternatives == (
        Place(host=1, start=5.0, end=15.0),
        Place(host=0, start=30.0, end=40.0),
    )
    assert found.displaced[0].refund == 1.0


def test_two_bookings_do_not_move_to_the_same_room() -> None:
    full = booked(cloud(2, 1), on(0, 0, 10, 2))
    found = plan(full, {'id': 'a', 'flexible': True}, {'id': 'b', 'flexible': True})
    assert moved(found) == [('a', 1, 0.0), ('b', 0, 10.0)]


def test_an_axis_that_a_booking_does_not_take_is_no_conflict() -> None:
    """The disks are overbooked; of two servers without a disk one still has its core."""
    disks = bookings(host=[0], start=[0], end=[10], amounts=[[0.0], [0.0], [2 * PLENTY]])
    found = plan(booked(cloud(1), disks), {'id': 'a'}, {'id': 'b'})
    assert (moved(found), cancelled(found)) == ([], ['b'])


def test_a_part_of_a_host_may_be_larger_than_one_server() -> None:
    """A lease of a whole overcommitted host moves; a server of that size has no host."""
    both = Calendar(
        offsets=(made := booked(cloud(4, 4), on(0, 0, 10, 4))).offsets,
        times=made.times, free=made.free, largest=np.full((3, 2), 2.0),
    )  # fmt: skip
    assert moved(plan(both, {'cores': 4, 'single': False})) == [('0', 1, 0.0)]
    assert cancelled(plan(both, {'cores': 4})) == ['0']
