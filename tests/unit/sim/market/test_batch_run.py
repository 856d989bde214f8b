# SPDX-License-Identifier: Apache-2.0
"""A batch workload on the market: work is conserved, money is bounded, and the story of section 3.2 holds."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.app.policies.full_deadline import full_deadline
from nova_market.core.app.policies.policy_interface import PolicyState
from nova_market.sim.baseline.batch import fcfs
from nova_market.sim.market.applications import MarketSetting
from nova_market.sim.market.undivided import undivided_run
from nova_market.sim.workload.job import Terms, Workload, offered_load, scaled, terms
from nova_market.sim.workload.lublin import JobKind, generate

BOUNDLESS = 1e9


def workload(*jobs):
    """(submit, run, processors)"""
    submit, run, processors = (np.array(c, dtype=float) for c in zip(*jobs, strict=True))
    return Workload(
        number=np.arange(1, len(jobs) + 1),
        submit=submit,
        run=run,
        processors=processors.astype(np.int64),
        estimate=run,
        memory_mib=np.full(len(jobs), 512.0),
    )


def market(jobs, deadlines, budgets, cores=10.0, memory=BOUNDLESS, **setting):
    wanted = Terms(deadline=np.array(deadlines, float), budget=np.array(budgets, float))
    run = undivided_run(jobs, wanted, (cores, memory), full_deadline, MarketSetting(**setting))
    return run, wanted


def crowded(seed=1, count=50, load=1.5):
    jobs = generate(count, JobKind(high=5.0, middle=2.5), np.random.default_rng(seed))
    jobs = scaled(jobs, offered_load(jobs, 32) / load)
    return jobs, terms(jobs, np.random.default_rng(seed + 1))


def test_alone_a_job_is_on_time():
    """It bids for the reference performance: 100 s of work within 200 s, and never more than it has."""
    run, wanted = market(workload((0, 1000, 4)), [2000], [100])
    result = run.run()
    assert result.schedule.start[0] == 0.0
    assert 1000 <= result.schedule.end[0] <= 2000
    assert result.schedule.satisfaction(wanted) == 1.0


def test_rounds_are_periodic_and_empty_times_are_passed_over():
    """Arrivals at 61 and 1e6: rounds from 120 on while somebody is there, and again from 1e6 on."""
    run, _ = market(workload((61, 50, 1), (1e6, 50, 1)), [400, 2e6], [100, 100])
    times = list(run.rounds())
    assert times[0] == 120.0 and all(t % 60 == 0 for t in times)
    assert len([t for t in times if t < 1e6]) <= 4
    assert next(t for t in times if t > 1e5) == 1000020.0


def test_a_job_ends_at_its_own_time():
    """Full speed from 0: 50 s, not 60."""
    run, _ = market(workload((0, 50, 1)), [52], [100])
    assert run.run().schedule.end[0] == 50.0


def test_a_hopeless_job_is_dropped():
    """Its deadline passes before the first round; the other gets everything."""
    run, wanted = market(workload((1, 50, 8), (1, 50, 8)), [100, 400], [100, 100])
    result = run.run()
    assert np.isnan(result.schedule.start[0]) and result.schedule.in_time(wanted).tolist() == [0, 1]


def test_who_pays_more_is_first():
    """Two that each need the whole cloud in time: the cheaper one waits for a lower price or is lost."""
    jobs = workload((0, 1000, 10), (0, 1000, 10))
    result = market(jobs, [1600, 1600], [1000, 100], reserve=(5.0, 0.0))[0].run()
    assert result.schedule.end[0] <= 1600
    assert not result.schedule.end[1] <= 1600


def test_starting_and_resuming_cost_time():
    """90 s of boot come before the work."""
    late = market(workload((0, 50, 1)), [400], [100], start_cost=90.0)[0].run()
    assert late.schedule.start[0] == 0.0 and late.schedule.end[0] >= 140.0


def test_memory_can_be_scarce():
    """Memory for three quarters of two jobs: at that speed they are not both in time."""
    jobs = workload((0, 3000, 4), (0, 3000, 4))
    plenty, wanted = _with_memory(jobs, BOUNDLESS)
    assert plenty.run().schedule.in_time(wanted).all()
    scarce, wanted = _with_memory(jobs, 3072.0)
    assert not scarce.run().schedule.in_time(wanted).all()


def _with_memory(jobs, mebibytes):
    wanted = Terms(deadline=np.array([4000.0, 4000.0]), budget=np.array([100.0, 300.0]))
    setting = MarketSetting(memory=True)
    return undivided_run(jobs, wanted, (10.0, mebibytes), full_deadline, setting), wanted


def test_no_more_is_used_or_spent_than_there_is():
    """At every round: cores within the capacity; over the run: work done is what jobs are made of."""
    jobs, wanted = crowded()
    result = undivided_run(jobs, wanted, (32.0, BOUNDLESS), full_deadline, MarketSetting()).run()
    used = np.array(result.rounds.used)
    assert used.max() <= 32.0 + 1e-6
    ran = result.schedule.finished()
    assert (
        ran.any()
        and (result.schedule.end[ran] - result.schedule.start[ran] >= jobs.run[ran] - 1e-6).all()
    )
    assert (result.schedule.start[ran] >= jobs.submit[ran]).all()
    finished_work = (jobs.run * jobs.processors)[ran].sum()
    assert finished_work <= used.sum() * 60.0 + 1e-6
    rounds_each = np.ceil((result.schedule.end - result.schedule.start) / 60.0) + 1
    assert (result.paid[ran] <= (wanted.budget * rounds_each)[ran] + 1e-6).all()


def test_every_job_ends_or_is_dropped():
    """Nobody waits for ever: the run is over."""
    jobs, wanted = crowded(seed=4, count=20)
    run = undivided_run(jobs, wanted, (32.0, BOUNDLESS), full_deadline, MarketSetting())
    result = run.run()
    assert (result.schedule.finished() | (run.apps.state == PolicyState.DROPPED)).all()


@pytest.mark.parametrize('seed', [1, 2])
def test_the_market_satisfies_more_than_fcfs(seed):
    """Claim (i) of section 3.2.2, on generated jobs at 120 % load."""
    jobs, wanted = crowded(seed)
    bought = undivided_run(jobs, wanted, (32.0, BOUNDLESS), full_deadline, MarketSetting()).run()
    assert bought.schedule.satisfaction(wanted) > fcfs(jobs, 32).satisfaction(wanted) + 0.1


def test_the_same_input_gives_the_same_schedule():
    """No clock, no global generator."""
    jobs, wanted = crowded(count=20)
    ends = [
        undivided_run(
            jobs, wanted, (32.0, BOUNDLESS), full_deadline, MarketSetting(period=600.0)
        ).run()
        for _ in range(2)
    ]
    assert np.array_equal(ends[0].schedule.end, ends[1].schedule.end, equal_nan=True)


def test_a_policy_that_does_nothing_satisfies_nobody():
    """The run is the policy's: one that never starts anything leaves all deadlines to pass."""

    def idle(seen):
        steps = full_deadline(seen)
        waits = steps.state == PolicyState.RUNNING
        return replace(steps, state=np.where(waits, int(PolicyState.WAITING), steps.state))

    jobs, wanted = crowded(count=20)
    result = undivided_run(jobs, wanted, (32.0, BOUNDLESS), idle, MarketSetting(period=600.0)).run()
    assert result.schedule.satisfaction(wanted) == -1.0
