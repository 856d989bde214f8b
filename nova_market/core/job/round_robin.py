# SPDX-License-Identifier: Apache-2.0
"""Production jobs by round robin over queues, within granted shares: repeated Algorithm 1 in one pass.

Implements Algorithm 1 of SVMSched (papers/svmsched.txt, section 5.4.1), repeated until it finds no job. It
chooses the first job, queue by queue and in each by rank, that has room and keeps its queue within the
share; if there is none, the first that has room, is over the share, and is short. Then the queue moves to
the end of the order. Settled (rule J3): "or" is read in line 11, the *first* short
job over the share is kept.

Why one pass does it: starting a job only takes room and adds to the use of a queue. A job that has no room,
or would exceed the share, stays so. So each queue needs one position that moves forward for the jobs within
the share, and, once no queue has any of those, a second one for the short jobs over it. A literal
transcription of the algorithm is the oracle of the tests.

Units and shapes as in columns.py; use as in share_use.py.
"""

from collections import deque
from dataclasses import replace

import numpy as np

from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.queue_order import served
from nova_market.core.job.reason import ReasonCode
from nova_market.core.job.room import Room, Spot, placement_of
from nova_market.core.job.shape import shapes_of
from nova_market.core.job.share_use import ROUNDING, after_starting, demand, used
from nova_market.core.job.waiting_reasons import Reasons
from nova_market.core.resource import Array, Flags, Rows


def long_jobs(seen: JobSnapshot) -> Flags:
    """Jobs that may run for longer than their queue's `short_below`, (jobs,); without a time limit: long."""
    long: Flags = seen.waiting.time_limit > seen.queues.short_below[seen.waiting.queue]
    return long


def round_robin(seen: JobSnapshot, bound: Flags) -> Selection:
    """Algorithm 1, repeated. bound: jobs that may not exceed the share of their queue, (jobs,)."""
    waiting, queues, hosts = seen.waiting, seen.queues, seen.hosts
    room = Room(hosts.free, hosts.aggregates, seen.settings.host_choice)
    use = used(seen.running, queues, hosts)
    added = demand(waiting, queues, hosts)
    granted = queues.share[waiting.queue] + ROUNDING
    aggregate = queues.aggregate[waiting.queue]
    possible = seen.candidates & ((after_starting(use, added, waiting.queue) <= granted) | ~bound)
    most = room.most_free()
    for axis, amount in enumerate(waiting.amount):
        possible &= amount <= most[axis, aggregate]
    run = _Run(seen, np.flatnonzero(possible), added, use, room)
    run.within_the_share()
    run.short_jobs_over_it(bound)
    reasons = Reasons(len(waiting))
    left = seen.candidates.copy()
    left[run.starts] = False
    rows = np.flatnonzero(left)
    part = after_starting(run.use, added[:, rows], waiting.queue[rows])
    over = bound[rows] & (part > granted[rows])
    short = ~long_jobs(seen)[rows[over]]
    reasons.give(
        rows[over], ReasonCode.SHARE, part[over], queues.share[waiting.queue[rows[over]]], short
    )
    reasons.lack_of_room(rows[~over], waiting, queues, hosts, room)
    return Selection(
        starts=np.array(run.starts, dtype=np.intp),
        placement=placement_of(run.starts, run.spots),
        code=reasons.code,
        numbers=reasons.numbers,
        state=replace(seen.state, order=served(seen.state.order, run.queues)),
    )


class _Run:
    """Jobs in the order of their ranks, as lists: a scan looks at single numbers, where lists are faster."""

    def __init__(self, seen: JobSnapshot, rows: Rows, added: Array, use: Array, room: Room) -> None:
        waiting, queues = seen.waiting, seen.queues
        self.use = use
        self.starts: list[int] = []
        self.spots: list[Spot] = []
        self.queues: list[int] = []
        self._seen, self._room, self._order = seen, room, seen.state.order.tolist()
        queue = waiting.queue[rows]
        # the sort is stable: equal ones stay in the order of their rows
        by_rank = np.lexsort(
            (waiting.submitted[rows], -waiting.weight[rows], waiting.priority[rows], queue)
        )
        rows, queue = rows[by_rank], queue[by_rank]
        shape, first = shapes_of(
            waiting.amount[:, rows], waiting.servers[rows], queues.aggregate[queue]
        )
        self._full = bytearray(len(first))
        self._shape: list[int] = shape.tolist()
        self._rows: list[int] = rows.tolist()
        self._cores: list[float] = added[0, rows].tolist()
        self._memory: list[float] = added[1, rows].tolist()
        ends = np.searchsorted(queue, np.arange(len(queues) + 1))
        self._begin: list[int] = ends[:-1].tolist()
        self._end: list[int] = ends[1:].tolist()

    def within_the_share(self) -> None:
        """Start jobs in turn, one of each queue, until no queue has one that keeps within its share."""
        limit = (self._seen.queues.share + ROUNDING).tolist()
        position = list(self._begin)
        turn = deque(queue for queue in self._order if position[queue] < self._end[queue])
        while turn:
            queue = turn.popleft()
            if self._start_next(queue, position, limit[queue], None):
                turn.append(queue)

    def short_jobs_over_it(self, bound: Flags) -> None:
        """Then those that the share does not bind; all that are left are over it."""
        unbound = ~bound
        unbound[self.starts] = False
        free: list[bool] = unbound[self._rows].tolist()
        if not any(free):
            return
        position = list(self._begin)
        order = served(self._seen.state.order, self.queues).tolist()
        turn = deque(queue for queue in order if position[queue] < self._end[queue])
        while turn:
            queue = turn.popleft()
            if self._start_next(queue, position, np.inf, free):
                turn.append(queue)

    def _start_next(
        self, queue: int, position: list[int], limit: float, chosen: list[bool] | None
    ) -> bool:
        """Start the first job from `position` on that has room and keeps the use within the limit."""
        used_cores, used_memory = self.use[:, queue].tolist()
        full, shape, end = self._full, self._shape, self._end[queue]
        cores, memory, here = self._cores, self._memory, position[queue]
        found = False
        while here < end and not found:
            if (
                not full[shape[here]]
                and used_cores + cores[here] <= limit
                and used_memory + memory[here] <= limit
                and (chosen is None or chosen[here])
            ):
                found = self._place(queue, here)
            here += 1
        position[queue] = here
        return found

    def _place(self, queue: int, here: int) -> bool:
        """Start this job; False when there is no room, and then for none of its shape."""
        row, waiting = self._rows[here], self._seen.waiting
        amount = waiting.amount[:, row]
        aggregate = int(self._seen.queues.aggregate[queue])
        spot = self._room.spot(amount, int(waiting.servers[row]), aggregate)
        if spot is None:
            self._full[self._shape[here]] = True
            return False
        self._room.take(amount, spot)
        self.use[:, queue] += (self._cores[here], self._memory[here])
        self.starts.append(row)
        self.spots.append(spot)
        self.queues.append(queue)
        return True
