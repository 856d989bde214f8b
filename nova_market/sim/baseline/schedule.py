# SPDX-License-Identifier: Apache-2.0
"""When jobs ran, and what that is worth to their users.

Implements the metrics of Merkat (INRIA RR-8648), section 3.2: total satisfaction is +budget for a job that
ends by its deadline and -budget for any other; here as a part of the sum of budgets, -1 to 1.
Units: seconds; arrays (jobs,).
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import Array, Flags
from nova_market.sim.workload.job import Terms, Workload

PUNCTUAL = 1e-6
"""Seconds after its deadline at which a job is still in time: the rounding of sums over weeks."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Schedule:
    """start, end: NaN for what never began or never ended."""

    start: Array
    end: Array

    def finished(self) -> Flags:
        return np.isfinite(self.end)

    def in_time(self, terms: Terms) -> Flags:
        # NaN compares as false
        punctual: Flags = self.end <= terms.deadline + PUNCTUAL
        return punctual

    def satisfaction(self, terms: Terms) -> float:
        """(budgets of those in time - budgets of the others) / all budgets; 0 without jobs."""
        total = float(terms.budget.sum())
        won = float(terms.budget[self.in_time(terms)].sum())
        return (2.0 * won - total) / total if total > 0 else 0.0

    def success(self, terms: Terms) -> float:
        """Part of the jobs that ended in time."""
        return float(self.in_time(terms).mean()) if len(self.end) else 0.0

    def wait(self, workload: Workload) -> Array:
        """From submission to start."""
        return self.start - workload.submit

    def makespan(self) -> float:
        return float(np.nanmax(self.end)) if self.finished().any() else 0.0
