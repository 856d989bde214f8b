# SPDX-License-Identifier: Apache-2.0
"""Prometheus text of a pass over the queues of jobs."""

from dataclasses import replace

import pytest
from prometheus_client import generate_latest

from nova_market.core.job.minutes import PassRead
from nova_market.core.job.queue import WorkerState
from nova_market.core.job.record import JobAction, JobEvent, JobKind, JobState
from nova_market.core.job.store_values import JobStep
from nova_market.services.job.metrics import MOST_QUEUES, JobsCollector
from nova_market.services.job.pass_seen import PassSeen
from tests.support.job_records import id_of, job, queue, waiting_rows, worker

NOW = 5000.0
NIGHT = 'project="red",queue="night"'


def seen(*, queues=None, waiting=(), active=(), capacity=None, **more):
    read = PassRead(
        now=NOW,
        queues=[queue(share=0.25)] if queues is None else queues,
        waiting=waiting_rows(waiting),
        active=active,
        attempts={},
        capacity=capacity or {'': (16.0, 65_536.0)},
    )
    return PassSeen(read=read, **more)


def text(*passes, leads=True):
    collector = JobsCollector(lambda: leads)
    for one in passes:
        collector.observe(one)
    return generate_latest(collector.registry()).decode()


def step(name, *actions):
    events = tuple(JobEvent(job_id=id_of(name), at=NOW, action=one) for one in actions)
    return JobStep(job_id=id_of(name), before=JobState.WAITING, events=events)


def test_jobs_and_workers_are_counted_by_queue_and_state():
    found = text(
        seen(
            waiting=[job('a'), job('b')],
            active=[job('c', state=JobState.RUNNING), job('d', state=JobState.SUSPENDED)],
            workers=[worker(state=WorkerState.BUSY), worker('v', queue='gone')],
        )
    )
    for state, count in (('waiting', 2), ('running', 1), ('suspended', 1), ('starting', 0)):
        assert f'nova_market_queue_jobs{{{NIGHT},state="{state}"}} {count}.0' in found
    assert f'nova_market_queue_workers{{{NIGHT},state="busy"}} 1.0' in found
    others = 'project="",queue="(others)",state="starting"'
    assert f'nova_market_queue_workers{{{others}}} 1.0' in found


def test_the_share_that_is_used_is_the_greater_part_and_of_production_jobs():
    """2 servers of 2 of 16 cores; of memory it is less. Best-effort jobs are outside the shares."""
    held = {'state': JobState.RUNNING, 'cores': 2.0, 'servers': 2}
    found = text(seen(active=[job('a', **held), job('b', kind=JobKind.BEST_EFFORT, **held)]))
    assert f'nova_market_queue_share_used{{{NIGHT}}} 0.25' in found
    assert f'nova_market_queue_share_granted{{{NIGHT}}} 0.25' in found


def test_the_share_of_an_aggregate_is_of_its_capacity():
    found = text(
        seen(
            queues=[queue(aggregate='fast')],
            active=[job(state=JobState.RUNNING)],
            capacity={'': (16.0, 65_536.0), 'fast': (4.0, 2048.0)},
        )
    )
    assert f'nova_market_queue_share_used{{{NIGHT}}} 0.5' in found


def test_the_oldest_job_that_may_start_counts_as_waiting():
    """Not one that its owner lets begin later."""
    found = text(
        seen(
            waiting=[
                job('a', submitted_at=NOW - 90),
                job('b', submitted_at=NOW - 900, not_before=NOW + 1),
                job('c', submitted_at=NOW - 500, not_before=NOW - 100),
            ]
        )
    )
    assert f'nova_market_queue_oldest_waiting_seconds{{{NIGHT}}} 100.0' in found


def test_what_happened_is_added_up_over_passes():
    first = seen(waiting=[job('a')], steps=[step('a', JobAction.STARTING, JobAction.STARTED)])
    second = seen(
        active=[job('a', state=JobState.RUNNING)],
        steps=[step('a', JobAction.LOST, JobAction.FAILED), step('x', JobAction.PREEMPTED)],
        seconds=0.5,
        selection_seconds=0.125,
        troubled=3,
    )
    found = text(first, second, first)
    for name, count in (('starts', 2), ('lost', 1), ('failed', 1), ('finished', 0)):
        assert f'nova_market_queue_{name}_total{{{NIGHT}}} {count}.0' in found
    assert 'nova_market_queue_preemptions_total{project="",queue="(others)"} 1.0' in found
    assert 'nova_market_jobs_passes_total 3.0' in found
    last = text(first, second)
    assert 'nova_market_jobs_pass_seconds 0.5' in last
    assert 'nova_market_jobs_selection_seconds 0.125' in last
    assert 'nova_market_jobs_troubled_queues 3.0' in last
    assert f'nova_market_jobs_last_pass_timestamp_seconds {NOW}' in last


def test_a_job_that_has_ended_counts_for_its_queue():
    """It is not active any more when the pass reads. The pass before had it, or its servers are named."""
    ended = replace(step('b', JobAction.FINISHED), workers=(worker('w', queue='night'),))
    found = text(
        seen(active=[job('a', state=JobState.RUNNING)]),
        seen(steps=[step('a', JobAction.FINISHED), ended]),
    )
    assert f'nova_market_queue_finished_total{{{NIGHT}}} 2.0' in found
    started = seen(waiting=[job('a')], steps=[step('a', JobAction.STARTING)])
    found = text(started, seen(steps=[step('a', JobAction.FAILED)]))
    assert f'nova_market_queue_failed_total{{{NIGHT}}} 1.0' in found


def test_the_oldest_queues_have_series_of_their_own():
    """The others are one, so that a thousand queues make as many series as a hundred."""
    queues = [queue(f'q{n}', created_at=float(n), share=0.001) for n in range(MOST_QUEUES + 20)]
    found = text(seen(queues=list(reversed(queues))))
    shares = [
        line for line in found.splitlines() if line.startswith('nova_market_queue_share_granted{')
    ]
    assert len(shares) == MOST_QUEUES + 1
    assert 'queue="q0"' in found and f'queue="q{MOST_QUEUES}"' not in found
    assert shares[-1].startswith(
        'nova_market_queue_share_granted{project="",queue="(others)"} 0.02'
    )


def test_series_of_a_queue_that_is_gone_go():
    step_ = step('a', JobAction.STARTED)
    found = text(seen(waiting=[job('a')], steps=[step_]), seen(queues=[]))
    assert 'night' not in found


@pytest.mark.parametrize('leads', [True, False])
def test_a_standby_shows_that_it_is_one(leads):
    found = text(seen(), leads=leads)
    assert f'nova_market_jobs_leader {float(leads)}' in found
    assert ('nova_market_queue_jobs' in found) is leads
