# SPDX-License-Identifier: Apache-2.0
"""What a schedule is worth, and the cores in use over time: by hand."""

import numpy as np
import pytest

from nova_market.sim.job.measures import bounded_slowdown, measures_of, waits, wide_jobs
from nova_market.sim.job.outcome import Holdings, Outcome
from nova_market.sim.job.use import use_after_starts, use_of
from tests.support.simulated_jobs import submissions

JOBS = submissions(
    {'run': 100, 'cores': 2},
    {'submit': 10, 'run': 5, 'cores': 4, 'queue': 1},
    {'submit': 20, 'run': 20, 'cores': 1},
    queues=2,
)


def outcome(*held, jobs=JOBS):
    """held: (job, begin, end) or with True for one that was lost; starts and ends are those of the others."""
    rows = [(*one, False)[:4] for one in held]
    job, begin, end, lost = (np.array(column) for column in zip(*rows, strict=True))
    start, ended = np.full(len(jobs), np.nan), np.full(len(jobs), np.nan)
    start[job[~lost]], ended[job[~lost]] = begin[~lost], end[~lost]
    return Outcome(
        start=start,
        end=ended,
        preemptions=np.bincount(job[lost], minlength=len(jobs)),
        holdings=Holdings(job=job, begin=begin.astype(float), end=end.astype(float), lost=lost),
    )


WHOLE = outcome((0, 0, 100), (2, 20, 30, True), (1, 50, 55), (2, 60, 80))


def test_a_job_waits_while_it_does_no_work_that_counts():
    """What the preempted attempt of job 3 did is waiting: from 20 to 60."""
    assert waits(JOBS, WHOLE).tolist() == [0, 40, 40]


def test_slowdown_is_bounded_at_short_runs_and_at_one():
    """A run of 5 s counts as 10: (40 + 5) / 10."""
    found = bounded_slowdown(np.array([0.0, 40.0, 40.0, 2.0]), np.array([100.0, 5.0, 20.0, 1.0]))
    assert found.tolist() == [1.0, 4.5, 3.0, 1.0]


def test_measures_of_a_schedule():
    """Of 4 cores for 100 s: 200 + 20 + 20 core-seconds count, 10 are lost; job 2 alone is wide with job 1."""
    found = measures_of(JOBS, WHOLE, 4)
    assert wide_jobs(JOBS).tolist() == [True, True, False]
    assert (found.mean_wait, found.largest_wait) == (pytest.approx(80 / 3), 40)
    assert found.bounded_slowdown == pytest.approx((1 + 4.5 + 3) / 3)
    assert (found.wide_wait, found.wide_mean_wait) == (40, 20)
    assert (found.utilisation, found.wasted) == (pytest.approx(0.6), pytest.approx(0.025))
    assert (found.makespan, found.preemptions, found.unfinished) == (100, 1, 0)
    assert (found.peak_cores, found.average_cores) == (6, pytest.approx(2.5))


def test_jobs_without_an_end_are_counted_and_not_measured():
    """They would hide in a mean."""
    found = measures_of(JOBS, outcome((0, 0, 100)), 4)
    assert (found.unfinished, found.mean_wait, found.jobs) == (2, 0.0, 3)


def test_cores_in_use_of_each_queue():
    """Steps at every beginning and end; queue 0 has jobs 1 and 3."""
    use = use_of(JOBS, WHOLE)
    assert use.times.tolist() == [0, 20, 30, 50, 55, 60, 80, 100]
    assert use.cores.tolist() == [[2, 3, 2, 2, 2, 3, 2, 0], [0, 0, 0, 4, 0, 0, 0, 0]]
    assert (use.peak(), use.peaks(), use.average()) == (6, [3, 4], 2.5)


def test_a_kind_of_jobs_can_be_counted_alone():
    """As for best-effort jobs."""
    use = use_of(JOBS, WHOLE, np.array([False, True, False]))
    assert use.times.tolist() == [50, 55] and use.cores[1].tolist() == [4, 0]


def test_what_a_queue_uses_right_after_each_start():
    """Of two starts in one instant the second counts the first; who ends then has left."""
    jobs = submissions((0, 10, 2), (0, 5, 3), (10, 5, 4), (10, 0, 1), (10, 5, 1))
    found = outcome((0, 0, 10), (1, 0, 15), (2, 10, 15), (3, 10, 10), (4, 10, 15), jobs=jobs)
    assert use_after_starts(jobs, found).tolist() == [2, 5, 7, 8, 8]


def test_nothing_ran():
    """And nothing fails."""
    nothing = submissions()
    empty = Outcome(
        start=np.zeros(0),
        end=np.zeros(0),
        preemptions=np.zeros(0, dtype=np.int64),
        holdings=Holdings(
            job=np.zeros(0, dtype=np.intp),
            begin=np.zeros(0),
            end=np.zeros(0),
            lost=np.zeros(0, dtype=np.bool_),
        ),
    )
    found = measures_of(nothing, empty, 4)
    assert (found.makespan, found.utilisation, found.peak_cores) == (0.0, 0.0, 0)
    assert use_after_starts(nothing, empty).tolist() == []
