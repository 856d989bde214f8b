# SPDX-License-Identifier: Apache-2.0
"""The job policies that are installed, in the simulator: against the baselines, Algorithm 1, and by example.

Lublin workloads are crowded: three times the load of the model, and estimates of up to five times the run.
Times are
whole seconds, as in logs: a calendar rounds parts of them.
"""

from pathlib import Path

import numpy as np
import pytest

from nova_market.errors import ConfigurationError
from nova_market.sim.baseline.batch import easy, fcfs
from nova_market.sim.job.job_run import WorkerSetting
from nova_market.sim.job.measures import measures_of
from nova_market.sim.job.policy_selector import QueueSetting
from nova_market.sim.job.simulation import Cluster, equal_shares, shares_by_jobs, simulate
from nova_market.sim.job.submission import at_once, from_log
from nova_market.sim.workload.job import Workload, scaled
from nova_market.sim.workload.lublin import generate, kind_for
from nova_market.sim.workload.swf import ORIGINS, Log, read_log
from tests.support.algorithm_1 import starts
from tests.support.simulated_jobs import submissions

STAND_IN = Path(__file__).parents[2] / 'experiments' / 'data' / 'svmsched-standin96.swf'

POLICIES = ('fcfs', 'rigid', 'flexible', 'easy', 'conservative', 'fair_tree', 'value')


def lublin(seed, processors=32, count=150):
    """A log as read_log gives it."""
    rng = np.random.default_rng([11, seed])
    jobs = scaled(generate(count, kind_for(processors), rng), 1 / 3)
    estimate = np.ceil(jobs.run * rng.uniform(1.0, 5.0, count))
    guessed = Workload(
        number=jobs.number,
        submit=np.floor(jobs.submit),
        run=jobs.run,
        processors=jobs.processors,
        estimate=estimate,
        memory_mib=jobs.memory_mib,
    )
    origins = {name: rng.integers(1, 5, count) for name in ORIGINS}
    return Log(jobs=guessed, origins=origins, header={}, left_out=0)


def on_one_machine(log, policy, processors):
    """One host, one queue, which may use all of it: its share is no limit beside the room, for any job."""
    jobs = from_log(log, host_cores=processors)
    queues = QueueSetting(shares=np.ones(1), short_below=0.0)
    return jobs, simulate(jobs, Cluster(hosts=1, cores=processors), policy, queues)


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize(('policy', 'baseline'), [('fcfs', fcfs), ('easy', easy)])
def test_one_queue_on_one_machine_is_the_baseline(policy, baseline, seed):
    """To the second, and so AccaSim's schedule, to which the baselines are equal."""
    log = lublin(seed)
    _, outcome = on_one_machine(log, policy, 32)
    expected = baseline(log.jobs, 32)
    assert outcome.start.tolist() == expected.start.tolist()
    assert outcome.start.tolist() != log.jobs.submit.tolist()


@pytest.mark.parametrize(('policy', 'baseline'), [('fcfs', fcfs), ('easy', easy)])
def test_the_stand_in_is_the_baseline_too(policy, baseline):
    """On a machine of 16 processors, where jobs wait."""
    log = read_log(STAND_IN)
    _, outcome = on_one_machine(log, policy, 16)
    assert outcome.start.tolist() == baseline(log.jobs, 16).start.tolist()


@pytest.mark.parametrize('policy', ['easy', 'conservative', 'fair_tree'])
def test_a_reservation_is_kept_where_jobs_end_soon(policy):
    """The wide job starts when the first one ends, 10 s later; 5 s fit before that, 20 s do not."""
    jobs = submissions((0, 10, 3), (1, 10, 4), (2, 5, 1), (3, 20, 1))
    outcome = simulate(jobs, Cluster(hosts=1, cores=4), policy, QueueSetting(shares=np.ones(1)))
    assert outcome.start.tolist() == [0, 10, 2, 20]


@pytest.mark.parametrize('once', [False, True])
@pytest.mark.parametrize('by_demand', [False, True])
@pytest.mark.parametrize(('policy', 'short_below'), [('rigid', None), ('flexible', 1800.0)])
def test_shares_are_kept_as_algorithm_1_does(policy, short_below, by_demand, once):
    """Job by job on six hosts, against a plain transcription of the paper."""
    jobs = from_log(read_log(STAND_IN), host_cores=8, grouping='partition')
    jobs = at_once(jobs) if once else jobs
    shares = shares_by_jobs(jobs) if by_demand else equal_shares(jobs)
    outcome = simulate(jobs, Cluster(hosts=6, cores=8), policy, QueueSetting(shares=shares))
    columns = (jobs.submit, jobs.run, jobs.cores, jobs.queue)
    plain = list(zip(*(column.tolist() for column in columns), strict=True))
    expected = starts(plain, (shares * 48).tolist(), hosts=6, host_cores=8, short_below=short_below)
    assert outcome.start.tolist() == expected


@pytest.mark.parametrize('policy', POLICIES)
def test_every_policy_runs_gangs_on_many_hosts(policy):
    """Every job ends, no host is ever overfull (the hosts check it), and a second run is the same."""
    jobs = from_log(lublin(5, count=80), host_cores=8, grouping='user')
    assert (jobs.servers > 1).any()
    found = [
        simulate(
            jobs,
            Cluster(hosts=4, cores=8),
            policy,
            QueueSetting(shares=np.ones(len(jobs.queues))),
            WorkerSetting(boot=40.0, keep=600.0),
        )
        for _ in range(2)
    ]
    first, second = found
    assert np.isfinite(first.end).all() and (first.start >= jobs.submit).all()
    assert first.start.tolist() == second.start.tolist()
    assert first.booted + first.reused == jobs.servers.sum() and first.reused > 0


def test_servers_of_a_gang_share_a_host_where_they_fit():
    """Three of 2 cores on hosts of 4, chosen by a policy; a job of a whole host waits for them."""
    jobs = submissions({'run': 10, 'cores': 2, 'servers': 3}, (1, 5, 4), (2, 5, 2))
    queues = QueueSetting(shares=np.ones(1))
    outcome = simulate(jobs, Cluster(hosts=2, cores=4), 'flexible', queues)
    assert outcome.start.tolist() == [0, 10, 2]


def test_room_that_was_made_is_for_the_job_that_it_was_made_for():
    """A job that comes during the notice, and is smaller in number of priority, starts after it."""
    jobs = submissions(
        {'run': 1000, 'cores': 8, 'best_effort': True},
        {'submit': 10, 'run': 20, 'cores': 8},
        {'submit': 20, 'run': 20, 'cores': 8, 'priority': 1},
    )
    queues, workers = QueueSetting(shares=np.ones(1)), WorkerSetting(notice=30.0)
    outcome = simulate(jobs, Cluster(hosts=1, cores=8), 'flexible', queues, workers)
    assert outcome.start.tolist() == [80, 40, 60]


def test_a_production_job_preempts_the_newest_best_effort_job():
    """Only the one that is needed; it begins again when there is room."""
    jobs = submissions(
        {'run': 100, 'cores': 4, 'best_effort': True},
        {'submit': 1, 'run': 100, 'cores': 4, 'best_effort': True},
        {'submit': 10, 'run': 20, 'cores': 2, 'queue': 1},
        queues=2,
    )
    queues = QueueSetting(shares=np.array([0.5, 0.5]))
    outcome = simulate(jobs, Cluster(hosts=1, cores=8), 'flexible', queues)
    assert outcome.preemptions.tolist() == [0, 1, 0]
    assert outcome.start.tolist() == [0, 30, 10] and outcome.end.tolist() == [100, 130, 30]
    assert measures_of(jobs, outcome, 8).wasted == pytest.approx(4 * 9 / (8 * 130))


def test_a_best_effort_job_keeps_its_notice_and_its_least_run_time():
    """Preempted at 60 at the earliest, and gone 5 s later; the production job starts then."""
    jobs = submissions(
        {'run': 1000, 'cores': 8, 'best_effort': True}, {'submit': 10, 'run': 20, 'cores': 2}
    )
    outcome = simulate(
        jobs,
        Cluster(hosts=1, cores=8),
        'flexible',
        QueueSetting(shares=np.ones(1)),
        WorkerSetting(notice=5.0, least_run_time=60.0),
    )
    assert outcome.start[1] == 65.0 and outcome.preemptions.tolist() == [1, 0]


def test_a_job_above_its_share_never_starts_under_rigid_shares():
    """It stays without an end, and is counted as such; flexible shares let it go when it is short."""
    jobs = submissions({'run': 100, 'cores': 8}, (5, 100, 4))
    queues = QueueSetting(shares=np.array([0.5]))
    cluster = Cluster(hosts=1, cores=8)
    rigid = simulate(jobs, cluster, 'rigid', queues)
    assert np.isnan(rigid.end[0]) and rigid.end[1] == 105.0
    assert measures_of(jobs, rigid, 8).unfinished == 1
    assert simulate(jobs, cluster, 'flexible', queues).start.tolist() == [0, 100]


def test_usage_of_a_queue_halves_with_time():
    """Under fair_tree a queue that used much goes last, until that is long ago."""
    heavy = [{'submit': 0, 'run': 1000, 'cores': 8}]
    late = [
        {'submit': 1000, 'run': 10, 'cores': 8, 'queue': 1},
        {'submit': 1001, 'run': 10, 'cores': 8},
        {'submit': 1002, 'run': 10, 'cores': 8, 'queue': 1},
    ]
    jobs = submissions(*heavy, *late, queues=2)
    queues = QueueSetting(shares=np.array([0.5, 0.5]))
    outcome = simulate(jobs, Cluster(hosts=1, cores=8), 'fair_tree', queues)
    assert outcome.start.tolist() == [0, 1000, 1020, 1010]


def test_a_policy_that_is_not_installed_is_named():
    """With those that are."""
    with pytest.raises(ConfigurationError, match='policy = hope: no such plug-in'):
        simulate(submissions(), Cluster(hosts=1, cores=1), 'hope', QueueSetting(shares=np.ones(1)))
