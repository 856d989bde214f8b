# SPDX-License-Identifier: Apache-2.0
"""A job that its owner cancels or wants again, one that is preempted, and one that cannot start (J4, J5)."""

from dataclasses import replace

import pytest

from nova_market.core.job.queue import DesiredWorkerState, WorkerState
from nova_market.core.job.record import AttemptState, JobState, JobWish, PreemptAction
from nova_market.core.market.owner_server import ServerState
from tests.support.job_life import BEGAN, PACE, SETTINGS, Life

GONE = DesiredWorkerState.GONE
PRESENT = DesiredWorkerState.PRESENT
REST = {
    PreemptAction.SUSPEND: (DesiredWorkerState.SUSPENDED, ServerState.SUSPENDED),
    PreemptAction.SHELVE: (DesiredWorkerState.SHELVED, ServerState.SHELVED),
}


def wish(life, what):
    life.job = replace(life.job, wish=what)


def preempt(life):
    """The order of a pass."""
    kept = REST.get(life.job.preempt_action)
    life.job = replace(
        life.job, state=JobState.PREEMPTING, changed_at=life.now, displaced_by='other'
    )
    for key, one in life.attempts.items():
        life.attempts[key] = replace(one, state=AttemptState.PREEMPTING)
        if kept is not None:
            worker = life.workers[one.worker_id]
            life.workers[worker.id] = replace(worker, intention=kept[0])


def test_a_job_that_is_cancelled_while_its_server_boots_ends_at_once():
    life = Life()
    wish(life, JobWish.CANCEL)
    life.settle()
    assert (life.job.state, life.state_of()) == (JobState.CANCELLED, AttemptState.CANCELLED)
    assert life.worker_of().intention is GONE and life.worker_of().job_id == ''
    assert life.actions() == ['cancelled']


def test_a_worker_that_has_called_before_its_job_was_cancelled_is_free():
    life = Life(servers=2)
    life.now += 5
    life.calls(rank=1)
    wish(life, JobWish.CANCEL)
    life.settle()
    assert life.worker_of(0).intention is GONE and life.is_free(1)


def test_a_running_job_that_is_cancelled_gets_its_notice_and_ends_when_its_worker_reports():
    life = Life(notice=30).runs()
    wish(life, JobWish.CANCEL)
    life.settle()
    assert (life.job.state, life.state_of()) == (JobState.PREEMPTING, AttemptState.PREEMPTING)
    life.now += 20
    life.reports(AttemptState.CANCELLED)
    life.settle()
    assert life.job.state is JobState.CANCELLED and life.is_free()
    assert life.actions() == ['started', 'preempting', 'cancelled']


def test_a_worker_that_does_not_end_a_cancelled_job_goes_after_the_notice():
    life = Life(notice=30).runs()
    wish(life, JobWish.CANCEL)
    life.settle()
    assert life.step(after=30 + SETTINGS.margin) is None
    life.settle(after=1)
    assert (life.job.state, life.worker_of().intention) == (JobState.CANCELLED, GONE)


def test_a_job_that_had_finished_before_it_was_cancelled_has_finished():
    life = Life().runs()
    life.reports(AttemptState.FINISHED, exit_code=0)
    wish(life, JobWish.CANCEL)
    life.settle()
    assert life.job.state is JobState.FINISHED


@pytest.mark.parametrize(
    'end', [AttemptState.PREEMPTED, AttemptState.FINISHED, AttemptState.FAILED]
)
def test_a_running_job_that_is_wanted_again_waits_however_it_ends(end):
    life = Life().runs()
    wish(life, JobWish.REQUEUE)
    life.settle()
    assert life.job.state is JobState.PREEMPTING
    life.reports(end, exit_code=0)
    life.settle()
    assert (life.job.state, life.job.wish, life.job.requeues) == (JobState.WAITING, JobWish.RUN, 1)
    assert life.is_free() and life.actions()[-1] == 'requeued'


def test_a_job_that_is_wanted_again_while_its_server_boots_waits_at_once():
    life = Life()
    wish(life, JobWish.REQUEUE)
    life.settle()
    assert (life.job.state, life.job.requeues) == (JobState.WAITING, 1)


def test_a_preempted_job_is_queued_again_and_its_worker_makes_room():
    life = Life(preempt_action=PreemptAction.REQUEUE).runs()
    preempt(life)
    assert life.step(after=10) is None
    life.reports(AttemptState.PREEMPTED)
    life.settle()
    assert (life.job.state, life.job.requeues, life.job.displaced_by) == (
        JobState.WAITING, 1, 'other',
    )  # fmt: skip
    assert life.worker_of().intention is GONE and life.worker_of().job_id == ''
    assert life.actions() == ['started', 'preempted', 'requeued']


def test_a_preempted_job_may_finish_within_its_notice():
    life = Life().runs()
    preempt(life)
    life.reports(AttemptState.FINISHED, exit_code=0)
    life.settle()
    assert life.job.state is JobState.FINISHED


def test_a_preempted_job_whose_action_is_stop_has_failed():
    life = Life(preempt_action=PreemptAction.STOP).runs()
    preempt(life)
    life.reports(AttemptState.PREEMPTED)
    life.settle()
    assert (life.job.state, life.job.reason.code) == (JobState.FAILED, 'preempted')
    assert life.actions() == ['started', 'preempted', 'failed']


def test_a_preempted_job_whose_worker_is_silent_is_queued_again_after_its_notice():
    life = Life(notice=100, retries=0).runs()
    preempt(life)
    assert life.step(after=100 + SETTINGS.margin) is None
    life.settle(after=1)
    assert (life.job.state, life.job.lost) == (JobState.WAITING, 0)
    # its script may run on there until the server is deleted
    assert life.worker_of().intention is GONE and life.worker_of().job_id == life.job.id


def test_a_preempted_job_whose_server_is_gone_waits_again_and_no_retry_is_taken():
    """It was leaving: that its host fails meanwhile is no loss of its own."""
    life = Life(retries=0).runs()
    preempt(life)
    life.server(0, None)
    life.settle()
    assert (life.job.state, life.job.lost, life.job.requeues) == (JobState.WAITING, 0, 1)
    assert life.actions()[-2:] == ['preempted', 'requeued']


def test_a_worker_that_is_stopped_though_nothing_displaces_its_job_has_it_queued_again():
    life = Life(preempt_action=PreemptAction.STOP).runs()
    life.reports(AttemptState.PREEMPTED)
    life.settle()
    assert life.job.state is JobState.WAITING


def test_when_one_server_of_a_gang_is_stopped_the_others_get_their_notice():
    life = Life(servers=2).runs()
    life.reports(AttemptState.PREEMPTED, rank=0)
    life.settle()
    assert (life.job.state, life.state_of(1)) == (JobState.PREEMPTING, AttemptState.PREEMPTING)
    life.reports(AttemptState.PREEMPTED, rank=1)
    life.settle()
    assert life.job.state is JobState.WAITING


@pytest.mark.parametrize('action', list(REST))
def test_a_preempted_job_whose_servers_are_kept_goes_on_in_the_same_attempt(action):
    life = Life(preempt_action=action, servers=2, retries=0).runs()
    preempt(life)
    life.server(0, REST[action][1])
    assert life.step(after=10) is None
    life.server(1, REST[action][1])
    life.settle()
    assert (life.job.state, life.job.requeues) == (JobState.SUSPENDED, 1)
    assert life.worker_of().state is WorkerState.SUSPENDED
    assert life.actions()[1:] == ['preempted', 'suspended']
    # silence is no loss there
    assert life.step(after=100_000) is None
    resume(life)
    assert life.step(after=10) is None
    for rank in range(2):
        life.server(rank, ServerState.RUNNING)
    life.settle()
    assert (life.job.state, life.job.attempt, life.actions()[-1]) == (
        JobState.RUNNING, 1, 'resumed',
    )  # fmt: skip
    assert life.state_of() is AttemptState.RUNNING and life.worker_of().state is WorkerState.BUSY
    for rank in range(2):
        life.reports(AttemptState.FINISHED, rank=rank, exit_code=0)
    life.settle()
    assert life.job.state is JobState.FINISHED


def resume(life):
    """What a pass orders when there is room."""
    life.job = replace(life.job, state=JobState.STARTING, changed_at=life.now, displaced_by='')
    for one in life.workers.values():
        life.workers[one.id] = replace(one, intention=PRESENT, state=WorkerState.STARTING)


def suspended(**more):
    life = Life(**{'preempt_action': PreemptAction.SHELVE, **more}).runs()
    preempt(life)
    life.server(0, REST[life.job.preempt_action][1])
    life.settle()
    assert life.job.state is JobState.SUSPENDED
    return life


def test_a_suspended_job_that_is_cancelled_ends_at_once():
    life = suspended()
    wish(life, JobWish.CANCEL)
    life.settle()
    assert (life.job.state, life.worker_of().intention) == (JobState.CANCELLED, GONE)


def test_a_suspended_job_that_is_wanted_again_waits_without_its_server():
    life = suspended()
    wish(life, JobWish.REQUEUE)
    life.settle()
    assert (life.job.state, life.worker_of().intention) == (JobState.WAITING, GONE)


def test_a_suspended_job_whose_server_is_deleted_waits_again_and_no_retry_is_taken():
    life = suspended(retries=0)
    life.server(0, None)
    life.settle()
    assert (life.job.state, life.job.lost) == (JobState.WAITING, 0)


def test_a_server_that_does_not_come_back_is_given_up():
    life = suspended(retries=0)
    resume(life)
    assert life.step(after=SETTINGS.start_timeout) is None
    life.settle(after=1)
    assert (life.job.state, life.worker_of().intention) == (JobState.WAITING, GONE)


def test_a_server_that_cannot_be_put_to_rest_is_given_up():
    life = Life(preempt_action=PreemptAction.SHELVE).runs()
    preempt(life)
    assert life.step(after=SETTINGS.start_timeout) is None
    life.settle(after=1)
    assert (life.job.state, life.worker_of().intention) == (JobState.WAITING, GONE)


def fails_to_build(life, number):
    """The attempt is stored, and Nova finds no host."""
    life.job = replace(life.job, state=JobState.STARTING, attempt=number, changed_at=life.now)
    life.part(0, number=number)
    life.server(0, ServerState.FAILED, 'No valid host was found.')
    life.settle()
    assert life.job.state is JobState.WAITING
    return life.job.not_before - life.now


def test_a_job_for_which_nova_has_no_room_waits_longer_each_time_and_no_retry_is_taken():
    life = Life(retries=0)
    pauses = [fails_to_build(life, number) for number in range(1, 10)]
    assert pauses[:4] == [30, 60, 120, 240]
    assert max(pauses) == SETTINGS.longest_pause
    assert (life.job.lost, life.job.reason.code) == (0, 'server')
    assert 'No valid host was found.' in life.job.reason.text
    assert life.worker_of().intention is GONE and life.worker_of().job_id == ''
    assert set(life.actions()) == {'requeued'}


def test_the_pause_is_short_again_after_an_attempt_that_has_begun():
    life = Life(retries=5)
    for number in (1, 2):
        fails_to_build(life, number)
    life.job = replace(life.job, state=JobState.STARTING, attempt=3, changed_at=life.now)
    life.part(0, number=3)
    life.runs()
    life.reports(AttemptState.LOST)
    life.settle()
    assert fails_to_build(life, 4) == SETTINGS.first_pause


def test_a_server_that_is_deleted_while_it_boots_takes_no_retry():
    life = Life(retries=0)
    life.server(0, None)
    life.settle()
    assert (life.job.state, life.job.lost) == (JobState.WAITING, 0)


def test_a_worker_that_never_calls_takes_a_retry_after_a_pause():
    life = Life(retries=1)
    life.server(0, ServerState.RUNNING)
    assert life.step(after=SETTINGS.start_timeout) is None
    life.settle(after=1)
    assert (life.job.state, life.job.lost) == (JobState.WAITING, 1)
    assert life.job.not_before == life.now + SETTINGS.first_pause
    assert life.worker_of().intention is GONE
    life.job = replace(life.job, state=JobState.STARTING, attempt=2, changed_at=life.now)
    life.part(0, number=2)
    life.settle(after=SETTINGS.start_timeout + 1)
    assert (life.job.state, life.job.reason.code) == (JobState.FAILED, 'lost')


def test_an_idle_worker_that_does_not_take_its_job_is_given_up_as_a_silent_one():
    life = Life()
    one = life.worker_of()
    life.workers[one.id] = replace(one, seen_at=BEGAN - 3)
    assert life.step(after=PACE.silence) is None
    life.settle(after=1)
    assert (life.job.state, life.worker_of().intention) == (JobState.WAITING, GONE)
