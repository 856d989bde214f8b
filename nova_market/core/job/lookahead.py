# SPDX-License-Identifier: Apache-2.0
"""What hosts have free now and later while one pass starts jobs and reserves room for others.

Implements rule J3 (policies `easy` and `conservative`) on the calendar of rule C1. What is free now is
`hosts.free`, as Placement reports it. Later it grows where running jobs reach their time limits, and changes
as the calendar of everything but jobs does (leases that begin, servers that end).

A job that has been ordered to end is not waited for: its room is held for whom it leaves for
(core.job.selection). A job that is past its limit is expected to end within OVERDUE.

Units and shapes as in columns.py; amounts and times are put on the grid of the calendar.
"""

import math
from collections.abc import Callable

import numpy as np

from nova_market.core.calendar.axes import AXES, CORES, MEMORY_MIB
from nova_market.core.calendar.booking import Request, bookings
from nova_market.core.calendar.calendar import Calendar, booked, rebased, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.calendar.grain import INSTANT, instants, not_before, on_grid
from nova_market.core.calendar.start import GangStart, earliest_gang, how_many, least_free
from nova_market.core.job.policy_interface import HostChoice, JobSnapshot
from nova_market.core.job.room import Room, Spot
from nova_market.core.resource import Array, Flags, Rows, Values

OVERDUE = 60.0
"""Seconds: a worker ends a job at its limit, and the next report of it arrives within a minute."""

ROUNDS = 32
"""So often the time at which there is room and the time at which it may start are brought together."""


def expected_ends(ends: Array, now: float) -> Array:
    """When jobs with these limits end: at them, and those that are past theirs within OVERDUE. (jobs,)"""
    expected: Array = np.where(ends > now, ends, now + OVERDUE)
    return expected


def job_calendar(seen: JobSnapshot) -> Calendar:
    """What is free for jobs from `seen.now` on; what it has for earlier times means nothing."""
    now = float(instants(seen.now))
    running, spot = seen.running, seen.running.placement
    ends = expected_ends(running.ends, now)[spot.job]
    mine = np.flatnonzero(~running.leaving[spot.job] & np.isfinite(ends))
    jobs, host = spot.job[mine], spot.host[mine]
    held = bookings(
        host=host,
        start=np.full(len(mine), now),
        end=ends[mine],
        amounts=running.amount[:, jobs] * spot.servers[mine],
    )
    whole = on_grid(np.maximum(seen.hosts.free, 0.0))
    for axis, amounts in enumerate(held.amounts):
        whole[axis] += np.bincount(host, amounts, len(seen.hosts))
    if seen.calendar is None:
        return booked(unbooked(capacity(whole)), held)
    return booked(rebased(seen.calendar, whole, now), held)


class Lookahead:
    """Changes as jobs start and rooms are reserved, and ends with the pass.

    room: what is free now; looks: how often the calendar was asked whether a job can start now
    """

    def __init__(self, seen: JobSnapshot) -> None:
        hosts = seen.hosts
        self.room = Room(hosts.free, hosts.aggregates, seen.settings.host_choice)
        self.looks = 0
        self._seen, self._now = seen, float(instants(seen.now))
        self._calendar = job_calendar(seen)
        now_free = least_free(self._calendar, self._now, self._now + INSTANT)
        ever_free = least_free(self._calendar, self._now, math.inf)
        # on all other hosts, what is free now stays free
        self._taken_later: Flags = np.logical_or.reduce(ever_free < now_free, axis=0)
        self._started: list[tuple[Array, Spot, float]] = []

    def start(self, shape: int, limit: float) -> Spot | None:
        """Start a job of this shape for `limit` seconds, unless a reservation would be delayed."""
        shapes = self._seen.shapes
        amount, servers = shapes.amount[:, shape], int(shapes.servers[shape])
        count = self.room.fitting(amount, int(shapes.aggregate[shape]))
        if (self._taken_later & (count > 0)).any():
            self._book()
            end = self._now + float(not_before(limit))
            lasting = how_many(self._calendar, on_grid(amount), self._now, end, servers)
            count = np.minimum(count, lasting)
            self.looks += 1
        if int(count.sum()) < servers:
            return None
        spot = self._spot(count, servers)
        self.room.take(amount, spot)
        self._started.append((amount, spot, limit))
        return spot

    def fits_now(self, shape: int) -> bool:
        """Is there room now for all servers of a job of this shape, for however short?"""
        shapes = self._seen.shapes
        count = self.room.fitting(shapes.amount[:, shape], int(shapes.aggregate[shape]))
        return int(count.sum()) >= int(shapes.servers[shape])

    def reserve(
        self,
        shape: int,
        limit: float,
        earliest: float = -math.inf,
        allowed: Callable[[float], float] | None = None,
    ) -> float | None:
        """Reserve the earliest start of a job of this shape after now; None: it never fits.

        allowed: from when on, a time or later, something else than room allows the job to start
        """
        self._book()
        shapes = self._seen.shapes
        amount, servers = on_grid(shapes.amount[:, shape]), int(shapes.servers[shape])
        order = self._preferred(
            np.flatnonzero(self._seen.hosts.aggregates[shapes.aggregate[shape]])
        )
        start = max(self._now + INSTANT, float(not_before(earliest)))
        duration = float(not_before(limit))
        for _ in range(ROUNDS):
            wanted = Request(amounts=amount, duration=duration, earliest=start)
            found = earliest_gang(self._calendar, wanted, servers, preferred=order)
            if found is None:
                return None
            start = found.start if allowed is None else allowed(found.start)
            if start == found.start:
                self._take(found, amount, duration)
                return start
            if math.isinf(start):
                return None
        return None

    def calendar(self) -> Calendar:
        """What is free beside all that was started and reserved."""
        self._book()
        return self._calendar

    def _take(self, found: GangStart, amount: Array, duration: float) -> None:
        count = len(found.hosts)
        reserved = bookings(
            host=found.hosts,
            start=np.full(count, found.start),
            end=np.full(count, found.start + duration),
            amounts=amount[:, None] * np.ones(count),
        )
        self._calendar = booked(self._calendar, reserved)
        self._taken_later[found.hosts] = True

    def _book(self) -> None:
        """Jobs that were started since the last time."""
        if not self._started:
            return
        hosts = [spot[0] for _, spot, _ in self._started]
        lengths = [len(one) for one in hosts]
        amounts = [amount[:, None] * spot[1] for amount, spot, _ in self._started]
        limits = np.repeat([limit for *_, limit in self._started], lengths)
        start = np.full(len(limits), self._now)
        parts = bookings(
            host=np.concatenate(hosts),
            start=start,
            end=start + not_before(limits),
            amounts=np.concatenate(amounts, axis=1).reshape(len(AXES), -1),
        )
        self._calendar = booked(self._calendar, parts)
        self._started = []

    def _spot(self, count: Values, servers: int) -> Spot:
        hosts = self._preferred(np.flatnonzero(count))
        before = np.cumsum(count[hosts]) - count[hosts]
        taken = np.clip(servers - before, 0, count[hosts])
        return hosts[taken > 0], taken[taken > 0].astype(np.int64)

    def _preferred(self, hosts: Rows) -> Rows:
        """In the order in which they are filled."""
        if self._seen.settings.host_choice is HostChoice.FIRST_FIT:
            return hosts
        free = self.room.free[:, hosts]
        return hosts[np.lexsort((hosts, free[MEMORY_MIB], free[CORES]))]
