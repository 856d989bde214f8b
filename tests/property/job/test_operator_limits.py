# SPDX-License-Identifier: Apache-2.0
"""What no tenant can bend, whatever it asks for: shares (J10), and how soon its room is free again (J11)."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.job.operator_limits import JobLimits, jobs_in_force
from nova_market.core.job.policies.conservative import conservative
from nova_market.core.job.policies.easy import easy
from nova_market.core.job.policies.fair_tree import fair_tree
from nova_market.core.job.policies.flexible import flexible
from nova_market.core.job.policies.rigid import rigid
from nova_market.core.job.policies.tender import tender
from nova_market.core.job.policies.value import value
from nova_market.core.job.policy_interface import JobPolicy, JobSnapshot
from nova_market.core.job.preemption import preemptible
from nova_market.core.job.queue import DesiredWorkerState, QueueLimits, WorkerState
from nova_market.core.job.record import (
    ENDED,
    OPEN_ATTEMPT,
    AttemptState,
    JobKind,
    JobState,
    JobWish,
    PreemptAction,
)
from nova_market.core.job.selection import decide
from nova_market.core.market.owner_server import ServerState
from nova_market.sim.job.hosts import PLENTY, equal_hosts
from nova_market.sim.job.job_run import JobRun
from nova_market.sim.job.policy_selector import PolicySelector, QueueSetting
from tests.property.job.strategies import snapshots
from tests.support.greedy_policy import greedy
from tests.support.job_builders import Run, running_jobs
from tests.support.job_life import SETTINGS, Life
from tests.support.job_records import queue
from tests.support.simulated_jobs import submissions

POLICIES: list[JobPolicy] = [
    flexible, rigid, easy, conservative, fair_tree, value, tender, greedy,
]  # fmt: skip
ROUNDING = 1e-8
MOST = JobLimits(max_short_below=600, max_notice=120, max_least_run_time=300, max_retries=2)
MONTH = 30 * 86_400

each_policy = pytest.mark.parametrize('policy', POLICIES, ids=lambda one: one.__name__)


def use_of(seen: JobSnapshot, queue: int, starts: list[int]) -> np.ndarray:
    """Parts of cores and memory that production jobs hold which run, and those that start."""
    total = seen.hosts.capacity[:2].sum(axis=1)
    held = np.zeros(2)
    running, waiting = seen.running, seen.waiting
    for job in np.flatnonzero(~running.best_effort & (running.queue == queue)).tolist():
        held += running.amount[:2, job] * running.servers[job]
    for job in starts:
        if waiting.queue[job] == queue and not waiting.best_effort[job]:
            held += waiting.amount[:2, job] * waiting.servers[job]
    return np.divide(held, total, out=np.zeros(2), where=total > 0)


@each_policy
@given(seen=snapshots())
def test_no_long_job_takes_its_queue_over_its_share_under_any_policy(seen, policy):
    """In the order in which the pass starts them."""
    starts = decide(seen, [policy]).starts.tolist()
    for place, job in enumerate(starts):
        queue = int(seen.waiting.queue[job])
        long = seen.waiting.time_limit[job] > seen.queues.short_below[queue]
        if long and not seen.waiting.best_effort[job] and seen.queues.share[queue] < 1.0:
            use = use_of(seen, queue, starts[: place + 1])
            assert (use <= seen.queues.share[queue] + ROUNDING).all()


_jobs = st.builds(
    dict,
    queue=st.integers(0, 1),
    submit=st.integers(0, 40).map(lambda n: n * 60.0),
    run=st.sampled_from([60.0, 600.0, 3000.0]),
    limit=st.sampled_from([3000.0, 20_000.0]),
    cores=st.integers(1, 4),
    servers=st.sampled_from([1, 1, 2]),
)
"""Of a queue without a share, and of one that has all of it."""


@each_policy
@given(
    jobs=st.lists(_jobs, max_size=14),
    short_below=st.sampled_from([600, 3000, MONTH]),
)
def test_a_queue_of_share_0_holds_nothing_while_others_wait(jobs, policy, short_below):
    """It starts nothing from then on, and what it has ends within the operator's longest short time limit."""
    jobs = sorted(jobs, key=lambda one: one['submit'])
    short = min(short_below, MOST.max_short_below)
    for one in jobs:  # as many short ones as long ones, and none runs past its limit
        one['limit'] = one['run'] if one['run'] <= short else one['limit']
    given_jobs = submissions(*jobs, queues=2)
    setting = QueueSetting(shares=np.array([0.0, 1.0]), short_below=float(short))
    selector = PolicySelector(policy=policy, setting=setting)
    held = (
        JobRun(jobs=given_jobs, hosts=equal_hosts(2, 4, PLENTY), selector=selector).run().holdings
    )
    begin = dict(zip(held.job.tolist(), held.begin.tolist(), strict=True))
    for job in np.flatnonzero(given_jobs.queue == 1).tolist():
        waits, until = given_jobs.submit[job], begin.get(job, np.inf)
        assert until < np.inf, 'it never starts'
        for other, first, last in zip(held.job, held.begin, held.end, strict=True):
            if given_jobs.queue[other] == 0:
                assert not waits < first < until
                assert not (first < until and min(last, until) > waits + MOST.max_short_below)


@given(
    given_up=st.integers(0, MONTH),
    own=st.sampled_from([None, 0, 60, MONTH]),
    action=st.sampled_from(PreemptAction),
)
def test_a_best_effort_job_may_be_preempted_after_the_largest_least_run_time(given_up, own, action):
    """Whatever it asks for, and whatever its queue allows it."""
    life = Life(kind=JobKind.BEST_EFFORT, least_run_time=given_up, preempt_action=action)
    of = queue(limits=QueueLimits(max_least_run_time=own))
    (job,) = jobs_in_force([life.job], [of], MOST)
    least = float(job.least_run_time)
    running = running_jobs([Run(hosts=[0], best_effort=True, started=0.0, least_run_time=least)])
    assert preemptible(running, float(MOST.max_least_run_time)).all()


SERVERS = 2
_ranks = st.integers(0, SERVERS - 1)
_of_tenant = st.one_of(
    st.tuples(st.just('wait'), st.sampled_from([1.0, 30.0, 61.0])),
    st.tuples(st.just('calls'), _ranks),
    st.tuples(st.just('reports'), _ranks, st.sampled_from(AttemptState)),
    st.tuples(st.just('wish'), st.sampled_from(JobWish)),
    st.tuples(st.just('stops'), _ranks),
)
"""What the guests of a job and its owner can do."""


def does(life: Life, what: str, *rest) -> None:
    if what == 'wait':
        life.now += rest[0]
        return
    if what == 'wish':
        if life.job.wish is not JobWish.CANCEL:
            life.job = replace(life.job, wish=rest[0])
        return
    rank = rest[0] % life.job.servers
    if what == 'calls':
        life.calls(rank)
    elif what == 'stops':
        life.server(rank, ServerState.STOPPED)
    elif life.state_of(rank) in OPEN_ATTEMPT:
        life.reports(rest[1], rank=rank, exit_code=0)


@given(
    servers=st.integers(1, SERVERS),
    action=st.sampled_from(PreemptAction),
    notice=st.integers(0, MONTH),
    limit=st.sampled_from([None, 0, 30, MONTH]),
    before=st.lists(_of_tenant, max_size=4),
    after=st.lists(_of_tenant, max_size=8),
)
def test_after_the_largest_notice_the_room_is_free(servers, action, notice, limit, before, after):
    """No message of a guest and no wish of the owner keeps it: its workers go, or are free."""
    life = Life(servers=servers, kind=JobKind.BEST_EFFORT, preempt_action=action, notice=notice)
    of = queue(limits=QueueLimits(max_notice=limit))
    (life.job,) = jobs_in_force([life.job], [of], MOST)
    life.runs()
    for what, *rest in before:
        does(life, what, *rest)
        life.settle()
    if life.job.state is not JobState.RUNNING:
        return
    ordered = life.now
    life.job = replace(life.job, state=JobState.PREEMPTING, changed_at=ordered, displaced_by='x')
    life.attempts = {
        key: replace(one, state=AttemptState.PREEMPTING) if one.state in OPEN_ATTEMPT else one
        for key, one in life.attempts.items()
    }
    life.settle()
    for what, *rest in after:
        does(life, what, *rest)
        life.settle()
    # where servers are put to rest, Nova has the time that any change of a server has
    nova = SETTINGS.start_timeout if life.job.preempt_action is PreemptAction.SHELVE else 0.0
    life.now = max(life.now, ordered + max(MOST.max_notice, nova) + SETTINGS.margin + 1.0)
    life.settle()
    assert life.job.state in (JobState.WAITING, *ENDED)
    for one in life.workers.values():
        free = one.state is WorkerState.IDLE and not one.job_id
        assert one.intention is DesiredWorkerState.GONE or free
