# SPDX-License-Identifier: Apache-2.0
"""A job that starts, runs and ends, as its workers report it (rules J2, J5)."""

from dataclasses import replace

import pytest

from nova_market.core.job.queue import DesiredWorkerState
from nova_market.core.job.record import AttemptState, JobState
from nova_market.core.market.inventory import CloudHost
from nova_market.core.resource import HostName
from tests.support.job_life import BEGAN, PACE, Life

GONE = DesiredWorkerState.GONE
PRESENT = DesiredWorkerState.PRESENT


def host(**more):
    return CloudHost(name=HostName('a'), cores=4.0, memory_mib=8192.0, **more)


def test_a_job_whose_server_is_being_built_has_no_step():
    assert Life().step(after=100) is None


def test_a_job_runs_when_its_worker_has_begun_and_its_time_counts_from_then():
    life = Life()
    life.now += 60
    life.reports()
    assert life.step().events[0].action == 'started'
    assert (life.job.state, life.job.started_at) == (JobState.RUNNING, BEGAN + 60)
    assert life.step() is None


def test_a_gang_runs_when_the_last_of_its_servers_has_begun():
    life = Life(servers=2)
    life.reports(rank=0)
    assert life.step(after=20) is None
    life.reports(rank=0)
    life.reports(rank=1)
    life.settle()
    assert (life.job.state, life.job.started_at) == (JobState.RUNNING, BEGAN + 20)


def test_a_job_that_has_finished_leaves_an_idle_worker():
    life = Life().runs()
    life.now += 10
    life.reports(AttemptState.FINISHED, exit_code=0)
    life.settle()
    assert (life.job.state, life.job.exit_code, life.job.ended_at) == (
        JobState.FINISHED, 0, BEGAN + 10,
    )  # fmt: skip
    assert life.job.reason.code == 'exit'
    assert life.is_free() and life.worker_of().idle_since == BEGAN + 10
    assert life.actions() == ['started', 'finished']


def test_a_queue_that_uses_no_worker_twice_lets_it_go():
    life = Life(reuse=False).runs()
    life.reports(AttemptState.FINISHED, exit_code=0)
    life.settle()
    assert life.worker_of().intention is GONE and life.worker_of().job_id == ''


def test_a_short_job_may_end_between_two_looks():
    life = Life()
    life.reports()
    life.reports(AttemptState.FAILED, exit_code=7)
    life.settle()
    assert (life.job.state, life.job.exit_code, life.job.started_at) == (JobState.FAILED, 7, BEGAN)
    assert life.job.reason.numbers == {'exit_code': 7}
    assert life.actions() == ['started', 'failed']


def test_a_job_that_its_worker_has_ended_at_its_time_limit_says_so():
    life = Life(time_limit=600).runs()
    life.now += 600
    life.reports(AttemptState.FAILED, text='time limit: it ran for 600 s')
    life.settle()
    assert (life.job.state, life.job.reason.code) == (JobState.FAILED, 'time_limit')


def test_a_gang_has_ended_when_all_of_its_servers_have():
    life = Life(servers=2).runs()
    life.reports(AttemptState.FINISHED, exit_code=0)
    assert life.step() is None
    life.reports(AttemptState.FINISHED, rank=1, exit_code=0)
    life.settle()
    assert life.job.state is JobState.FINISHED
    assert life.is_free(0) and life.is_free(1)


def test_a_gang_has_failed_when_one_of_its_servers_has_and_the_others_are_ended():
    life = Life(servers=2).runs()
    life.reports(AttemptState.FAILED, rank=1, exit_code=3)
    life.settle()
    assert (life.job.state, life.job.exit_code) == (JobState.FAILED, 3)
    assert life.state_of(0) is AttemptState.CANCELLED
    assert life.worker_of(0).intention is GONE and life.is_free(1)
    assert 'server 1' in life.job.reason.text


def test_a_silent_worker_is_lost_and_its_job_waits_again_while_retries_last():
    life = Life(retries=1).runs()
    assert life.step(after=PACE.silence) is None
    life.settle(after=1)
    assert (life.job.state, life.job.lost, life.state_of()) == (
        JobState.WAITING, 1, AttemptState.LOST,
    )  # fmt: skip
    assert life.actions() == ['started', 'lost', 'requeued']
    # it keeps the job, so that a message of it can take the job back
    assert life.worker_of().intention is PRESENT and life.worker_of().job_id == life.job.id


def test_a_lost_job_without_retries_has_failed():
    life = Life(retries=1, lost=1).runs()
    life.settle(after=PACE.silence + 1)
    assert (life.job.state, life.job.lost, life.job.reason.code) == (JobState.FAILED, 2, 'lost')
    assert life.worker_of().intention is GONE
    assert life.actions() == ['started', 'lost', 'failed']


def test_a_lost_server_of_a_gang_ends_all_and_nobody_is_taken_back():
    life = Life(servers=2).runs()
    life.now += PACE.silence + 1
    life.reports(rank=0)
    life.settle()
    assert life.job.state is JobState.WAITING
    assert (life.state_of(0), life.state_of(1)) == (AttemptState.CANCELLED, AttemptState.LOST)
    # both may still run their scripts: the job waits until the servers are deleted
    assert all(life.worker_of(rank).intention is GONE for rank in (0, 1))
    assert all(life.worker_of(rank).job_id for rank in (0, 1))


@pytest.mark.parametrize(
    ('reported', 'up', 'by_cloud'),
    [(PACE.silence, True, False), (0.0, False, True), (PACE.silence, False, True)],
    ids=['host-works', 'host-failed', 'host-failed-later'],
)
def test_a_silent_worker_is_the_clouds_where_its_host_is_down(reported, up, by_cloud):
    life = Life().runs()
    life.host = host(answering=up, reported_at=BEGAN + reported)
    life.settle(after=PACE.silence + 1)
    own = life.attempts[1, 0]
    assert (own.state, own.by_cloud) == (AttemptState.LOST, by_cloud)


def test_nobody_decides_why_a_worker_is_silent_before_nova_knows():
    """Its host was not heard of since: it may have failed, and Nova says so after a minute, or it reports."""
    for settles in ({'answering': False}, {'reported_at': BEGAN + 80}):
        life = Life().runs()
        life.host = host(reported_at=BEGAN - 5)
        assert life.step(after=PACE.silence + 1) is None
        life.host = replace(life.host, **settles)
        life.settle(after=20)
        assert life.attempts[1, 0].by_cloud is ('answering' in settles)
        assert life.job.state is JobState.WAITING


def test_a_clock_of_novas_that_is_behind_keeps_no_worker_for_ever():
    life = Life().runs()
    life.host = host(reported_at=BEGAN - 5)
    assert life.step(after=3 * PACE.silence) is None
    life.settle(after=1)
    own = life.attempts[1, 0]
    assert (own.state, own.by_cloud) == (AttemptState.LOST, False)


def test_what_nobody_could_receive_is_no_silence():
    life = Life().runs()
    life.now += 1000
    life.listening_since = life.now - PACE.silence
    assert life.step() is None


def test_a_deleted_server_is_lost_at_once_but_not_where_the_cloud_does_not_answer():
    life = Life().runs()
    life.server(0, None)
    life.unknown = None
    assert life.step() is None
    life.unknown = (life.worker_of().id,)
    assert life.step() is None
    life.unknown = ()
    life.settle()
    assert life.job.state is JobState.WAITING and life.worker_of().intention is GONE


def test_an_agent_that_was_started_anew_has_lost_its_job_and_its_server_goes():
    life = Life().runs()
    life.reports(AttemptState.LOST, text='its worker asked for a job while it ran')
    life.settle()
    assert (life.job.state, life.job.lost) == (JobState.WAITING, 1)
    assert life.worker_of().intention is GONE and life.worker_of().job_id == life.job.id


def test_a_lost_job_that_was_taken_back_runs_on_and_its_worker_is_wanted_again():
    life = Life().runs()
    life.settle(after=PACE.silence + 1)
    life.now += 5
    # what the API does when it hears of the worker
    own = life.attempts[1, 0]
    life.attempts[1, 0] = replace(own, state=AttemptState.RUNNING, ended_at=0.0)
    life.job = replace(life.job, state=JobState.RUNNING, changed_at=life.now)
    life.reports()
    life.settle()
    assert life.job.state is JobState.RUNNING and life.worker_of().idle_since == 0.0
    life.reports(AttemptState.FINISHED, exit_code=0)
    life.settle()
    assert (life.job.state, life.job.lost) == (JobState.FINISHED, 1) and life.is_free()


@pytest.mark.parametrize('heard', [0, 590])
def test_a_worker_past_its_limit_was_lost_unless_it_was_heard_of_until_then(heard):
    life = Life(time_limit=600, notice=30).runs()
    life.now += heard
    if heard:
        life.reports()
    # the service itself was away
    life.settle(after=700 - heard)
    if heard:
        assert (life.job.state, life.job.reason.code) == (JobState.FAILED, 'time_limit')
        assert life.worker_of().intention is GONE
    else:
        assert (life.job.state, life.job.reason.code) == (JobState.WAITING, 'lost')


def test_a_worker_that_does_not_end_its_job_at_the_limit_is_ended():
    """Whatever its notice is: what it may cost is held until the limit."""
    life = Life(time_limit=600, notice=300).runs()
    for _ in range(62):
        life.now += 10
        life.reports()
        assert life.step() is None
    life.now += 10
    life.reports()
    life.settle()
    assert (life.job.state, life.job.reason.code) == (JobState.FAILED, 'time_limit')


def test_a_job_that_has_ended_has_no_step():
    assert Life(state=JobState.FINISHED).step() is None
    assert Life(state=JobState.WAITING).step() is None
