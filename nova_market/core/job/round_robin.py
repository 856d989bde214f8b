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
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from nova_market.core.job.in_order import has_room
from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.queue_order import served
from nova_market.core.job.reason import ReasonCode
from nova_market.core.job.room import Room, Spot, placement_of
from nova_market.core.job.share_use import ROUNDING, after_starting, demand, used
from nova_market.core.job.waiting_reasons import Reasons, too_large
from nova_market.core.resource import Array, Flags, Rows


def long_jobs(seen: JobSnapshot) -> Flags:
    """Jobs that may run for longer than their queue's `short_below`, (jobs,); without a time limit: long."""
    long: Flags = seen.waiting.time_limit > seen.queues.short_below[seen.waiting.queue]
    return long


def round_robin(seen: JobSnapshot, bound: Flags) -> Selection:
    """Algorithm 1, repeated. bound: jobs that may not exceed the share of their queue, (jobs,)."""
    waiting, queues, hosts, shapes = seen.waiting, seen.queues, seen.hosts, seen.shapes
    room = Room(hosts.free, hosts.aggregates, seen.settings.host_choice)
    use = used(seen.running, queues, hosts)
    added = demand(shapes, hosts)
    granted = queues.share + ROUNDING
    possible = seen.candidates & has_room(shapes, room)[shapes.of]
    rows = np.flatnonzero(possible)
    part = after_starting(use, added[:, shapes.of[rows]], waiting.queue[rows])
    turns = _Turns(seen, use, added, room)
    turns.serve(rows[part <= granted[waiting.queue[rows]]], granted.tolist())
    unbound = rows[~bound[rows]]
    turns.serve(unbound[~np.isin(unbound, turns.starts)], [np.inf] * len(queues))
    reasons = Reasons(len(waiting))
    left = seen.candidates.copy()
    left[turns.starts] = False
    rows = np.flatnonzero(left)
    queue = waiting.queue[rows]
    part = after_starting(turns.use, added[:, shapes.of[rows]], queue)
    # a share of everything binds nobody: there is no room then
    over = bound[rows] & (part > granted[queue]) & (queues.share[queue] < 1.0)
    over &= ~too_large(shapes, hosts)[shapes.of[rows]]
    reasons.lack_of_room(rows[~over], shapes, hosts, room)
    short = waiting.time_limit[rows[over]] <= queues.short_below[queue[over]]
    reasons.give(rows[over], ReasonCode.SHARE, part[over], queues.share[queue[over]], short)
    return Selection(
        starts=np.array(turns.starts, dtype=np.intp),
        placement=placement_of(turns.starts, turns.spots),
        code=reasons.code,
        numbers=reasons.numbers,
        state=replace(seen.state, order=turns.order()),
    )


class _Turns:
    """Queues in turn. Jobs are lists here: a scan looks at single numbers, where lists are faster."""

    def __init__(self, seen: JobSnapshot, use: Array, added: Array, room: Room) -> None:
        self.use = use
        self.starts: list[int] = []
        self.spots: list[Spot] = []
        self._served: list[int] = []
        self._seen, self._room, self._added = seen, room, added
        self._cores: list[float] = added[0].tolist()
        self._memory: list[float] = added[1].tolist()
        self._full = np.zeros(len(seen.shapes), dtype=np.bool_)
        self._live = 0

    def order(self) -> Rows:
        """Of queues, the next one to be served first."""
        return served(self._seen.state.order, self._served)

    def serve(self, rows: Rows, limit: list[float]) -> None:
        """Start one job of each queue in turn while its use stays within the limit, until nothing starts.

        rows: jobs that may start; limit: of each queue
        """
        rows = rows[~self._full[self._seen.shapes.of[rows]]]
        present = np.bincount(self._seen.shapes.of[rows], minlength=len(self._full))
        self._live = int(np.count_nonzero(present))
        queue = self._seen.waiting.queue[rows]
        rows = rows[np.argsort(queue, kind='stable')]
        ends = np.cumsum(np.bincount(queue, minlength=len(self.use[0])))
        begins = ends - np.bincount(queue, minlength=len(ends))
        order = self.order()
        turn = deque(order[begins[order] < ends[order]].tolist())
        lines: dict[int, Iterator[tuple[int, int]]] = {}
        while turn and self._live:
            one = turn.popleft()
            if one not in lines:
                lines[one] = self._by_rank(rows[begins[one] : ends[one]])
            if self._start_next(one, lines[one], limit[one]):
                turn.append(one)

    def _by_rank(self, rows: Rows) -> Iterator[tuple[int, int]]:
        """(job, its shape) of one queue; rows ascend, so that the sort leaves ties in their order."""
        waiting = self._seen.waiting
        keys = (waiting.submitted[rows], -waiting.weight[rows], waiting.priority[rows])
        ranked = rows[np.lexsort(keys)]
        return zip(ranked.tolist(), self._seen.shapes.of[ranked].tolist(), strict=True)

    def _start_next(self, queue: int, line: Iterator[tuple[int, int]], limit: float) -> bool:
        """Start the next job of the line that has room and keeps the use within the limit."""
        used_cores, used_memory = self.use[:, queue].tolist()
        full, cores, memory = self._full, self._cores, self._memory
        for job, shape in line:
            if (
                used_cores + cores[shape] <= limit
                and used_memory + memory[shape] <= limit
                and not full[shape]
                and self._place(queue, job, shape)
            ):
                return True
            if not self._live:
                return False
        return False

    def _place(self, queue: int, job: int, shape: int) -> bool:
        """Start this job; False when there is no room, and then for none of its shape."""
        shapes = self._seen.shapes
        amount = shapes.amount[:, shape]
        spot = self._room.spot(amount, int(shapes.servers[shape]), int(shapes.aggregate[shape]))
        if spot is None:
            self._full[shape] = True
            self._live -= 1
            return False
        self._room.take(amount, spot)
        self.use[:, queue] += self._added[:, shape]
        self.starts.append(job)
        self.spots.append(spot)
        self._served.append(queue)
        return True
