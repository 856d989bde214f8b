# SPDX-License-Identifier: Apache-2.0
"""FCFS, EASY and EDF: by example, and against slow simulations that are written from their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nova_market.errors import BadWorkload
from nova_market.sim.baseline.batch import easy, edf, fcfs
from nova_market.sim.workload.job import Terms, Workload

WIDE = 4


def workload(*jobs):
    """(submit, run, processors[, estimate])"""
    columns = list(zip(*[(*j, j[1])[:4] if len(j) == 3 else j for j in jobs], strict=True))
    submit, run, processors, estimate = (np.array(c, dtype=float) for c in columns)
    return Workload(
        number=np.arange(1, len(jobs) + 1),
        submit=submit,
        run=run,
        processors=processors.astype(np.int64),
        estimate=np.maximum(estimate, run),
        memory_mib=np.full(len(jobs), np.nan),
    )


def due(*deadlines):
    return Terms(deadline=np.array(deadlines, dtype=float), budget=np.ones(len(deadlines)))


BLOCKED = workload((0, 10, 3), (1, 10, 4), (2, 5, 1), (3, 20, 1))


def test_fcfs_lets_nobody_pass():
    """Narrow jobs wait behind a wide one although there is room."""
    assert fcfs(BLOCKED, WIDE).start.tolist() == [0, 10, 20, 20]


def test_easy_fills_the_gap_but_does_not_delay_the_first():
    """5 s end before the reservation at 10; 20 s would not."""
    assert easy(BLOCKED, WIDE).start.tolist() == [0, 10, 2, 20]


def test_easy_uses_what_the_reservation_leaves():
    """The first needs 3 of 4 at 10: a long job of one may go."""
    jobs = workload((0, 10, 3), (1, 10, 3), (2, 50, 1), (3, 50, 1))
    assert easy(jobs, WIDE).start.tolist() == [0, 10, 2, 20]


def test_easy_believes_estimates_and_takes_early_ends():
    """Reserved for 100 by the estimate, free at 10: whoever fits by the estimate went ahead meanwhile."""
    jobs = workload((0, 10, 3, 100), (1, 10, 4), (2, 5, 1, 98), (3, 5, 1, 99))
    assert easy(jobs, WIDE).start.tolist() == [0, 10, 2, 20]


def test_easy_counts_all_that_end_with_the_one_that_makes_room():
    """Two end at 1 and the first needs one of them: the other's processor is free for a longer job."""
    jobs = workload((0, 1, 1), (0, 1, 1), (0, 1, 3), (0, 2, 1))
    assert easy(jobs, WIDE).start.tolist() == [0, 0, 1, 0]


def test_edf_goes_by_deadline_and_drops_what_is_lost():
    """Three wait at 10: the most urgent can't be in time any more, unless nothing is dropped."""
    jobs = workload((0, 10, 4), (1, 10, 4), (2, 10, 4), (3, 10, 4))
    wanted = due(10, 40, 30, 15)
    assert edf(jobs, WIDE, wanted).start.tolist()[:3] == [0, 20, 10]
    assert np.isnan(edf(jobs, WIDE, wanted).end[3])
    kept = edf(jobs, WIDE, wanted, drop=False)
    assert kept.start.tolist() == [0, 30, 20, 10]
    assert kept.satisfaction(wanted) == 0.5 and kept.success(wanted) == 0.75


@pytest.mark.parametrize('discipline', [fcfs, easy])
def test_a_job_wider_than_the_machine_is_named(discipline):
    """It would wait for ever."""
    with pytest.raises(BadWorkload, match='job 2 needs 5 processors'):
        discipline(workload((0, 1, 1), (0, 1, 5)), WIDE)


@pytest.mark.parametrize('discipline', [fcfs, easy])
def test_no_jobs_are_no_schedule(discipline):
    """And nothing fails."""
    assert len(discipline(workload((0, 1, 1)).first(0), WIDE).start) == 0


def slow(jobs, wide, choose):
    """Second by second: ends, arrivals, then `choose` starts jobs one after the other until it has none."""
    start, end, queue = {}, {}, []
    now, last = 0, int(jobs.submit.max() + jobs.run.sum()) + 2
    while now <= last:
        queue += [j for j in range(len(jobs)) if jobs.submit[j] == now]
        while True:
            running = {j for j in start if end[j] > now}
            free = wide - sum(int(jobs.processors[j]) for j in running)
            job = choose(now, queue, free, running, start)
            if job is None:
                break
            queue.remove(job)
            start[job], end[job] = now, now + jobs.run[job]
        now += 1
    return [start[j] for j in range(len(jobs))]


def first_only(jobs):
    def choose(_now, queue, free, _running, _start):
        return queue[0] if queue and jobs.processors[queue[0]] <= free else None

    return choose


def easily(jobs):
    """Whoever starts must leave the first its earliest moment, which is counted anew each time."""

    def earliest(needed, now, free, running):
        for end, width in sorted(running):
            if free >= needed:
                break
            now, free = end, free + width
        return now

    def choose(now, queue, free, running, start):
        if not queue:
            return None
        width = jobs.processors
        if width[queue[0]] <= free:
            return queue[0]
        ends = [(start[j] + jobs.estimate[j], int(width[j])) for j in running]
        before = earliest(width[queue[0]], now, free, ends)
        for job in queue[1:]:
            if width[job] > free:
                continue
            with_it = [*ends, (now + jobs.estimate[job], int(width[job]))]
            if earliest(width[queue[0]], now, free - int(width[job]), with_it) <= before:
                return job
        return None

    return choose


a_job = st.tuples(st.integers(0, 6), st.integers(1, 6), st.integers(1, WIDE), st.integers(1, 9))


@settings(max_examples=60, deadline=None)
@given(st.lists(a_job, min_size=1, max_size=7))
def test_schedules_are_those_of_the_definitions(drawn):
    """FCFS to the second, and EASY: backfilled jobs are tried in order, with one reservation."""
    jobs = workload(*sorted(drawn, key=lambda j: j[0]))
    assert fcfs(jobs, WIDE).start.tolist() == slow(jobs, WIDE, first_only(jobs))
    assert easy(jobs, WIDE).start.tolist() == slow(jobs, WIDE, easily(jobs))


@settings(max_examples=40, deadline=None)
@given(st.lists(a_job, min_size=1, max_size=30), st.booleans())
def test_the_machine_is_never_overfull(drawn, drop):
    """Under every discipline, and nobody starts before he comes."""
    jobs = workload(*sorted(drawn, key=lambda j: j[0]))
    wanted = due(*(jobs.submit + jobs.estimate))
    for schedule in (fcfs(jobs, WIDE), easy(jobs, WIDE), edf(jobs, WIDE, wanted, drop=drop)):
        ran = schedule.finished()
        assert drop or ran.all()
        assert (schedule.start[ran] >= jobs.submit[ran]).all()
        for moment in schedule.start[ran]:
            during = ran & (schedule.start <= moment) & (schedule.end > moment)
            assert jobs.processors[during].sum() <= WIDE
