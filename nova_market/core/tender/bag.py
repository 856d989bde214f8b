# SPDX-License-Identifier: Apache-2.0
"""What is kept of a bag of tasks from its creation to its last result, and of each task.

Implements INRIA RR-7837, section 3.5.2, and rule T5 of doc/source/specs/tender.rst. Units: seconds since the
epoch, seconds, micro-credits.

Two write a bag: its owner, through the API, and the service of jobs, which negotiates. A task that is being
taken has an offer of its own, stored with that decision: whoever finds it so releases the offer, and knows
then that nobody accepts it any more, or finds the job of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np
from numpy.typing import NDArray

from nova_market.core.ledger.money import MONEY
from nova_market.core.resource import Array, Rows
from nova_market.core.row_check import COUNT, TIME, Bounds
from nova_market.core.tender.negotiation import BagTasks, Order, Strategy
from nova_market.core.tender.utility import Utility

MAX_TASKS = 10_000
"""Of one bag, where the operator sets no other number."""

MAX_EVENTS = 10_000
"""Events that are kept of one bag; the oldest go first."""

MAX_IMPORTANCE = 1e9
POLL_SECONDS = 500.0
"""INRIA RR-7837, section 4.3: between two tries where nothing ends."""

SHORTEST_POLL, LONGEST_POLL = 10.0, 604_800.0
BAG = ''
"""Stands for the bag itself, in the place of a task of an event."""


class BagState(StrEnum):
    FILLING = 'filling'
    """More tasks are to come; nothing is negotiated yet."""

    OPEN = 'open'
    CANCELLED = 'cancelled'
    """Nothing is negotiated any more; its jobs go on, or are being cancelled."""

    DONE = 'done'
    """All of its tasks have ended."""


class TaskState(StrEnum):
    """Where a task is. The last four have ended."""

    WAITING = 'waiting'
    TAKING = 'taking'
    """An offer is to be accepted: the decision is stored."""

    PLACED = 'placed'
    """It has a job, which has not ended."""

    DONE = 'done'
    FAILED = 'failed'
    """Its job has failed."""

    DROPPED = 'dropped'
    """It has got no place: it cannot be in time any more, or is not tried again."""

    CANCELLED = 'cancelled'


LIVE = (TaskState.WAITING, TaskState.TAKING, TaskState.PLACED)


class BagAction(StrEnum):
    """What happened to a bag or to a task of it."""

    CREATED = 'created'
    CHANGED = 'changed'
    CANCELLED = 'cancelled'
    REFUSED = 'refused'
    """No suitable offer; it waits."""

    GONE = 'gone'
    """An offer could not be honoured any more; another one is tried."""

    PLACED = 'placed'
    DROPPED = 'dropped'
    DONE = 'done'
    FAILED = 'failed'
    ENDED = 'ended'
    STOPPED = 'stopped'
    """Its user may not act in the project any more: it waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBag:
    """A bag.

    roles:     of who created it, as they were then: it acts with those of them that he has still
    queues:    ids of those that are asked, in this order
    budget:    most that all of its tasks may cost together; None: what the project has
    defaults:  entries that its tasks have where they give none
    digest:    of the first request: the same key with another request is refused
    reason:    why nothing can be had now; '': nothing hinders it
    cancel_jobs: its jobs are to be cancelled
    round_at:  when all that wait began to be tried; 0: nothing is being tried
    next_at:   when they are tried next; 0: none waits
    again:     a task has ended since they began to be tried: when all were, they are tried once more
    """

    id: str
    project_id: str
    user_id: str
    roles: tuple[str, ...] = ()
    name: str = ''
    queues: tuple[str, ...]
    utility: str = 'cost_time'
    weight: float = 0.5
    order: Order = Order.RISK
    retry: bool = True
    alternatives: bool = True
    poll: float = POLL_SECONDS
    budget: int | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ''
    state: BagState = BagState.OPEN
    reason: str = ''
    cancel_jobs: bool = False
    round_at: float = 0.0
    next_at: float = 0.0
    again: bool = False
    created_at: float = 0.0
    changed_at: float = 0.0
    ended_at: float = 0.0
    number: int = 0
    """Order of creation; marker of the next page. 0: not stored yet."""


BAG_BOUNDS: Bounds = {
    'weight': (0.0, 1.0),
    'budget': MONEY,
    **dict.fromkeys(('poll', 'round_at', 'next_at', 'created_at', 'changed_at', 'ended_at'), TIME),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTask:
    """A task of a bag.

    row:        from 0 in the order of the request
    flavors:    that would do, of each queue that has them; (): all of a queue
    deadline:   0: none
    content:    digest of what its job runs, but for the environment
    why:        a NoDeal, of the last try; reason: with numbers
    tries:      how often an offer was taken for it; tried_at: when it was tried last
    queue_id to cost: of the offer that is or was accepted; cost: at most, 0 in a queue of its own project
    spent:      what its job was charged, less what came back
    """

    bag_id: str
    row: int
    name: str
    flavors: tuple[str, ...] = ()
    time_limit: int
    deadline: float = 0.0
    importance: float = 1.0
    environment: Mapping[str, str] = field(default_factory=dict)
    content: str = ''
    state: TaskState = TaskState.WAITING
    why: str = ''
    reason: str = ''
    tries: int = 0
    tried_at: float = 0.0
    queue_id: str = ''
    offer_id: str = ''
    job_id: str = ''
    cost: int = 0
    spent: int = 0
    due_at: float = 0.0
    ended_at: float = 0.0


TASK_BOUNDS: Bounds = {
    'importance': (0.0, MAX_IMPORTANCE),
    **dict.fromkeys(('cost', 'spent'), MONEY),
    **dict.fromkeys(('time_limit', 'deadline', 'tried_at', 'due_at', 'ended_at'), TIME),
    **dict.fromkeys(('row', 'tries'), COUNT),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BagEvent:
    """One thing that happened. task: its name, BAG for the bag itself; number: grows with time."""

    bag_id: str
    at: float
    action: str
    task: str = BAG
    reason: str = ''
    numbers: Mapping[str, float] = field(default_factory=dict)
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitingTasks:
    """Those that wait, by row, as columns of one length.

    group: tasks of one group are equal in `kinds[group]`: (flavors, time limit); one answer does for them
    why:   of the last try; '': not tried yet
    unread: tasks that wait and cannot be read; they are none of these
    """

    row: Rows
    names: Sequence[str]
    why: Sequence[str]
    tasks: BagTasks
    tried_at: Array
    group: NDArray[np.int64]
    kinds: tuple[tuple[tuple[str, ...], int], ...]
    unread: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BagProgress:
    """counts: of tasks by state; of those that are placed `queued` have a job that waits, `running` the rest

    why:       how many wait or were dropped for each NoDeal
    committed: most that the placed ones may cost; spent: what the ended ones have cost
    succeeded, failed: sum of the importance of tasks that are done, and of those that ended otherwise
    """

    counts: Mapping[TaskState, int] = field(default_factory=dict)
    queued: int = 0
    why: Mapping[str, int] = field(default_factory=dict)
    committed: int = 0
    spent: int = 0
    succeeded: float = 0.0
    failed: float = 0.0

    @property
    def tasks(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class BagFilter:
    """Which bags to list; None: all."""

    project_id: str | None = None
    states: tuple[BagState, ...] = ()
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChange:
    """Columns of tasks that are in `before`; others stay as they are. tries: None: whatever they have"""

    rows: tuple[int, ...]
    before: TaskState
    changed: Mapping[str, Any]
    tries: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BagStep:
    """What the service writes of a bag, in one transaction."""

    bag_id: str
    changed: Mapping[str, Any] = field(default_factory=dict)
    """Columns of an open bag, unless its owner has changed it since it was `seen`."""

    seen: float | None = None
    tasks: tuple[TaskChange, ...] = ()
    events: tuple[BagEvent, ...] = ()


def strategy_of(bag: StoredBag, utility: Utility) -> Strategy:
    """How it negotiates. The size of a task is in seconds, so its fastest PE takes a second for each."""
    return Strategy(
        utility=utility,
        weight=bag.weight,
        order=bag.order,
        retry=bag.retry,
        alternatives=bag.alternatives,
        poll=bag.poll,
        seconds_per_work=1.0,
    )


def request_id_of(bag_id: str, row: int, tries: int) -> str:
    """Of the offer that is taken for a task at one try; its job's id follows from it."""
    return str(uuid5(NAMESPACE_URL, f'market:bag:{bag_id}/{row}/{tries}'))


def offer_id_of(bag_id: str, row: int, tries: int) -> str:
    return str(uuid5(NAMESPACE_URL, f'market:bag-offer:{bag_id}/{row}/{tries}'))
