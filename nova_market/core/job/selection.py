# SPDX-License-Identifier: Apache-2.0
"""One pass over all queues: what starts now, what is preempted, and why the others wait.

Implements the workflow of SVMSched's scheduling module (section 4.2.2) with rules J3, J4, J6, J10. In order:

1. jobs for which others were preempted in an earlier pass, before all others
2. production jobs, as the policy of their queue chooses; several policies: in the order of their queues
3. preemption for production jobs that wait for room only
4. the same three for queues without a share, where nobody who keeps his share waits (rule J10)
5. best-effort jobs by submission, backfilled, into what is left [5.1.2, 5.2.3]

Room that becomes free soon (of jobs that have been ordered to end) is held for the production jobs that fit
into it: nothing is preempted for them once more, and no best-effort job takes it from them.

Differs from the paper: there a preempted job is gone at once. Here it has a notice, so that the job for
which it goes starts in a later pass. The paper serves best-effort queues by round robin (section 5.2.1); here
all best-effort jobs stand in one line.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nova_market.core.job.columns import Placement
from nova_market.core.job.in_order import by_submission, started_in_order
from nova_market.core.job.policy_interface import (
    JobPlan,
    JobPolicy,
    JobSnapshot,
    Preemptions,
    Selection,
)
from nova_market.core.job.preemption import Victims, preemptions, preference
from nova_market.core.job.reason import ReasonCode
from nova_market.core.job.room import Room, Spot, joined, placement_of, room_of
from nova_market.core.job.share_keeping import (
    begun,
    held_up,
    keeping_shares,
    over_share,
    without_share,
)
from nova_market.core.job.started import after, without_running
from nova_market.core.job.waiting_reasons import Reasons
from nova_market.core.resource import Array, Flags, Rows


def decide(seen: JobSnapshot, policies: Sequence[JobPolicy]) -> JobPlan:
    """The plan of one pass. policies: one for each number in `queues.policy`."""
    run = _Pass(seen, [keeping_shares(one) for one in policies])
    run.serve()
    if run.turn_to_the_rest():
        run.serve()
    run.best_effort()
    return run.plan()


def may_start(seen: JobSnapshot) -> Flags:
    """Jobs that neither wait for others to end nor for a time, (jobs,)."""
    waiting = seen.waiting
    ready: Flags = (waiting.predecessors == 0) & (waiting.not_before <= seen.now)
    return seen.candidates & ready


class _Pass:
    """A pass so far: queues that have a share are served first.

    seen: with what was started or is held among `running`, and `hosts.free` less its room
    coming: room that becomes free soon and is held for nobody, (AXES, hosts)
    """

    def __init__(self, seen: JobSnapshot, policies: Sequence[JobPolicy]) -> None:
        self._policies, self._original = policies, seen
        ready = may_start(seen)
        production = ready & ~seen.waiting.best_effort
        self._best_effort = np.flatnonzero(ready & seen.waiting.best_effort)
        last = without_share(seen)
        self.seen = replace(seen, candidates=production & ~last)
        self._rest: Flags = production & last
        self._reasons = Reasons(len(seen.waiting))
        self._expected = np.full(len(seen.waiting), np.nan)
        self._starts: list[Rows] = []
        self._placements: list[Placement] = []
        self._chosen: list[tuple[int, int]] = []
        leaving = seen.running.leaving
        self.coming = self._room_of_running(leaving)

    def serve(self) -> None:
        """Everything for the candidates of this turn."""
        self.claims()
        self.production()
        self.preempt()

    def turn_to_the_rest(self) -> bool:
        """Queues without a share, as far as no job that keeps the share of its queue waits; are there any?"""
        seen, rest = self.seen, self._rest
        if not rest.any():
            return False
        over, part = over_share(seen)
        waits = held_up(seen, rest, over, self._reasons.code)
        rows = np.flatnonzero(waits)
        self._reasons.give(rows, ReasonCode.OTHERS_FIRST, part[rows])
        self.seen = replace(seen, candidates=rest & ~waits)
        return True

    def claims(self) -> None:
        """Jobs with a claim start, or their room is held."""
        for policy, rows in self._groups(self.seen.candidates & self.seen.waiting.claim):
            self._start(policy(replace(self.seen, candidates=rows)))
            left = rows & self.seen.candidates & ~self._promised()
            if left.any():
                held = policy(self._with_room(self.coming, left))
                self._hold(held.placement, held.starts)
                leaving = np.array([self._leaving_on(held, job) for job in held.starts], np.int64)
                self._reasons.give(held.starts, ReasonCode.ROOM_IS_MADE, leaving)

    def production(self) -> None:
        """What the policies choose."""
        for policy, rows in self._groups(self.seen.candidates):
            chosen = policy(replace(self.seen, candidates=rows))
            self._start(chosen)
            left = np.flatnonzero(rows & self.seen.candidates)
            self._reasons.code[left] = chosen.code[left]
            self._reasons.numbers[left] = chosen.numbers[left]
            if chosen.expected_start is not None:
                self._expected[left] = chosen.expected_start[left]

    def preempt(self) -> None:
        """Best-effort jobs go for those that lack room only; what comes free anyhow is used first.

        They go for jobs of queues with a share: anybody can have a queue without one (J10).
        """
        if self.coming.any():
            for policy, rows in self._groups(self._lacking()):
                soon = policy(self._with_room(self.coming, rows))
                self._hold(soon.placement, soon.starts)
        order = preference(self._original.running, self.seen.now, self.seen.settings.preempt_order)
        order = order[~np.isin(order, [victim for victim, _ in self._chosen])]
        if not len(order):
            return
        victims = Victims(self._original.running, order)
        waiting = self.seen.waiting
        may_displace = ~waiting.by_offer & (self.seen.queues.share[waiting.queue] > 0)
        for policy, rows in self._groups(self._lacking() & may_displace):
            gone = np.zeros(len(self._original.running), dtype=np.bool_)
            gone[order] = True
            extra = self.coming + self._room_of_running(gone)
            without = without_running(self._with_room(extra, rows), gone)
            order = self._preempt_for(policy(without).starts, victims, order)

    def best_effort(self) -> None:
        """First come, first served, with backfilling, outside the shares."""
        seen = self.seen
        rows = by_submission(self._best_effort, seen.waiting)
        room = Room(seen.hosts.free, seen.hosts.aggregates, seen.settings.host_choice)
        starts, spots = started_in_order(rows, seen.shapes, room)
        self._starts.append(np.array(starts, dtype=np.intp))
        self._placements.append(placement_of(starts, spots))
        left = np.zeros(len(seen.waiting), dtype=np.bool_)
        left[rows] = True
        left[starts] = False
        self._reasons.lack_of_room(np.flatnonzero(left), seen.shapes, seen.hosts, room)

    def plan(self) -> JobPlan:
        """The whole plan, with the reasons of jobs that were no candidates."""
        seen, waiting = self._original, self._original.waiting
        later = np.flatnonzero(seen.candidates & (waiting.not_before > seen.now))
        self._reasons.give(later, ReasonCode.NOT_BEFORE, waiting.not_before[later] - seen.now)
        held = np.flatnonzero(waiting.predecessors > 0)
        self._reasons.give(held, ReasonCode.HELD, waiting.predecessors[held])
        return JobPlan(
            starts=np.concatenate([np.zeros(0, np.intp), *self._starts]),
            placement=joined(self._placements),
            preemptions=self._preemptions(),
            code=self._reasons.code,
            numbers=self._reasons.numbers,
            state=self.seen.state,
            expected_start=None if np.isnan(self._expected).all() else self._expected,
        )

    def _groups(self, rows: Flags) -> list[tuple[JobPolicy, Flags]]:
        """The candidates of each policy; policies in the order of their first queue."""
        policy = self.seen.queues.policy
        numbers = list(dict.fromkeys(policy[self.seen.state.order].tolist()))
        of_job = policy[self.seen.waiting.queue]
        found = [(self._policies[number], rows & (of_job == number)) for number in numbers]
        return [(one, mine) for one, mine in found if mine.any()]

    def _lacking(self) -> Flags:
        """Candidates that would start if there were room."""
        code = self._reasons.code
        lacking: Flags = (code == ReasonCode.ROOM) | (code == ReasonCode.GANG)
        return self.seen.candidates & lacking

    def _promised(self) -> Flags:
        """Candidates by accepted offers of tender queues: they come first, and no room is held for them."""
        found = np.zeros(len(self.seen.waiting), dtype=np.bool_)
        for line in self.seen.lines:
            found[[*line.jobs, *line.new]] = True
        return found

    def _start(self, chosen: Selection) -> None:
        seen = begun(self.seen, chosen.placement, chosen.starts)
        self.seen = replace(seen, state=chosen.state)
        self._starts.append(chosen.starts)
        self._placements.append(chosen.placement)

    def _hold(self, placement: Placement, jobs: Rows) -> None:
        """Of the room that is or comes free, keep what these jobs need; they count as running."""
        held = after(self._with_room(self.coming, self.seen.candidates), placement, jobs)
        free = np.minimum(self.seen.hosts.free, held.hosts.free)
        self.coming = held.hosts.free - free
        self.seen = replace(held, hosts=replace(held.hosts, free=free))

    def _preempt_for(self, jobs: Rows, victims: Victims, order: Rows) -> Rows:
        """Preempt for each of these jobs that it helps; what may still be preempted afterwards."""
        seen, shapes = self.seen, self.seen.shapes
        free = seen.hosts.free + self.coming
        room = Room(free, seen.hosts.aggregates, seen.settings.host_choice)
        gone = np.zeros(len(self._original.running), dtype=np.bool_)
        helped: list[int] = []
        spots: list[Spot] = []
        for job, shape in zip(jobs.tolist(), shapes.of[jobs].tolist(), strict=True):
            amount = shapes.amount[:, shape]
            rest = int(shapes.servers[shape]), int(shapes.aggregate[shape])
            needed = victims.needed(room, amount, *rest)
            if needed is None:
                continue
            victims.remove(needed, room)
            spot = room.spot(amount, *rest)
            if spot is None:  # sums of fractions of cores may miss by 1e-16
                victims.restore(needed, room)
                continue
            # also by a job that needs nobody to go: what the victims of an earlier one leave is its own
            room.take(amount, spot)
            helped.append(job)
            spots.append(spot)
            if not needed:
                continue
            gone[needed] = True
            self._chosen += [(victim, job) for victim in needed]
            row = np.array([job], dtype=np.intp)
            self._reasons.give(row, ReasonCode.ROOM_IS_MADE, len(needed))
        self.coming = self.coming + self._room_of_running(gone)
        self._hold(placement_of(helped, spots), np.array(helped, dtype=np.intp))
        return order[~gone[order]]

    def _with_room(self, extra: Array, rows: Flags) -> JobSnapshot:
        hosts = replace(self.seen.hosts, free=self.seen.hosts.free + extra)
        return replace(self.seen, hosts=hosts, candidates=rows)

    def _room_of_running(self, jobs: Flags) -> Array:
        running = self._original.running
        spots = np.flatnonzero(jobs[running.placement.job])
        part = Placement(
            job=running.placement.job[spots],
            host=running.placement.host[spots],
            servers=running.placement.servers[spots],
        )
        return room_of(part, running.amount, len(self._original.hosts))

    def _leaving_on(self, held: Selection, job: int) -> int:
        """How many jobs are ordered to end on the hosts that are held for this one."""
        spots = self._original.running.placement
        hosts = held.placement.host[held.placement.job == job]
        there = np.isin(spots.host, hosts) & self._original.running.leaving[spots.job]
        return len(np.unique(spots.job[there]))

    def _preemptions(self) -> Preemptions:
        return preemptions(self._original.running, self._chosen, self.seen.now)
