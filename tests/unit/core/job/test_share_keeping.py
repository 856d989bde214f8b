# SPDX-License-Identifier: Apache-2.0
"""Rule J10: the pass keeps the shares, whatever a policy chooses."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.job.policies.conservative import conservative
from nova_market.core.job.policies.easy import easy
from nova_market.core.job.policies.fair_tree import fair_tree
from nova_market.core.job.policies.flexible import flexible
from nova_market.core.job.policies.rigid import rigid
from nova_market.core.job.policies.tender import tender
from nova_market.core.job.policies.value import value
from nova_market.core.job.reason import ReasonCode, sentence
from nova_market.core.job.selection import decide
from tests.support.greedy_policy import greedy
from tests.support.job_builders import HOUR, Job, Run, snapshot

POLICIES = [flexible, rigid, easy, conservative, fair_tree, value, tender, greedy]
SHORT = 1800.0


@pytest.fixture(params=POLICIES, ids=lambda one: one.__name__)
def policy(request):
    return request.param


def test_long_jobs_of_a_queue_without_a_share_never_start(policy):
    """Neither in an empty cloud, nor for a value that nobody pays."""
    seen = snapshot([Job(value=2.0**53)] * 3, shares=(0.0,), hosts=(16,))
    plan = decide(seen, [policy])
    assert not len(plan.starts)
    assert set(plan.code.tolist()) == {ReasonCode.SHARE}
    assert sentence(plan.code[0], plan.numbers[0]) == 'share: would be 0.0625 of 0; a long job'


def test_long_jobs_fill_the_share_and_no_more(policy):
    """Of 16 cores a quarter; what the queue runs already counts."""
    jobs = [Job(submitted=float(n), value=1e9) for n in range(8)]
    seen = snapshot(jobs, [Run(hosts=[0])], shares=(0.25,), hosts=(16,))
    plan = decide(seen, [policy])
    assert plan.starts.tolist() == [0, 1, 2]
    assert (plan.code[3:] == ReasonCode.SHARE).all()


def test_what_one_queue_may_not_have_another_one_gets_in_the_same_pass(policy):
    """Although the first one comes first in every order of a policy."""
    jobs = [Job(value=1e12, priority=1) for _ in range(8)] + [Job(queue=1, value=1.0)] * 4
    plan = decide(snapshot(jobs, shares=(0.25, 0.75), hosts=(8,)), [policy])
    assert np.bincount(seen_queue(jobs, plan), minlength=2).tolist() == [2, 4]


def test_a_long_job_that_its_share_binds_holds_up_nobody(policy):
    """It has no room either, and comes first in every order: no room is kept for it."""
    runs = [Run(hosts=[0], queue=1, cores=4, limit=1000.0)]
    jobs = [Job(cores=8, value=1e12, priority=1), Job(queue=1, cores=2, value=1.0, limit=2000.0)]
    plan = decide(snapshot(jobs, runs, shares=(0.25, 0.75), hosts=(8,)), [policy])
    assert plan.starts.tolist() == [1]
    # who looks at room alone names the lack of it
    assert plan.code[0] == (ReasonCode.ROOM if policy is greedy else ReasonCode.SHARE)


def seen_queue(jobs, plan):
    return [jobs[row].queue for row in plan.starts.tolist()]


def test_a_short_job_of_a_queue_without_a_share_starts_where_nobody_waits(policy):
    jobs = [Job(limit=SHORT, value=1.0), Job(queue=1, value=1.0)]
    plan = decide(snapshot(jobs, shares=(0.0, 1.0), hosts=(2,)), [policy])
    # under rigid the share binds short jobs too
    assert sorted(plan.starts.tolist()) == ([1] if policy is rigid else [0, 1])


def test_and_does_not_while_somebody_waits_within_his_share(policy):
    """The wide one has no room; a policy that would pass it over may not."""
    jobs = [Job(limit=SHORT, value=1.0), Job(queue=1, cores=4, value=1.0)]
    seen = snapshot(jobs, [Run(hosts=[0], queue=1)], shares=(0.0, 1.0), hosts=(4,))
    plan = decide(seen, [policy])
    assert not len(plan.starts)
    if policy is not rigid:
        text = (
            'share: would be 0.25 of none, and jobs within the shares of other queues wait for room'
        )
        assert sentence(plan.code[0], plan.numbers[0]) == text


def test_who_waits_on_other_hosts_or_over_his_share_holds_nobody_up():
    """Aggregates that have no host in common; a queue that has used up its share."""
    wide = Job(queue=1, cores=4)
    short = Job(limit=SHORT)
    seen = snapshot([short, wide], [Run(hosts=[0], queue=1)], shares=(0.0, 1.0), hosts=(4, 4))
    rows = np.array([[False, True], [True, False]])
    queues = replace(seen.queues, aggregate=np.array([0, 1]))
    apart = replace(seen, hosts=replace(seen.hosts, aggregates=rows), queues=queues)
    assert decide(apart, [flexible]).starts.tolist() == [0]
    used_up = replace(seen, queues=replace(seen.queues, share=np.array([0.0, 0.1])))
    assert 0 in decide(used_up, [flexible]).starts


def test_nobody_is_preempted_for_a_queue_without_a_share():
    """Anybody can have one; the one with a share displaces the best-effort job."""
    runs = [Run(hosts=[0], cores=2.0, best_effort=True, started=-HOUR)]
    jobs = [Job(limit=SHORT, cores=2), Job(queue=1, cores=2), Job(queue=1, cores=4)]
    seen = snapshot(jobs, runs, shares=(0.0, 1.0), hosts=(2,))
    plan = decide(seen, [flexible])
    assert plan.preemptions.displacer.tolist() == [1]
    alone = decide(snapshot(jobs[:1], runs, shares=(0.0, 1.0), hosts=(2,)), [flexible])
    assert alone.preemptions.displacer.tolist() == []


def test_a_victim_goes_once():
    """Also where the jobs that displace are of two queues."""
    runs = [Run(hosts=[0], best_effort=True, started=-HOUR) for _ in range(2)]
    jobs = [Job(queue=1), Job(limit=SHORT)]
    plan = decide(snapshot(jobs, runs, shares=(0.5, 0.5), hosts=(2,)), [flexible])
    assert sorted(plan.preemptions.victim.tolist()) == [0, 1]
    assert sorted(plan.preemptions.displacer.tolist()) == [0, 1]
