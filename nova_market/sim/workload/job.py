# SPDX-License-Identifier: Apache-2.0
"""Jobs of a batch workload as arrays, and the deadlines and budgets that experiments give them.

Implements the workload of Merkat (INRIA RR-8648), section 3.2.2: inter-arrival times scaled by a factor,
deadlines between 1.5 and 10 times the execution time, budgets inversely proportional to that factor.
Units: seconds; processors; MiB per processor; credits per period. Arrays (jobs,), in order of submission.

Not given in the paper: the law of the deadline factor (uniform here) and whether the budget is of the
application or of each of its tasks (of the application here).
"""

from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.resource import Array, Rows, Values
from nova_market.errors import BadWorkload

FACTORS = (1.5, 10.0)
"""Deadlines as multiples of the execution time, section 3.2.2."""

BASE_BUDGET = 2000.0
"""Credits per period, section 3.2.2."""

DONE = 1e-9
"""Seconds of work below which a job is done: rounding."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Workload:
    """number: names a job; estimate: the run time that a batch scheduler is given, at least `run`
    memory_mib: of each processor, NaN where it is not known
    """

    number: Values
    submit: Array
    run: Array
    processors: Values
    estimate: Array
    memory_mib: Array

    def __post_init__(self) -> None:
        for name in ('submit', 'run', 'processors', 'estimate', 'memory_mib'):
            if getattr(self, name).shape != self.number.shape:
                raise BadWorkload(f'{name} has another length than number')
        if len(self.number) and (np.diff(self.submit) < 0).any():
            row = int(np.argmax(np.diff(self.submit) < 0)) + 1
            raise BadWorkload(f'job {self.number[row]} was submitted before the one in front of it')
        if (self.processors < 1).any() or not (self.run >= 0).all():
            row = int(np.argmax((self.processors < 1) | ~(self.run >= 0)))
            raise BadWorkload(
                f'job {self.number[row]} has {self.processors[row]} processors for {self.run[row]:g} s: '
                'give at least 1 processor and 0 s'
            )

    def __len__(self) -> int:
        return len(self.number)

    def take(self, rows: Rows) -> 'Workload':
        """Some jobs, in the order of rows."""
        return Workload(**{name: getattr(self, name)[rows] for name in self.__slots__})

    def first(self, count: int) -> 'Workload':
        return self.take(np.arange(min(count, len(self))))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Terms:
    """What users want and pay: deadline in seconds of the run, budget in credits per period."""

    deadline: Array
    budget: Array


def scaled(workload: Workload, factor: float) -> Workload:
    """Inter-arrival times times `factor`, from 0 s on: 0.1 is ten times the load."""
    if not factor > 0:
        raise BadWorkload(f'inter-arrival times scaled by {factor:g}: give more than 0')
    began = workload.submit[0] if len(workload) else 0.0
    return replace(workload, submit=(workload.submit - began) * factor)


def fitting(workload: Workload, processors: int) -> Workload:
    """Without the jobs that are wider than the machine."""
    return workload.take(np.flatnonzero(workload.processors <= processors))


def terms(
    workload: Workload,
    rng: np.random.Generator,
    factors: tuple[float, float] = FACTORS,
    base: float = BASE_BUDGET,
) -> Terms:
    """Deadline factor f uniform in `factors`; deadline = submit + f * run, budget = base / f."""
    factor = rng.uniform(*factors, len(workload))
    return Terms(deadline=workload.submit + factor * workload.run, budget=base / factor)


def offered_load(workload: Workload, processors: int) -> float:
    """Work / (processors * span of the submissions); inf when all come at once."""
    span = float(np.ptp(workload.submit)) if len(workload) else 0.0
    work = float((workload.run * workload.processors).sum())
    return work / (processors * span) if span > 0 else np.inf
