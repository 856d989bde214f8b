# SPDX-License-Identifier: Apache-2.0
"""Jobs on hosts from event to event: by example, with selectors that can be checked by eye."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nova_market.errors import BadWorkload, ExperimentFailed
from nova_market.sim.baseline.batch import fcfs
from nova_market.sim.job.hosts import equal_hosts
from nova_market.sim.job.job_run import JobRun, WorkerSetting
from nova_market.sim.job.world import Choice, Preemption, Start
from nova_market.sim.workload.job import Workload
from tests.support.simulated_jobs import InOrder, submissions


def run(jobs, *, hosts=1, cores=4, selector=None, **setting):
    """The outcome of a run, by default one job after the other on one host of 4 cores."""
    return JobRun(
        jobs=jobs,
        hosts=equal_hosts(hosts, cores),
        selector=selector or InOrder(),
        setting=WorkerSetting(**setting),
    ).run()


class Displacing(InOrder):
    """A production job that has no room preempts the newest best-effort job, until it has."""

    def choose(self, world):
        waiting = sorted(world.waiting, key=lambda job: bool(world.jobs.best_effort[job]))
        world.waiting[:] = waiting
        choice = super().choose(world)
        leaving = any(one.until is not None for one in world.attempts.values())
        if choice.starts or not waiting or world.jobs.best_effort[waiting[0]] or leaving:
            return choice
        begun = {j: one.begin for j, one in world.attempts.items() if world.jobs.best_effort[j]}
        if not begun:
            return choice
        newest = max(begun, key=lambda job: (begun[job], job))
        return Choice(preemptions=[Preemption(job=newest, displacer=waiting[0])])


class Circling:
    """Starts a job and preempts it, for ever."""

    def choose(self, world):
        if world.attempts:
            return Choice(preemptions=[Preemption(job=0, displacer=0)])
        return Choice(starts=[Start(job=0, hosts=(0,))])


def test_ends_of_an_instant_come_before_its_arrivals():
    """A job that arrives when another ends gets its room at once."""
    outcome = run(submissions((0, 10, 4), (10, 5, 4)))
    assert outcome.start.tolist() == [0, 10] and outcome.end.tolist() == [10, 15]


def test_a_job_is_ended_at_its_time_limit():
    """Not later, and not before its run is over."""
    jobs = submissions((0, 10, 1), {'submit': 0, 'run': 7, 'limit': 9})
    assert run(jobs).end.tolist() == [10, 7]


def test_a_worker_boots_before_its_job_starts():
    """It holds room while it boots; the next job waits for that too."""
    outcome = run(submissions((0, 10, 4), (1, 5, 4)), boot=30.0)
    assert outcome.start.tolist() == [30, 70] and outcome.end.tolist() == [40, 75]
    assert outcome.holdings.begin.tolist() == [0, 40] and (outcome.booted, outcome.reused) == (2, 0)


def test_an_idle_worker_is_reused_by_the_next_job_of_its_queue():
    """Of the same size on the same host: that one does not boot."""
    jobs = submissions(
        {'run': 10, 'cores': 2},
        {'submit': 50, 'run': 5, 'cores': 2},
        {'submit': 51, 'run': 5, 'cores': 2, 'queue': 1},
        {'submit': 100, 'run': 5, 'cores': 1},
        queues=2,
    )
    outcome = run(jobs, boot=30.0, keep=600.0)
    assert outcome.start.tolist() == [30, 50, 81, 130]
    assert (outcome.booted, outcome.reused) == (3, 1)


@pytest.mark.parametrize(('submit', 'start'), [(639.0, 639.0), (640.0, 670.0)])
def test_an_idle_worker_is_deleted_after_its_time(submit, start):
    """Its job ended at 40, it is kept for 600 seconds: at 640 it is gone."""
    outcome = run(submissions((0, 10, 2), (submit, 5, 2)), boot=30.0, keep=600.0)
    assert outcome.start[1] == start


def test_an_idle_worker_leaves_when_its_room_is_needed():
    """Another queue's job takes its cores, so a later job of its own queue boots again."""
    jobs = submissions(
        {'run': 10, 'cores': 2},
        {'submit': 50, 'run': 5, 'cores': 4, 'queue': 1},
        {'submit': 90, 'run': 5, 'cores': 2},
        queues=2,
    )
    outcome = run(jobs, boot=30.0, keep=600.0)
    assert outcome.start.tolist() == [30, 80, 120] and outcome.reused == 0


def test_a_worker_of_another_queue_is_not_reused():
    """Of the same size on the same host: what one queue's jobs leave behind is not for others."""
    jobs = submissions(
        {'run': 10, 'cores': 2}, {'submit': 50, 'run': 5, 'cores': 2, 'queue': 1}, queues=2
    )
    outcome = run(jobs, boot=30.0, keep=600.0)
    assert outcome.start.tolist() == [30, 80] and outcome.reused == 0


def test_the_oldest_idle_worker_leaves_first():
    """Job 3 takes the room of job 1's worker; that of job 2 is reused by job 4."""
    jobs = submissions(
        {'run': 10, 'cores': 2},
        {'run': 20, 'cores': 2, 'queue': 1},
        {'submit': 100, 'run': 5, 'cores': 2, 'queue': 2},
        {'submit': 101, 'run': 5, 'cores': 2, 'queue': 1},
        queues=3,
    )
    outcome = run(jobs, boot=30.0, keep=600.0)
    assert outcome.start.tolist() == [30, 30, 130, 101] and outcome.reused == 1


def test_a_gang_starts_together_when_its_last_worker_is_there():
    """One of its two servers finds an idle worker; the job begins when the other has booted."""
    jobs = submissions((0, 10, 2), {'submit': 50, 'run': 5, 'cores': 2, 'servers': 2})
    outcome = run(jobs, hosts=2, cores=2, boot=30.0, keep=600.0)
    assert outcome.start.tolist() == [30, 80] and (outcome.booted, outcome.reused) == (2, 1)


def test_a_gang_holds_room_on_all_of_its_hosts():
    """Three servers of 2 cores on hosts of 4: the third is on the second host, and a fourth fits beside
    it.
    """
    jobs = submissions(
        {'run': 10, 'cores': 2, 'servers': 3}, (1, 5, 2), {'submit': 2, 'run': 5, 'cores': 1}
    )
    assert run(jobs, hosts=2).start.tolist() == [0, 1, 6]


def test_a_preempted_job_begins_again():
    """It waits by its first submission, and only its last attempt counts."""
    jobs = submissions(
        {'run': 10, 'cores': 2, 'best_effort': True},
        {'submit': 1, 'run': 10, 'cores': 2, 'best_effort': True},
        {'submit': 2, 'run': 5, 'cores': 2},
    )
    outcome = run(jobs, selector=Displacing())
    assert outcome.start.tolist() == [0, 7, 2] and outcome.end.tolist() == [10, 17, 7]
    assert outcome.preemptions.tolist() == [0, 1, 0]
    held = outcome.holdings
    lost = [(int(j), b, e) for j, b, e in zip(held.job, held.begin, held.end, strict=True)]
    assert [one for one, gone in zip(lost, held.lost, strict=True) if gone] == [(1, 1, 2)]


def test_a_preempted_job_goes_before_those_that_came_later():
    """Job 1 is preempted for job 3, and begins again before job 2, which waited when that happened."""
    jobs = submissions(
        {'run': 10, 'cores': 4, 'best_effort': True},
        {'submit': 2, 'run': 5, 'cores': 4, 'best_effort': True},
        {'submit': 3, 'run': 5, 'cores': 4},
    )
    assert run(jobs, selector=Displacing()).start.tolist() == [8, 18, 3]


def test_a_worker_that_has_not_booted_is_not_kept():
    """Its job was preempted while it booted: nothing is idle that could be reused."""
    jobs = submissions(
        {'run': 10, 'cores': 4, 'best_effort': True}, {'submit': 5, 'run': 5, 'cores': 4}
    )
    outcome = run(jobs, selector=Displacing(), boot=30.0, keep=600.0)
    assert outcome.start.tolist() == [40, 35] and (outcome.booted, outcome.reused) == (2, 1)


@pytest.mark.parametrize(('notice', 'start', 'preempted'), [(3.0, 5.0, 1), (30.0, 11.0, 0)])
def test_a_preempted_job_has_its_notice(notice, start, preempted):
    """Within it the job keeps its room, and may end by itself."""
    jobs = submissions(
        {'run': 11, 'cores': 4, 'best_effort': True}, {'submit': 2, 'run': 5, 'cores': 4}
    )
    outcome = run(jobs, selector=Displacing(), notice=notice)
    assert outcome.start[1] == start and outcome.preemptions.tolist() == [preempted, 0]
    assert outcome.end[0] == (21.0 if preempted else 11.0)


def test_a_job_that_nobody_chooses_has_no_end():
    """The run ends all the same."""

    class Idle:
        def choose(self, world):
            del world
            return Choice()

    assert np.isnan(run(submissions((0, 1, 1)), selector=Idle()).end).all()


def test_no_jobs_are_no_outcome():
    """And nothing fails."""
    outcome = run(submissions())
    assert len(outcome.end) == len(outcome.holdings.job) == 0


@pytest.mark.parametrize(
    ('job', 'text'),
    [
        ({'cores': 5, 'run': 1}, 'job 1 needs 1 servers of 5 cores'),
        ({'cores': 3, 'servers': 3, 'run': 1}, 'job 1 needs 3 servers of 3 cores'),
        ({'cores': 1, 'memory': 2e12, 'run': 1}, 'and 2e.12 MiB'),
    ],
)
def test_a_job_that_can_never_fit_is_named(job, text):
    """Two hosts of 4 cores have room for two servers of 3."""
    with pytest.raises(BadWorkload, match=text):
        run(submissions(job), hosts=2)


def test_a_selection_that_overfills_a_host_is_an_error():
    """It is not clipped."""

    class Blind:
        def choose(self, world):
            return Choice(starts=[Start(job=job, hosts=(0,)) for job in world.waiting])

    with pytest.raises(BadWorkload, match='job 2 needs 3 cores and 0 MiB of host 0, which has 1'):
        run(submissions((0, 1, 3), (0, 1, 3)), selector=Blind())


def test_a_selection_without_an_end_is_an_error():
    """A job that is preempted twice in an instant would be preempted for ever."""
    with pytest.raises(ExperimentFailed, match='job 1 was preempted twice at 0 s'):
        run(submissions((0, 1, 1)), selector=Circling())


@pytest.mark.parametrize('setting', [{'boot': -1.0}, {'keep': np.inf}, {'notice': np.nan}])
def test_nonsense_of_workers_is_refused(setting):
    """By its name and value."""
    with pytest.raises(BadWorkload, match=f'{next(iter(setting))} of workers is'):
        WorkerSetting(**setting)


a_job = st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(1, 4))


@settings(max_examples=60, deadline=None)
@given(st.lists(a_job, min_size=1, max_size=20))
def test_one_after_the_other_is_the_baseline(drawn):
    """On one host: the schedule is that of sim.baseline, also of jobs that take no time."""
    drawn = sorted(drawn, key=lambda one: one[0])
    submit, length, width = (np.array(column) for column in zip(*drawn, strict=True))
    whole = Workload(
        number=np.arange(1, len(drawn) + 1),
        submit=submit.astype(float),
        run=length.astype(float),
        processors=width,
        estimate=length.astype(float),
        memory_mib=np.full(len(drawn), np.nan),
    )
    assert run(submissions(*drawn)).start.tolist() == fcfs(whole, 4).start.tolist()
