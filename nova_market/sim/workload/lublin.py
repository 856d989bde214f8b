# SPDX-License-Identifier: Apache-2.0
"""A generator of batch workloads: sizes, run times and arrivals as on real parallel machines.

Implements U. Lublin, D. G. Feitelson: *The workload on parallel supercomputers: modeling the characteristics
of rigid jobs* (JPDC 63(11), 2003), with the parameters of their program. Units: seconds, processors.

- Size: one draw decides between serial, power of two and any; otherwise 2 ** u with u two-stage uniform; the
  exponent is rounded for powers of two, the size itself for the others.
- Run time: exp of a hyper-gamma whose mixture depends linearly on the size; at most exp(12) s.
- Arrivals: gaps exp(gamma), at most exp(13) s, are spent in half-hour buckets whose speed follows a daily
  cycle; a gap uses up a bucket at its weight.
"""

from dataclasses import dataclass
from math import log2

import numpy as np

from nova_market.core.resource import Array, Values
from nova_market.errors import BadWorkload
from nova_market.sim.workload.job import Workload

BUCKETS = 48
BUCKET = 1800.0
"""The daily cycle in half hours (not hours)."""

CYCLE_START = 11
"""Bucket in which the density of the cycle begins: half past five."""

LOG_START = 3
"""Bucket at which a log begins; fitted: with it the hours are those of the authors' program."""

MOST_LOG_RUN = 12.0
MOST_LOG_GAP = 13.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """Parameters of the model, by their names in the paper.

    serial, power: parts of the jobs; low, middle, high: of log2(size); stage: part below `middle`
    first, second: (shape, scale) of the hyper-gamma of log(run time); slope, offset: of its mixture over size
    gap: (shape, scale) of log(inter-arrival time) in the peak; cycle: (shape, scale) of the daily cycle
    """

    serial: float = 0.244
    power: float = 0.576
    low: float = 0.8
    middle: float = 4.5
    high: float = 7.0
    stage: float = 0.86
    first: tuple[float, float] = (4.2, 0.94)
    second: tuple[float, float] = (312.0, 0.03)
    slope: float = -0.0054
    offset: float = 0.78
    gap: tuple[float, float] = (10.2303, 0.4871)
    gap_scale: float = 1.0225
    cycle: tuple[float, float] = (8.1737, 3.9631)


ALL_JOBS = JobKind()
"""Interactive and batch together ("typeless"), 128 processors."""


def kind_for(processors: int) -> JobKind:
    """ALL_JOBS for a machine of this size: high = log2(size), middle 2.5 below it, as the paper advises."""
    if processors < 2:
        raise BadWorkload(f'a machine of {processors} processors: the model needs at least 2')
    high = log2(processors)
    middle = max(high - 2.5 if processors > 8 else high / 2.0, ALL_JOBS.low)
    return JobKind(high=high, middle=middle)


def generate(count: int, kind: JobKind, rng: np.random.Generator) -> Workload:
    """So many jobs, by one random generator; estimates are the run times."""
    if count < 0:
        raise BadWorkload(f'{count} jobs: give 0 or more')
    size = sizes(count, kind, rng)
    run = run_times(size, kind, rng)
    return Workload(
        number=np.arange(1, count + 1),
        submit=arrivals(count, kind, rng),
        run=run,
        processors=size,
        estimate=run.copy(),
        memory_mib=np.full(count, np.nan),
    )


def sizes(count: int, kind: JobKind, rng: np.random.Generator) -> Values:
    """One draw u: serial for u <= serial, a power of two for u <= serial + power, any size above."""
    u = rng.uniform(size=count)
    low_part = rng.uniform(size=count) <= kind.stage
    place = rng.uniform(size=count)
    exponent = np.where(
        low_part,
        kind.low + place * (kind.middle - kind.low),
        kind.middle + place * (kind.high - kind.middle),
    )
    power = u <= kind.serial + kind.power
    exponent = np.where(power, np.floor(exponent + 0.5), exponent)
    # rounding must not make a job wider than a machine whose size is no power of two
    most = np.floor(np.exp2(kind.high) + 1e-9)
    found = np.minimum(np.floor(np.exp2(exponent) + 0.5), most).astype(np.int64)
    return np.where(u <= kind.serial, 1, found)


def run_times(size: Values, kind: JobKind, rng: np.random.Generator) -> Array:
    """exp(hyper-gamma), whole seconds; the first gamma with probability slope * size + offset in [0, 1]."""
    part = np.clip(kind.slope * size + kind.offset, 0.0, 1.0)
    found = np.full(len(size), np.inf)
    open_rows = np.arange(len(size))
    # those above the limit are drawn anew, as in the authors' program
    while len(open_rows):
        first = rng.uniform(size=len(open_rows)) <= part[open_rows]
        drawn = np.where(
            first,
            rng.gamma(*kind.first, len(open_rows)),
            rng.gamma(*kind.second, len(open_rows)),
        )
        found[open_rows] = drawn
        open_rows = open_rows[drawn > MOST_LOG_RUN]
    run: Array = np.floor(np.exp(found))
    return run


def arrivals(count: int, kind: JobKind, rng: np.random.Generator) -> Array:
    """Whole seconds from the beginning of the log.

    A gap is paid for with the weights of the half hours that pass: one of weight 2 pays for an hour of gaps.
    """
    shape, scale = kind.gap
    weights = _cycle(kind)
    draws = rng.gamma(shape * kind.gap_scale, scale, count)
    while (over := draws > MOST_LOG_GAP).any():
        draws[over] = rng.gamma(shape * kind.gap_scale, scale, int(over.sum()))
    gaps = np.exp(draws) / BUCKET
    return _passed(np.cumsum(gaps), weights)


def _passed(points: Array, weights: Array) -> Array:
    """When cumulated points are paid for: the inverse of the cumulated weights of the buckets."""
    points = points + weights[:LOG_START].sum()
    total = float(weights.sum())
    days = np.floor(points / total)
    within = points - days * total
    edges = np.concatenate([[0.0], np.cumsum(weights)])
    clock = np.interp(within, edges, np.arange(BUCKETS + 1, dtype=float))
    seconds: Array = np.floor((days * BUCKETS + clock - LOG_START) * BUCKET)
    return seconds


def _cycle(kind: JobKind) -> Array:
    """Weight of each half hour from midnight, mean 1: a gamma density over half hours of the clock.

    The day lasts from CYCLE_START to CYCLE_START the next morning, which is where the density continues.
    """
    shape, scale = kind.cycle
    clock = np.arange(CYCLE_START, CYCLE_START + BUCKETS)
    density = clock ** (shape - 1.0) * np.exp(-clock / scale)
    weights: Array = np.roll(density / density.mean(), CYCLE_START)
    return weights
