# SPDX-License-Identifier: Apache-2.0
"""When waiting jobs are expected to start, under any policy.

Implements rule J6 on the calendar of rule C1: the jobs that wait for room are booked one after the other at
their earliest starts, the first of each queue before the second of each, behind what has a reservation
already. It is a forecast: jobs that end early make it earlier, and jobs that arrive later may make it later.

Bounded: the first JobSettings.reservations_per_queue jobs of each queue, at most `most_reservations` in all.
A job behind those, and one that waits for something else than room (its share, other jobs, its price), has
none.

Units and shapes as in columns.py.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.calendar.calendar import Calendar
from nova_market.core.job.columns import Placement
from nova_market.core.job.lookahead import Lookahead
from nova_market.core.job.policy_interface import JobSnapshot
from nova_market.core.job.reason import FOR_ROOM
from nova_market.core.job.reserving import by_turns
from nova_market.core.job.started import after
from nova_market.core.resource import Array, Rows, Values


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Expectation:
    """starts: (waiting jobs,) times after now, NaN where it is not known
    calendar: what is free behind all that runs and has an expected start
    """

    starts: Array
    calendar: Calendar


def expected_starts(
    seen: JobSnapshot, starts: Rows, placement: Placement, code: Values, known: Array | None = None
) -> Expectation:
    """starts, placement, code: as the pass decided; known: expected starts that it gave (reservations)"""
    expected = np.full(len(seen.waiting), np.nan) if known is None else known.copy()
    ahead = Lookahead(after(seen, placement, starts))
    rows = np.flatnonzero(~np.isnan(expected))
    settings = seen.settings
    left = settings.most_reservations
    for job in rows[np.lexsort((rows, expected[rows]))].tolist():
        ahead.reserve(int(seen.shapes.of[job]), float(seen.waiting.time_limit[job]), expected[job])
        left -= 1
    waits = np.flatnonzero(np.isin(code, FOR_ROOM) & np.isnan(expected))
    ranked, place = by_turns(seen, waits)
    turn = np.empty(len(seen.queues), dtype=np.intp)
    turn[seen.state.order] = np.arange(len(turn))
    near = place < settings.reservations_per_queue
    ranked, place = ranked[near], place[near]
    order = ranked[np.lexsort((turn[seen.waiting.queue[ranked]], place))]
    for job in order[: max(left, 0)].tolist():
        start = ahead.reserve(int(seen.shapes.of[job]), float(seen.waiting.time_limit[job]))
        if start is not None:
            expected[job] = start
    return Expectation(starts=expected, calendar=ahead.calendar())
