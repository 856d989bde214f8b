# SPDX-License-Identifier: Apache-2.0
"""The tasks of each user: INRIA RR-7837, section 4.3, and those of a log.

Units: seconds, MI, MiB, GiB.

Settled here, where the paper is silent: importances below 0, which its normal distributions allow, stay
as they are. f is slackness in seconds for an MI, although the paper calls it urgency.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import Array, Flags, Values
from nova_market.core.tender.negotiation import BagTasks

MEAN_WORK = 1e6
SLACKNESS = (0.001, 0.01, 0.1, 10.0, 100.0)
MEMORY = (10.0, 20.0, 30.0, 40.0, 50.0)
DISK = (10.0, 20.0, 30.0, 50.0, 60.0, 100.0)
HIGH_PART = 0.2
HIGH = (100.0, 50.0)
LOW = (10.0, 5.0)
"""Mean and standard deviation of the importance of the two kinds."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UserTasks:
    """Of one user, in order of arrival. All (tasks,). high: of high importance"""

    arrival: Array
    work: Array
    memory_mib: Array
    disk_gib: Array
    deadline: Array
    importance: Array
    high: Flags

    def __len__(self) -> int:
        return len(self.arrival)

    @property
    def bag(self) -> BagTasks:
        """What the negotiation reads of them."""
        return BagTasks(work=self.work, deadline=self.deadline, importance=self.importance)


Gaps = Sequence[tuple[float, float]]
"""(from when on, mean seconds between tasks)"""


def random_tasks(count: int, gaps: Gaps, rng: np.random.Generator) -> UserTasks:
    """So many tasks of one user."""
    arrival = arrivals(count, gaps, rng)
    work = np.maximum(rng.exponential(MEAN_WORK, count), 1.0)
    high = rng.random(count) < HIGH_PART
    mean, deviation = np.where(high[:, None], HIGH, LOW).T
    return UserTasks(
        arrival=arrival,
        work=work,
        memory_mib=rng.choice(MEMORY, count),
        disk_gib=rng.choice(DISK, count),
        deadline=arrival + work * rng.choice(SLACKNESS, count),
        importance=rng.normal(mean, deviation),
        high=high,
    )


def arrivals(count: int, gaps: Gaps, rng: np.random.Generator) -> Array:
    """A Poisson process whose rate changes at given times.

    Of unit exponentials, so that the same random numbers give the same tasks at any rate.
    """
    units = np.cumsum(rng.exponential(1.0, count))
    times = np.array([at for at, _ in gaps])
    rates = np.array([1.0 / gap for _, gap in gaps])
    passed = np.concatenate([[0.0], np.cumsum(np.diff(times) * rates[:-1])])
    row = np.searchsorted(passed, units, side='right') - 1
    arrived: Array = times[row] + (units - passed[row]) / rates[row]
    return arrived


def users_of(counts: Sequence[int], gaps: Sequence[Gaps], seed: int) -> list[UserTasks]:
    """One for each count, each with random numbers of its own."""
    seeds = np.random.SeedSequence(seed).spawn(len(counts))
    return [
        random_tasks(count, gap, np.random.default_rng(one))
        for count, gap, one in zip(counts, gaps, seeds, strict=True)
    ]


def total_work(users: Sequence[UserTasks]) -> float:
    """MI of all tasks."""
    return float(sum(one.work.sum() for one in users))


def numbers(users: Sequence[UserTasks]) -> Values:
    """(users,) tasks of each."""
    return np.array([len(one) for one in users], dtype=np.int64)
