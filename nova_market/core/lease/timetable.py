# SPDX-License-Identifier: Apache-2.0
"""Which objective and which algorithm are in force when: power by day, finish by night.

Implements rule L3 of doc/source/specs/leases.rst, after CloudAlloc, section 1 ("during the day, when energy
costs are high, the objective may be to minimize power usage while in the evening, the objective may be
altered to minimize execution time"). Times are those on the wall of the operator's zone, so that an entry of
8 o'clock begins at 8 o'clock also on days on which the clock is changed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from nova_market.errors import BadLease

DAY = 24 * 60
WEEK = 7 * DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class TimetableEntry:
    """From this minute of the day on, on these days (0 = Monday), until the next entry begins."""

    minute: int
    days: tuple[int, ...] = tuple(range(7))
    algorithm: str
    objective: str

    def __post_init__(self) -> None:
        if not (0 <= self.minute < DAY and self.days and all(0 <= day < 7 for day in self.days)):
            raise BadLease(
                f'minute {self.minute} of days {list(self.days)} is no time of a week: '
                f'give a minute from 0 to {DAY - 1} and days from 0 (Monday) to 6'
            )


def in_force(entries: Sequence[TimetableEntry], local: datetime) -> TimetableEntry:
    """The entry that began last; of two that begin at once the later one of the list.

    local: the time in the operator's zone

    :raises BadLease: there is no entry.
    """
    if not entries:
        raise BadLease('the timetable is empty: give at least one entry')
    now = local.weekday() * DAY + local.hour * 60 + local.minute
    ages = [
        (min((now - day * DAY - one.minute) % WEEK for day in one.days), -number)
        for number, one in enumerate(entries)
    ]
    return entries[-min(ages)[1]]
