# SPDX-License-Identifier: Apache-2.0
"""Jobs started in one order behind a reservation of the first one that finds no room: EASY backfilling.

The *head* is the first job without room that will have some when running jobs end. It has a reservation
(core.job.head_reservation). A later job starts now if it ends before the head starts, or fits beside it; so
no backfilled job delays the head. Jobs whose room has no known time pass the reservation on to the next
one.

Units and shapes as in columns.py.
"""

import numpy as np

from nova_market.core.job.head_reservation import HeadReservation, head_reservation
from nova_market.core.job.in_order import has_room
from nova_market.core.job.policy_interface import JobSnapshot
from nova_market.core.job.reason import ReasonCode
from nova_market.core.job.room import Room, Spot, placement_of
from nova_market.core.job.started import after
from nova_market.core.job.waiting_reasons import Reasons
from nova_market.core.resource import Flags, Rows


class Backfill:
    """What one order starts.

    starts, spots: of the same length; held: the reservation of the head, if there is one
    """

    def __init__(self, seen: JobSnapshot) -> None:
        hosts, shapes = seen.hosts, len(seen.shapes)
        self.starts: list[int] = []
        self.spots: list[Spot] = []
        self.held: HeadReservation | None = None
        self._seen = seen
        self._room = Room(hosts.free, hosts.aggregates, seen.settings.host_choice)
        # what is free now and stays free beside the head
        self._beside = self._room
        self._full = ~has_room(seen.shapes, self._room)
        self._blocked = np.zeros(shapes, dtype=np.bool_)
        self._no_time = np.zeros(shapes, dtype=np.bool_)

    def run(self, ranked: Rows) -> None:
        """Start jobs of these rows, in this order."""
        seen = self._seen
        ends = (seen.now + seen.waiting.time_limit[ranked]).tolist()
        shapes = seen.shapes.of[ranked].tolist()
        for job, shape, end in zip(ranked.tolist(), shapes, ends, strict=True):
            if not self._full[shape]:
                self._start(job, shape, end)
            if self._full[shape] and self.held is None and not self._no_time[shape]:
                self._reserve(job, shape)

    def reasons(self) -> Reasons:
        """Of all candidates that wait, at the end."""
        seen = self._seen
        reasons = Reasons(len(seen.waiting))
        left = seen.candidates.copy()
        left[self.starts] = False
        if self.held is not None:
            fits = self._has_spot(left)[seen.shapes.of] & left
            left &= ~fits
            rows = np.flatnonzero(fits)
            wait = self.held.start - seen.now
            reasons.give(rows, ReasonCode.RESERVED, wait, float(self.held.job))
        reasons.lack_of_room(np.flatnonzero(left), seen.shapes, seen.hosts, self._room)
        return reasons

    def _start(self, job: int, shape: int, end: float) -> None:
        """Start it if there is room for it: beside the head, unless it ends before the head starts."""
        shapes = self._seen.shapes
        short = self.held is None or end <= self.held.start
        if self._blocked[shape] and not short:
            return
        amount = shapes.amount[:, shape]
        room = self._room if short else self._beside
        spot = room.spot(amount, int(shapes.servers[shape]), int(shapes.aggregate[shape]))
        if spot is None:
            (self._full if short else self._blocked)[shape] = True
            return
        self._room.take(amount, spot)
        if self.held is not None:
            hosts, servers = spot
            then = self.held.free_then
            if not short:
                then[:, hosts] -= amount[:, None] * servers
            self._beside.free[:, hosts] = np.minimum(self._room.free[:, hosts], then[:, hosts])
        self.starts.append(job)
        self.spots.append(spot)

    def _reserve(self, job: int, shape: int) -> None:
        """Make this job the head, unless nobody knows when it will have room."""
        begun = after(self._seen, placement_of(self.starts, self.spots), _rows(self.starts))
        self.held = head_reservation(begun, job)
        if self.held is None:
            self._no_time[shape] = True
            return
        self._beside = self._room.copy()
        np.minimum(self._beside.free, self.held.free_then, out=self._beside.free)

    def _has_spot(self, waiting: Flags) -> Flags:
        """Shapes of these jobs for which there is room now, head or not: (shapes,)."""
        shapes = self._seen.shapes
        present = np.bincount(shapes.of[waiting], minlength=len(shapes)) > 0
        found = present & has_room(shapes, self._room)
        for shape in np.flatnonzero(found).tolist():
            spot = self._room.spot(
                shapes.amount[:, shape], int(shapes.servers[shape]), int(shapes.aggregate[shape])
            )
            found[shape] = spot is not None
        return found


def _rows(jobs: list[int]) -> Rows:
    return np.array(jobs, dtype=np.intp)
