# SPDX-License-Identifier: Apache-2.0
"""Cores in use over time, of each queue: what figures 5 to 7 of SVMSched plot.

Counts the cores of jobs that hold room on hosts, from the moment they are given it; a job of no duration
counts for none. Units: seconds, cores.
"""

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from nova_market.core.resource import Array, Flags
from nova_market.sim.job.outcome import Outcome
from nova_market.sim.job.submission import Submissions


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Use:
    """times: (steps,) when something changed; cores: (queues, steps) in use from then on"""

    times: Array
    cores: Array

    @property
    def total(self) -> Array:
        """(steps,) of all queues together."""
        total: Array = self.cores.sum(axis=0)
        return total

    def peak(self) -> int:
        """Most cores that all queues used together."""
        return int(self.total.max(initial=0.0))

    def peaks(self) -> list[int]:
        """Most cores that each queue used."""
        return [int(most) for most in self.cores.max(axis=1, initial=0.0)]

    def core_seconds(self) -> float:
        return float((self.total[:-1] * np.diff(self.times)).sum())

    def average(self) -> float:
        """Mean over time of the cores of all queues together, from the first change to the last."""
        span = float(np.ptp(self.times)) if len(self.times) else 0.0
        return self.core_seconds() / span if span > 0 else 0.0


def use_of(jobs: Submissions, outcome: Outcome, kinds: Flags | None = None) -> Use:
    """kinds: (jobs,) which jobs count; all without it"""
    held = outcome.holdings
    counts = held.end > held.begin
    if kinds is not None:
        counts &= kinds[held.job]
    job = held.job[counts]
    width = jobs.width[job].astype(float)
    moments = np.concatenate([held.begin[counts], held.end[counts]])
    times, step = np.unique(moments, return_inverse=True)
    change = np.zeros((len(jobs.queues), len(times)))
    np.add.at(change, (np.tile(jobs.queue[job], 2), step), np.concatenate([width, -width]))
    return Use(times=times, cores=np.cumsum(change, axis=1))


def use_after_starts(jobs: Submissions, outcome: Outcome) -> Array:
    """(attempts,) cores that the queue of each attempt uses right after its start, in the order of holdings.

    Of several starts in one instant each counts what those before it have taken.
    """
    held = outcome.holdings
    width, used = jobs.width, [0.0] * len(jobs.queues)
    leaving: list[tuple[float, int]] = []
    found = np.zeros(len(held.job))
    rows = zip(held.job.tolist(), held.begin.tolist(), held.end.tolist(), strict=True)
    for place, (job, begin, end) in enumerate(rows):
        while leaving and leaving[0][0] <= begin:
            gone = heappop(leaving)[1]
            used[jobs.queue[gone]] -= width[gone]
        found[place] = used[jobs.queue[job]] + width[job]
        if end > begin:
            used[jobs.queue[job]] += width[job]
            heappush(leaving, (end, job))
    return found
