# SPDX-License-Identifier: Apache-2.0
"""Jobs by turns of the queues, with reservations for the first jobs of each queue that find no room.

Beyond SVMSched: rule J3, policies `easy` and `conservative`. Algorithm 1 backfills: a job passes over all
jobs before it that find no room, so a wide job may wait for as long as narrower ones arrive. Here the first
jobs of a queue that find no room get the earliest time at which they do, and hosts, in the calendar. A later
job starts only where it takes nothing of that, so no reservation is delayed within a pass.

Shares bind long jobs, as under `flexible`; short jobs over the share start last. A reservation of a long job
is at a time at which its queue has that much of its share left, and reserves that too. Order: the first job
of each queue, queues in their order; then the second of each; and so on. A queue moves to the end of the
order when its jobs start in their turn, but not when jobs behind a reservation do. So a queue whose first
job waits comes to the front, where nobody's reservation is made before its own.

Bounded: at most `most_reservations` and `most_looks` in a pass (JobSettings). Jobs behind those wait without
a reservation; they may still start.

Units and shapes as in columns.py.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from nova_market.core.job.in_order import has_room
from nova_market.core.job.lookahead import Lookahead
from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.queue_order import served
from nova_market.core.job.reason import ReasonCode
from nova_market.core.job.room import Spot, placement_of
from nova_market.core.job.round_robin import long_jobs
from nova_market.core.job.share_calendar import ShareCalendar
from nova_market.core.job.share_use import ROUNDING, after_starting, demand, used
from nova_market.core.job.waiting_reasons import Reasons, too_large
from nova_market.core.resource import Flags, Rows

SPARE = 8
"""So many more jobs of each queue are looked at for a reservation, should the first ones never fit."""

NOBODY = -1
"""What a job would delay is no job: a lease."""

LONGEST, UNKNOWN = 1e300, np.inf
"""Seconds: a job without a time limit is shorter than a limit that has not been looked at."""


def reserving(seen: JobSnapshot, per_queue: int) -> Selection:
    """One pass with reservations for the first `per_queue` jobs of each queue that find no room."""
    run = _Pass(seen, per_queue)
    run.in_turn()
    run.short_over_share()
    reasons = run.reasons()
    return Selection(
        starts=np.array(run.starts, dtype=np.intp),
        placement=placement_of(run.starts, run.spots),
        code=reasons.code,
        numbers=reasons.numbers,
        state=replace(seen.state, order=served(seen.state.order, run.served)),
        expected_start=run.expected,
    )


def by_turns(seen: JobSnapshot, rows: Rows) -> tuple[Rows, Rows]:
    """Jobs of these rows, queue by queue, each by rank; and the place of each within its queue."""
    waiting = seen.waiting
    queue = waiting.queue[rows]
    # a key that is the same for all jobs costs a sort for nothing
    keys = [
        key
        for key in (waiting.submitted[rows], -waiting.weight[rows], waiting.priority[rows])
        if len(key) and key.min() != key.max()
    ]
    ranked = rows[np.lexsort((*keys, queue))]
    counts = np.bincount(queue, minlength=len(seen.queues))
    first = np.cumsum(counts) - counts
    return ranked, np.arange(len(ranked)) - first[waiting.queue[ranked]]


class _Pass:
    """starts, spots: as chosen; served: queues whose jobs started in their turn; expected: reservations."""

    def __init__(self, seen: JobSnapshot, per_queue: int) -> None:
        self.starts: list[int] = []
        self.spots: list[Spot] = []
        self.served: list[int] = []
        self.expected = np.full(len(seen.waiting), np.nan)
        self._seen, self._per_queue = seen, per_queue
        self._ahead = Lookahead(seen)
        self._use = used(seen.running, seen.queues, seen.hosts)
        self._added = demand(seen.shapes, seen.hosts)
        # a share of everything binds nobody: there is no room then
        share = seen.queues.share
        self._granted = np.where(share < 1.0, share + ROUNDING, np.inf)
        self._too_large = too_large(seen.shapes, seen.hosts)[seen.shapes.of]
        self._bound = long_jobs(seen)
        self._reserved: list[list[int]] = [[] for _ in range(len(seen.queues))]
        # short jobs over the share that start after all others, if there is room then
        self._later: Flags = np.zeros(len(seen.waiting), dtype=np.bool_)
        self._reservations = 0
        self._first = [math.inf] * len(seen.queues)
        self._shares = ShareCalendar(seen)
        # jobs that were started, until their share is looked at
        self._booked_later: dict[int, list[tuple[int, float]]] = {}
        # of each shape, the shortest time limit for which there is no room from now on
        self._too_long: list[float] = [
            UNKNOWN if room else 0.0 for room in has_room(seen.shapes, self._ahead.room).tolist()
        ]

    def in_turn(self) -> None:
        """Jobs within the shares start in their turn; the first of those that can't get reservations."""
        settings, too_long = self._seen.settings, self._too_long
        for job, queue, shape, limit in self._turns(self._to_look_at()):
            more = self._may_reserve(job, queue)
            if not more and self._ahead.looks >= settings.most_looks:
                continue
            if not more and min(limit, LONGEST) >= too_long[shape]:
                continue
            over = self._over_share(queue, shape)
            if over and not self._bound[job] and too_long[shape] > 0.0:
                self._later[job] = True
                continue
            if not (not over and self._start(job, queue, shape, limit)) and more:
                self._reserve(job, queue, shape, limit)

    def short_over_share(self) -> None:
        """Short jobs may exceed the share, after all others.

        The first of a queue whose room was taken meanwhile gets a reservation, as it would have in its turn.
        """
        rest = self._seen.candidates & ~self._bound & np.isnan(self.expected)
        rest[self.starts] = False
        can_start = np.array(self._too_long)[self._seen.shapes.of] > 0.0
        for job, queue, shape, limit in self._turns(rest & (can_start | self._later), over=True):
            if not self._start(job, queue, shape, limit) and self._may_reserve(job, queue):
                self._reserve(job, queue, shape, limit)

    def reasons(self) -> Reasons:
        """Of all candidates that wait, at the end."""
        seen, room = self._seen, self._ahead.room
        reasons = Reasons(len(seen.waiting))
        left = seen.candidates.copy()
        left[self.starts] = False
        rows = np.flatnonzero(left)
        queue, shape = seen.waiting.queue[rows], seen.shapes.of[rows]
        part = after_starting(self._use, self._added[:, shape], queue)
        over = self._bound[rows] & (part > self._granted[queue]) & ~self._too_large[rows]
        short = seen.waiting.time_limit[rows] <= seen.queues.short_below[queue]
        reasons.give(
            rows[over], ReasonCode.SHARE, part[over], seen.queues.share[queue[over]], short[over]
        )
        fits = ~over & self._has_spot(left)[shape]
        first = NOBODY if np.isnan(self.expected).all() else int(np.nanargmin(self.expected))
        wait = 0.0 if first == NOBODY else float(self.expected[first]) - seen.now
        reasons.give(rows[fits], ReasonCode.RESERVED, wait, float(first))
        reasons.lack_of_room(rows[~over & ~fits], seen.shapes, seen.hosts, room)
        return reasons

    def _to_look_at(self) -> Flags:
        """Candidates that would fit if nothing ran, but for short ones over the share that have room now."""
        seen = self._seen
        of = seen.shapes.of
        alone = np.maximum(*self._added)[of]
        within = alone <= self._granted[seen.waiting.queue]
        room = np.array(self._too_long)[of] > 0.0
        looked_at = seen.candidates & ~self._too_large
        self._later = looked_at & ~self._bound & self._over_now() & room
        found: Flags = looked_at & np.where(self._bound, within, ~self._later)
        return found

    def _may_reserve(self, job: int, queue: int) -> bool:
        """Is it among the first of its queue that cannot start, and is there a reservation left?"""
        if self._reservations >= self._seen.settings.most_reservations:
            return False
        return self._reserved_before(job, queue) < self._per_queue

    def _reserved_before(self, job: int, queue: int) -> int:
        """Jobs of this queue that have a reservation and a better rank."""
        return sum(self._rank(one) < self._rank(job) for one in self._reserved[queue])

    def _rank(self, job: int) -> tuple[float, ...]:
        waiting = self._seen.waiting
        return waiting.priority[job], -waiting.weight[job], waiting.submitted[job], job

    def _over_now(self) -> Flags:
        """Jobs that would exceed the share of their queue, (jobs,)."""
        waiting = self._seen.waiting
        part = after_starting(self._use, self._added[:, self._seen.shapes.of], waiting.queue)
        over: Flags = part > self._granted[waiting.queue]
        return over

    def _turns(self, jobs: Flags, *, over: bool = False) -> Iterator[tuple[int, int, int, float]]:
        """(job, queue, shape, time limit), in turn; of those of a queue that can't start, the first ones.

        over: they may start over the share of their queue
        """
        seen, lacking = self._seen, self._per_queue + SPARE
        can_start = np.array(self._too_long)[seen.shapes.of] > 0.0
        if not over:
            can_start &= ~self._over_now()
        ranked, place = by_turns(seen, np.flatnonzero(jobs))
        queue, lacks = seen.waiting.queue[ranked], ~can_start[ranked]
        # of those that can't start, how many of the same queue stand before each
        before: Rows = np.cumsum(lacks) - lacks
        first = np.arange(len(ranked)) - place
        kept = ~lacks | (before - before[first] < lacking)
        turn = np.empty(len(seen.queues), dtype=np.intp)
        turn[seen.state.order] = np.arange(len(turn))
        ranked, place = ranked[kept], place[kept]
        ranked = ranked[np.lexsort((turn[queue[kept]], place))]
        columns = (seen.waiting.queue, seen.shapes.of, seen.waiting.time_limit)
        lists = [column[ranked].tolist() for column in columns]
        return zip(ranked.tolist(), *lists, strict=True)

    def _over_share(self, queue: int, shape: int) -> bool:
        use, added, granted = self._use, self._added, float(self._granted[queue])
        return bool(
            use[0, queue] + added[0, shape] > granted or use[1, queue] + added[1, shape] > granted
        )

    def _start(self, job: int, queue: int, shape: int, limit: float) -> bool:
        """Start it if there is room now and for as long as it runs."""
        length = min(limit, LONGEST)
        if length >= self._too_long[shape] or self._ahead.looks >= self._seen.settings.most_looks:
            return False
        held = bool(self._reserved[queue])
        if held and not self._share_of(queue).fits(queue, shape, limit, self._first[queue]):
            return False
        spot = self._ahead.start(shape, limit)
        if spot is None:
            now = self._ahead.fits_now(shape)
            self._too_long[shape] = length if now else 0.0
            return False
        self._use[:, queue] += self._added[:, shape]
        self.starts.append(job)
        self.spots.append(spot)
        self._booked_later.setdefault(queue, []).append((shape, limit))
        if not held:
            self.served.append(queue)
        return True

    def _reserve(self, job: int, queue: int, shape: int, limit: float) -> None:
        """The earliest time with room, at which the job keeps the share too.

        A short job that is larger than the share alone waits for room only; it is the first of its queue.
        """
        shares = self._share_of(queue)
        allowed = partial(shares.earliest, queue, shape, limit)
        earliest: float = allowed(self._seen.now)
        if math.isfinite(earliest):
            start = self._ahead.reserve(shape, limit, earliest, allowed)
        elif self._bound[job] or self._reserved_before(job, queue):
            return
        else:
            start = self._ahead.reserve(shape, limit)
        if start is None:
            return
        shares.book(queue, shape, start, limit)
        self.expected[job] = start
        self._first[queue] = min(self._first[queue], start)
        self._reserved[queue].append(job)
        self._reservations += 1

    def _share_of(self, queue: int) -> ShareCalendar:
        """With all jobs of the queue that were started."""
        for shape, limit in self._booked_later.pop(queue, []):
            self._shares.book(queue, shape, self._seen.now, limit)
        return self._shares

    def _has_spot(self, waiting: Flags) -> Flags:
        """Shapes of these jobs for which there is room now: (shapes,)."""
        shapes = self._seen.shapes
        present = np.bincount(shapes.of[waiting], minlength=len(shapes)) > 0
        found: Flags = present & has_room(shapes, self._ahead.room)
        for shape in np.flatnonzero(found).tolist():
            found[shape] = self._ahead.fits_now(shape)
        return found
