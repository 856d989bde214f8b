# SPDX-License-Identifier: Apache-2.0
"""What each queue has left of its share, now and later.

Implements the shares of SVMSched, section 5.3, in time (rule J3, policies `easy` and `conservative`). A job
that would take its queue over the share waits for jobs of its own queue to end, and narrow jobs of that queue
could keep it waiting for ever. So a reservation also reserves a part of the share: this is a calendar whose
"hosts" are the queues, and whose capacity is what each share amounts to.

Units and shapes as in columns.py, but that the memory of a very large aggregate is counted in units of more
than a MiB: a calendar takes MOST_AMOUNT, and an aggregate is the sum of many hosts. A power of two, so that
nothing is rounded but by the grid. Disk has no part in a share.
"""

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.booking import Request, bookings
from nova_market.core.calendar.calendar import Calendar, booked, host_part, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.calendar.grain import MOST_AMOUNT, instants, not_before, on_grid
from nova_market.core.calendar.start import earliest_starts, least_free
from nova_market.core.job.lookahead import expected_ends
from nova_market.core.job.policy_interface import JobSnapshot
from nova_market.core.job.share_use import COUNTED, capacity_of
from nova_market.core.resource import Array


class ShareCalendar:
    """Changes as jobs start and reserve, and ends with the pass."""

    def __init__(self, seen: JobSnapshot) -> None:
        self._now = float(instants(seen.now))
        granted = seen.queues.share * capacity_of(seen.hosts)[:, seen.queues.aggregate]
        self._unit = _units(granted)
        whole = np.zeros((len(AXES), len(seen.queues)))
        whole[COUNTED, :] = granted / self._unit
        running = seen.running
        mine = ~running.best_effort
        self._queues = booked(
            unbooked(capacity(whole)),
            bookings(
                host=running.queue[mine],
                start=np.full(int(mine.sum()), self._now),
                end=expected_ends(running.ends[mine], self._now),
                amounts=self._counted(running.amount[:, mine] * running.servers[mine]),
            ),
        )
        # those that were looked at, each a calendar of its own: booking there is cheaper
        self._parts: dict[int, Calendar] = {}
        self._jobs = self._counted(seen.shapes.amount * seen.shapes.servers)

    def book(self, queue: int, shape: int, start: float, limit: float) -> None:
        """A job of this shape has, or will have, its part of the share."""
        self._parts[queue] = booked(
            self._part(queue),
            bookings(
                host=[0],
                start=[start],
                end=[start + float(not_before(limit))],
                amounts=self._jobs[:, shape, None],
            ),
        )

    def earliest(self, queue: int, shape: int, limit: float, start: float) -> float:
        """From when on, `start` or later, the job keeps the share for as long as it runs; inf: never."""
        amounts = self._jobs[:, shape]
        if not amounts.any():
            return start
        wanted = Request(amounts=amounts, duration=float(not_before(limit)), earliest=start)
        return float(earliest_starts(self._part(queue), wanted)[0])

    def fits(self, queue: int, shape: int, limit: float, since: float) -> bool:
        """Does a job that starts now leave the share to what is reserved, from `since` on?"""
        end = self._now + float(not_before(limit))
        if since >= end:
            return True
        amounts = self._jobs[:, shape]
        least = least_free(self._part(queue), max(since, self._now), end)[:, 0]
        return bool(((least >= amounts) | (amounts == 0.0)).all())

    def _part(self, queue: int) -> Calendar:
        if queue not in self._parts:
            self._parts[queue] = host_part(self._queues, queue)
        return self._parts[queue]

    def _counted(self, amounts: Array) -> Array:
        """On the grid, and nothing where an axis is no part of a share.

        What is more than a calendar takes is more than any share, too.
        """
        counted = np.zeros_like(amounts)
        counted[COUNTED, :] = on_grid(np.minimum(amounts[COUNTED, :] / self._unit, MOST_AMOUNT))
        return counted


def _units(granted: Array) -> Array:
    """(COUNTED, 1): the least power of two, 1 or more, in which a share is at most half of MOST_AMOUNT."""
    most = granted.max(axis=1, initial=0.0, keepdims=True)
    times = np.maximum(most / (MOST_AMOUNT / 2), 1.0)
    units: Array = np.exp2(np.ceil(np.log2(times)))
    return units
