# SPDX-License-Identifier: Apache-2.0
"""A user of the simulated tender: money, tasks and where each stands; core.tender.negotiation decides.

INRIA RR-7837, section 4.3. Units: seconds, micro-credits. What is promised to clouds for tasks that run
is committed, and is not spent twice; it is paid when the task has ended [3.1].
"""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from nova_market.core.resource import Array, Rows, Values
from nova_market.core.tender.acceptance import Terms
from nova_market.core.tender.negotiation import (
    BagTasks,
    Choice,
    NoDeal,
    Strategy,
    choice,
    next_alternative,
    turn,
)
from nova_market.core.tender.offer import Offers
from nova_market.core.tender.task import Task
from nova_market.sim.tender.workload import UserTasks


class State(IntEnum):
    """Of a task."""

    FUTURE = 0
    ASKING = 1
    """Offers are asked for, or one is accepted and not yet confirmed."""
    WAITING = 2
    RUNNING = 3
    """It has a place: it runs, or waits in the queue of a PE."""
    DONE = 4
    FAILED = 5


@dataclass(slots=True, eq=False)
class User:
    """refused: of the first try of each task, by reason; failed_why: of tasks that failed
    ended: (tasks,) when a task was done or had failed; NaN before
    """

    tasks: UserTasks
    strategy: Strategy
    balance: int
    committed: int = 0
    paid: int = 0
    state: Values = field(init=False)
    ended: Array = field(init=False)
    bag: BagTasks = field(init=False)
    open_tasks: int = field(init=False)
    refused: dict[NoDeal, int] = field(default_factory=dict)
    failed_why: dict[NoDeal, int] = field(default_factory=dict)
    kept: dict[int, Offers | None] = field(default_factory=dict)
    _tried: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        count = len(self.tasks)
        self.state = np.zeros(count, dtype=np.int64)
        self.ended = np.full(count, np.nan)
        self.bag = self.tasks.bag
        self.open_tasks = count

    @property
    def budget(self) -> int:
        """What is neither spent nor committed."""
        return self.balance - self.committed

    def task(self, row: int) -> Task:
        """As it is sent to clouds."""
        return Task(
            work=float(self.tasks.work[row]),
            memory_mib=float(self.tasks.memory_mib[row]),
            disk_gib=float(self.tasks.disk_gib[row]),
        )

    def next_task(self, now: float) -> int | None:
        """The waiting task that is tried now; those that are overdue fail."""
        waiting: Rows = np.flatnonzero(self.state == State.WAITING)
        if not len(waiting):
            return None
        step = turn(self.bag, waiting, now, self.strategy)
        for row in step.overdue.tolist():
            self._fail(row, NoDeal.OVERDUE, now)
        if step.row is not None:
            self.state[step.row] = State.ASKING
        return step.row

    def choose(self, row: int, offers: Offers, now: float) -> Terms | None:
        """The terms to accept; their cost is committed."""
        found = choice(
            offers,
            deadline=float(self.tasks.deadline[row]),
            budget=self.budget,
            now=now,
            strategy=self.strategy,
        )
        return self._settled(row, found, now)

    def refusal(self, row: int, terms: Terms, fresh: Offers, now: float) -> Terms | None:
        """The offer is gone: another one to accept instead, if there is one."""
        self.committed -= terms.cost
        found = next_alternative(
            self.kept.pop(row, None),
            fresh,
            deadline=float(self.tasks.deadline[row]),
            budget=self.budget,
            now=now,
            strategy=self.strategy,
        )
        return self._settled(row, found, now)

    def confirmed(self, row: int, terms: Terms, cost: int) -> None:
        """The task has a place, for this cost."""
        self.committed += cost - terms.cost
        self.kept.pop(row, None)
        self._tried.add(row)
        self.state[row] = State.RUNNING

    def done(self, row: int, cost: int, now: float) -> None:
        """It has ended: the cost is paid."""
        self.committed -= cost
        self.balance -= cost
        self.paid += cost
        self._end(row, State.DONE, now)

    def _settled(self, row: int, found: Choice, now: float) -> Terms | None:
        if found.terms is not None:
            self.committed += found.terms.cost
            self.kept[row] = found.alternatives
            return found.terms
        why = found.why or NoDeal.GONE
        if row not in self._tried:
            self._tried.add(row)
            self.refused[why] = self.refused.get(why, 0) + 1
        if self.strategy.retry:
            self.state[row] = State.WAITING
        else:
            self._fail(row, why, now)
        return None

    def _fail(self, row: int, why: NoDeal, now: float) -> None:
        self.failed_why[why] = self.failed_why.get(why, 0) + 1
        self._end(row, State.FAILED, now)

    def _end(self, row: int, state: State, now: float) -> None:
        self.state[row] = state
        self.ended[row] = now
        self.open_tasks -= 1
