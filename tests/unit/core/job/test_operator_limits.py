# SPDX-License-Identifier: Apache-2.0
"""Rule J11: of a queue's limit and the operator's the lower one is in force, also for what is stored."""

from dataclasses import replace

import pytest

from nova_market.core.job.operator_limits import (
    JobLimits,
    job_in_force,
    jobs_in_force,
    queue_in_force,
)
from nova_market.core.job.queue import QueueLimits
from nova_market.core.job.record import JobKind, PreemptAction
from tests.support.job_records import id_of, job, queue

MOST = JobLimits(max_short_below=600, max_notice=60, max_least_run_time=300, max_retries=2)


@pytest.mark.parametrize(('own', 'found'), [(None, 60), (30, 30), (90, 60), (0, 0)])
def test_the_lower_limit_is_in_force(own, found):
    """None of the queue: the operator's."""
    limited = queue_in_force(queue(limits=QueueLimits(max_notice=own)), MOST)
    assert limited.limits.max_notice == found
    assert (limited.limits.max_least_run_time, limited.limits.max_retries) == (300, 2)


def test_a_queue_keeps_what_is_within_and_all_that_has_no_limit():
    kept = queue(short_below=300, limits=QueueLimits(max_array=7))
    assert queue_in_force(kept, MOST).short_below == 300
    assert queue_in_force(kept, MOST).limits.max_array == 7
    assert queue_in_force(replace(kept, short_below=30 * 86_400), MOST).short_below == 600


def test_a_job_has_what_is_in_force_for_its_queue():
    """One whose queue is gone has the operator's limits; one within them is the same object."""
    greedy = {'notice': 9999, 'least_run_time': 9999, 'retries': 99}
    jobs = [job('a', **greedy), job('b', queue='gone', **greedy), job('c', notice=1)]
    strict = queue(limits=QueueLimits(max_notice=5, max_least_run_time=9999))
    one, other, within = jobs_in_force(jobs, [strict], MOST)
    assert (one.notice, one.least_run_time, one.retries) == (5, 300, 2)
    assert (other.notice, other.least_run_time, other.retries) == (60, 300, 2)
    assert within is jobs[2] and one.id == id_of('a')


@pytest.mark.parametrize(
    ('kind', 'found'),
    [(JobKind.BEST_EFFORT, PreemptAction.SHELVE), (JobKind.PRODUCTION, PreemptAction.SUSPEND)],
)
def test_a_best_effort_job_does_not_keep_its_room_suspended(kind, found):
    """A production job is not preempted, whatever it has asked for."""
    asked = job(kind=kind, preempt_action=PreemptAction.SUSPEND)
    assert job_in_force(asked, QueueLimits()).preempt_action is found
