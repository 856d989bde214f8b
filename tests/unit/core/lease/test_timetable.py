# SPDX-License-Identifier: Apache-2.0
"""L3: power by day, finish by night."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from nova_market.core.lease.timetable import TimetableEntry, in_force
from nova_market.errors import BadLease

DAY = TimetableEntry(minute=8 * 60, days=(0, 1, 2, 3, 4), algorithm='exact', objective='power')
NIGHT = TimetableEntry(minute=20 * 60, algorithm='greedy', objective='earliest_finish')


@pytest.mark.parametrize(
    ('local', 'expected'),
    [
        (datetime(2026, 6, 1, 8, 0), DAY),  # a Monday
        (datetime(2026, 6, 1, 7, 59), NIGHT),
        (datetime(2026, 6, 1, 19, 59), DAY),
        (datetime(2026, 6, 1, 20, 0), NIGHT),
        (datetime(2026, 6, 6, 12, 0), NIGHT),  # a Saturday: that of Friday goes on
    ],
)
def test_the_entry_that_began_last_is_in_force(local, expected):
    """Until the next one begins, over the end of the day and of the week."""
    assert in_force((DAY, NIGHT), local) == expected


def test_an_entry_begins_by_the_clock_on_the_wall():
    """Also in the night in which the clock is changed: 8 o'clock is 7 hours after midnight then."""
    zone = ZoneInfo('Europe/Berlin')
    sunday = TimetableEntry(minute=8 * 60, days=(6,), algorithm='search', objective='power')
    assert in_force((NIGHT, sunday), datetime(2026, 3, 29, 8, 0, tzinfo=zone)) == sunday
    assert in_force((NIGHT, sunday), datetime(2026, 3, 29, 7, 0, tzinfo=zone)) == NIGHT


def test_of_two_that_begin_at_once_the_later_in_the_list_counts():
    other = TimetableEntry(minute=20 * 60, algorithm='search', objective='power')
    assert in_force((NIGHT, other), datetime(2026, 6, 1, 21, 0)) == other
    assert in_force((other, NIGHT), datetime(2026, 6, 1, 21, 0)) == NIGHT


def test_nonsense_is_refused():
    with pytest.raises(BadLease, match='minute 1440'):
        TimetableEntry(minute=1440, algorithm='greedy', objective='power')
    with pytest.raises(BadLease, match='days from 0'):
        TimetableEntry(minute=0, days=(7,), algorithm='greedy', objective='power')
    with pytest.raises(BadLease, match='at least one entry'):
        in_force((), datetime(2026, 6, 1))
