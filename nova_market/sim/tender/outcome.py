# SPDX-License-Identifier: Apache-2.0
"""What came of a run: each task, the counts and prices of each period, and figures of both.

Units: seconds, PEs, micro-credits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import Array, Flags, Values
from nova_market.core.tender.negotiation import NoDeal
from nova_market.sim.tender.cloud import Cloud
from nova_market.sim.tender.user import State, User


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """At the end of a period: PEs of workers, tasks that run, that wait for a PE; price of work by cloud"""

    time: float
    allocated: int
    running: int
    waiting: int
    prices: tuple[float, ...]

    @classmethod
    def of(cls, now: float, clouds: Sequence[Cloud]) -> 'Sample':
        counts = np.array([cloud.counts(now) for cloud in clouds]).sum(axis=0)
        allocated, running, waiting = (int(one) for one in counts)
        return cls(
            time=now,
            allocated=allocated,
            running=running,
            waiting=waiting,
            prices=tuple(float(cloud.prices[0]) for cloud in clouds),
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Outcome:
    """Tasks of all users, user after user. All (tasks,) but those below.

    ended:   when a task was done or had failed; NaN if the run ended before
    refused: of the first try of each task, by reason; failed_why: of tasks that failed
    gone:    acceptances that could not be honoured
    """

    user: Values
    done: Flags
    failed: Flags
    ended: Array
    importance: Array
    high: Flags
    work: Array
    refused: dict[NoDeal, int]
    failed_why: dict[NoDeal, int]
    paid: tuple[int, ...]
    samples: Sequence[Sample]
    requests: int
    gone: int
    end: float

    @classmethod
    def of(
        cls, users: Sequence[User], samples: Sequence[Sample], requests: int, gone: int, end: float
    ) -> 'Outcome':
        state = np.concatenate([user.state for user in users])
        return cls(
            user=np.repeat(np.arange(len(users)), [len(user.tasks) for user in users]),
            done=state == State.DONE,
            failed=state == State.FAILED,
            ended=np.concatenate([user.ended for user in users]),
            importance=np.concatenate([user.tasks.importance for user in users]),
            high=np.concatenate([user.tasks.high for user in users]),
            work=np.concatenate([user.tasks.work for user in users]),
            refused=_summed([user.refused for user in users]),
            failed_why=_summed([user.failed_why for user in users]),
            paid=tuple(user.paid for user in users),
            samples=samples,
            requests=requests,
            gone=gone,
            end=end,
        )

    @property
    def success(self) -> float:
        """Part of the tasks that were done."""
        return float(self.done.mean())

    @property
    def won(self) -> float:
        """Importance of the tasks that were done."""
        return float(self.importance[self.done].sum())

    @property
    def lost(self) -> float:
        """Importance of the others."""
        return float(self.importance[~self.done].sum())


def _summed(tables: Sequence[dict[NoDeal, int]]) -> dict[NoDeal, int]:
    return {why: count for why in NoDeal if (count := sum(table.get(why, 0) for table in tables))}
