# SPDX-License-Identifier: Apache-2.0
"""What a job policy gets, and what it decides: the plug-ins of `nova_market.job_policy` (rule J3).

A policy is a function (JobSnapshot) -> Selection. It chooses which *production* jobs start now, and where.
It is pure: the same snapshot gives the same selection, ties break on the row. What all policies share is in
core.job.selection: which jobs are candidates, preemption, and best-effort jobs [5.1.2].

What a policy keeps to:
- it starts candidates only, each once
- all servers of a job are placed, on hosts of its queue's aggregate, within `hosts.free`
- a candidate that it leaves waiting has a reason; ROOM or GANG: it would start if there were room

For preemption the policy is called again, with the room of best-effort jobs added to `hosts.free`. The jobs
that it starts only then are those for which others are preempted.

Units, shapes and rows as in columns.py.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.calendar import Calendar
from nova_market.core.job.columns import (
    Hosts,
    Owners,
    Placement,
    Queues,
    RunningJobs,
    WaitingJobs,
    check_rows,
)
from nova_market.core.job.pe_line import Line
from nova_market.core.job.reason import WIDTH
from nova_market.core.job.shape import Shapes, shapes_of
from nova_market.core.resource import Array, Flags, Rows, Values
from nova_market.errors import BadSnapshot


class HostChoice(StrEnum):
    """Which of the hosts with room a server gets."""

    FIRST_FIT = 'first_fit'
    """The first in the order of rows: the greedy choice of the paper [4.2.3]."""
    BEST_FIT = 'best_fit'
    """The one with the least cores left, then memory, then the first: keeps room for wide jobs."""


class PreemptOrder(StrEnum):
    """Which best-effort jobs are preempted first."""

    NEWEST = 'newest'
    """Started last: it has least to lose [5.1.2]."""
    OLDEST = 'oldest'
    LEAST_LOST = 'least_lost'
    """Fewest core-seconds since its start or checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """What the operator sets for all policies.

    host_choice: which of the hosts with room a server gets
    preempt_order: which best-effort jobs are preempted first
    reservations_per_queue: jobs of each queue that have a reservation under `conservative`, and jobs for
        which an expected start is computed under any policy; what is behind them has none
    most_reservations: of all queues together, in one pass; a reservation takes about half a millisecond in
        a cloud of 1,000 hosts
    most_looks: jobs for which it is looked up, in one pass, whether they would delay a reservation; a look
        takes as long as a reservation
    """

    host_choice: HostChoice = HostChoice.FIRST_FIT
    preempt_order: PreemptOrder = PreemptOrder.NEWEST
    reservations_per_queue: int = 8
    most_reservations: int = 48
    most_looks: int = 48


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PolicyState:
    """What is carried from pass to pass; the caller stores it by ids (core.job.queue_order).

    order: rows of all queues; the next one to be served is first (round robin [5.2.1])
    """

    order: Rows


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JobSnapshot:
    """All that a pass may know.

    candidates: (waiting jobs,): those that the policy may start; core.job.selection takes out of them those
        that are held, not yet allowed to start, best-effort, or of a queue with another policy
    calendar: hosts in the same rows; None where nothing but jobs is booked.
        It has the bookings of all but jobs (leases, plain servers); a policy that looks ahead adds those of
        `running`, because preemption asks it what it would do without some of them
    lines: of tender queues, with what was promised of their workers (policy `tender`)
    known_shapes: of the waiting jobs; made here unless they are given
    price: of one unit of each axis for one second, micro-credits, (AXES,); 0 without a market
    """

    now: float
    waiting: WaitingJobs
    running: RunningJobs
    queues: Queues
    owners: Owners
    hosts: Hosts
    state: PolicyState
    candidates: Flags
    calendar: Calendar | None = None
    price: Array = field(default_factory=lambda: np.zeros(len(AXES)))
    settings: JobSettings = field(default_factory=JobSettings)
    lines: tuple[Line, ...] = ()
    known_shapes: Shapes | None = None

    def __post_init__(self) -> None:
        check_rows(self.waiting, self.running, self.queues, self.owners, self.hosts)
        if self.candidates.shape != (len(self.waiting),):
            raise BadSnapshot(
                f'candidates has the shape {self.candidates.shape}; ({len(self.waiting)},) is needed'
            )
        if sorted(self.state.order.tolist()) != list(range(len(self.queues))):
            raise BadSnapshot(f'order is no permutation of the rows of {len(self.queues)} queues')
        if self.price.shape != (len(AXES),):
            raise BadSnapshot(f'price has the shape {self.price.shape}; ({len(AXES)},) is needed')
        known = self.known_shapes
        if known is None or known.waiting is not self.waiting or known.queues is not self.queues:
            # once for all snapshots of a pass, which are replaced from this one
            object.__setattr__(self, 'known_shapes', shapes_of(self.waiting, self.queues))

    @property
    def shapes(self) -> Shapes:
        """Shapes of the waiting jobs."""
        assert self.known_shapes is not None
        return self.known_shapes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Selection:
    """What a policy decides.

    starts: rows of waiting jobs, in the order in which they were chosen
    placement: where their servers go; `job` is the row of the waiting job
    code, numbers: ReasonCode of each waiting job, (waiting jobs,), and its numbers, (waiting jobs, WIDTH);
        NONE for those that start and those that are no candidates
    state: for the next pass
    expected_start: of each waiting job, (waiting jobs,), NaN where it is not known; None: not computed
    """

    starts: Rows
    placement: Placement
    code: Values
    numbers: Array
    state: PolicyState
    expected_start: Array | None = None

    def __post_init__(self) -> None:
        jobs = len(self.code)
        if self.numbers.shape != (jobs, WIDTH):
            raise BadSnapshot(
                f'numbers has the shape {self.numbers.shape}; ({jobs}, {WIDTH}) is needed'
            )


JobPolicy = Callable[[JobSnapshot], Selection]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Preemptions:
    """(preemptions,): best-effort jobs that are ordered to end, in that order.

    victim: row in RunningJobs; displacer: row in WaitingJobs of the job that gets the room, and pays for it
    lost: core-seconds of the victim since its start or its last checkpoint; 0 when it keeps its work
    """

    victim: Rows
    displacer: Rows
    lost: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JobPlan:
    """What one pass decides: production and best-effort jobs that start, and jobs that are preempted.

    Fields as in Selection. A job for which others are preempted has the reason ROOM_IS_MADE; it starts in a
    later pass, when its room is free.
    """

    starts: Rows
    placement: Placement
    preemptions: Preemptions
    code: Values
    numbers: Array
    state: PolicyState
    expected_start: Array | None = None


def parameters_of(policy: Callable[..., Selection]) -> frozenset[str] | None:
    """What a queue may set of a policy: its keyword-only arguments. None: it takes any, and checks them."""
    arguments = inspect.signature(policy).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in arguments):
        return None
    return frozenset(one.name for one in arguments if one.kind is one.KEYWORD_ONLY)
