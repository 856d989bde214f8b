# SPDX-License-Identifier: Apache-2.0
"""How well a schedule served its users and the machine: waits, slowdown, utilisation, wide jobs.

Bounded slowdown as D. Feitelson and L. Rudolph define it (*Metrics and Benchmarking for Parallel Job
Scheduling*, JSSPP 1998): (wait + run) / max(run, 10 s), at least 1. Units: seconds.

A job waits while it does no work that counts: what a preempted attempt has done is waiting too.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import Array, Flags
from nova_market.sim.job.outcome import Outcome
from nova_market.sim.job.submission import Submissions
from nova_market.sim.job.use import use_of

THRESHOLD = 10.0
"""Seconds: shorter runs count as this long, or their slowdowns would rule the mean (Feitelson, Rudolph)."""

WIDE = 0.5
"""Part of the largest width present from which on a job is wide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """unfinished: jobs without an end; the other measures are of the jobs that ended

    utilisation: core-seconds of work that counts / (cores * makespan); wasted: the same of lost attempts
    wide_wait, wide_mean_wait: the largest and the mean wait of wide jobs
    """

    jobs: int
    unfinished: int
    mean_wait: float
    largest_wait: float
    bounded_slowdown: float
    wide_wait: float
    wide_mean_wait: float
    utilisation: float
    wasted: float
    makespan: float
    peak_cores: int
    average_cores: float
    preemptions: int


def measures_of(jobs: Submissions, outcome: Outcome, cores: int) -> Measures:
    """cores: of the whole machine"""
    waited, ended = waits(jobs, outcome), np.isfinite(outcome.end)
    wide = waited[ended & wide_jobs(jobs)]
    use, held = use_of(jobs, outcome), outcome.holdings
    makespan = duration(jobs, outcome)
    taken = jobs.width[held.job] * (held.end - held.begin)
    whole = cores * makespan
    return Measures(
        jobs=len(jobs),
        unfinished=int((~ended).sum()),
        mean_wait=_mean(waited[ended]),
        largest_wait=float(waited[ended].max(initial=0.0)),
        bounded_slowdown=_mean(bounded_slowdown(waited[ended], jobs.run[ended])),
        wide_wait=float(wide.max(initial=0.0)),
        wide_mean_wait=_mean(wide),
        utilisation=float(taken[~held.lost].sum()) / whole if whole > 0 else 0.0,
        wasted=float(taken[held.lost].sum()) / whole if whole > 0 else 0.0,
        makespan=makespan,
        peak_cores=use.peak(),
        average_cores=use.core_seconds() / makespan if makespan > 0 else 0.0,
        preemptions=int(outcome.preemptions.sum()),
    )


def waits(jobs: Submissions, outcome: Outcome) -> Array:
    """(jobs,) from submission to the end, without the run; NaN for jobs that did not end."""
    waited: Array = outcome.end - jobs.submit - jobs.run
    return waited


def bounded_slowdown(wait: Array, run: Array) -> Array:
    """(wait + run) / max(run, THRESHOLD), at least 1."""
    slowdown: Array = np.maximum((wait + run) / np.maximum(run, THRESHOLD), 1.0)
    return slowdown


def wide_jobs(jobs: Submissions) -> Flags:
    """At least half as wide as the widest job present."""
    wide: Flags = jobs.width >= WIDE * jobs.width.max(initial=0)
    return wide


def duration(jobs: Submissions, outcome: Outcome) -> float:
    """From the first submission to the last end."""
    ended = np.isfinite(outcome.end)
    return float(outcome.end[ended].max() - jobs.submit[0]) if ended.any() else 0.0


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else 0.0
