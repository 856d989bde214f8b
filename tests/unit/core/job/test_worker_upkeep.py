# SPDX-License-Identifier: Apache-2.0
"""Which workers that run nothing go (J1)."""

import pytest

from nova_market.core.job.attempt import WorkerPace
from nova_market.core.job.queue import DesiredWorkerState, QueueState, WorkerState
from nova_market.core.job.worker_upkeep import GRACE, HANDOVER, upkeep
from tests.support.job_records import id_of, queue, worker

NOW = 10_000.0
PACE = WorkerPace()


def idle(**more):
    given = {'state': WorkerState.IDLE, 'idle_since': NOW - 100, 'seen_at': NOW - 5}
    return worker(**given | more)


def changed(one, active=(), waiting=False, listening_since=0.0, of=None, **more):
    return upkeep(
        of or queue(**{'idle_seconds': 600, **more}), [one], active=active, now=NOW,
        listening_since=listening_since, pace=PACE, has_waiting=waiting,
    )  # fmt: skip


def goes(one, **more):
    found = changed(one, **more)
    return [row.intention for row in found] == [DesiredWorkerState.GONE]


def test_an_idle_worker_stays_for_as_long_as_its_queue_keeps_it():
    assert not changed(idle(), idle_seconds=101)
    assert goes(idle(), idle_seconds=100)


def test_where_nothing_is_kept_the_next_pass_may_still_use_it_if_jobs_wait():
    assert goes(idle(idle_since=NOW), idle_seconds=0)
    assert not changed(idle(idle_since=NOW - HANDOVER + 1), idle_seconds=0, waiting=True)
    assert goes(idle(idle_since=NOW - HANDOVER), idle_seconds=0, waiting=True)


@pytest.mark.parametrize(
    'more', [{'reuse': False}, {'flavors': ('other',)}, {'state': QueueState.DELETING}]
)
def test_a_worker_goes_that_its_queue_will_not_use_again(more):
    assert goes(idle(), **more)


def test_a_silent_worker_goes_but_not_for_what_nobody_could_receive():
    silent = idle(seen_at=NOW - PACE.silence - 1)
    assert goes(silent)
    assert not changed(silent, listening_since=NOW - 10)


def test_a_worker_with_an_active_job_stays_whatever_its_queue_is():
    busy = idle(job_id=id_of('a'), state=WorkerState.BUSY)
    assert not changed(busy, active=[id_of('a')], state=QueueState.DELETING)


def test_a_worker_whose_job_has_ended_goes_at_once():
    assert goes(worker(job_id=id_of('a'), seen_at=NOW, idle_since=0.0))


def test_a_worker_that_was_given_up_goes_after_a_grace():
    lost = idle(job_id=id_of('a'), state=WorkerState.BUSY)
    assert not changed(worker(job_id=id_of('a'), idle_since=NOW - GRACE + 1, seen_at=1.0))
    assert goes(worker(job_id=id_of('a'), idle_since=NOW - GRACE, seen_at=1.0))
    assert goes(lost)


def test_workers_of_a_queue_that_is_gone_go():
    found = upkeep(
        None, [idle()], active=[], now=NOW, listening_since=0.0, pace=PACE, has_waiting=False
    )
    assert [one.intention for one in found] == [DesiredWorkerState.GONE]


def test_a_worker_whose_job_went_while_it_booted_is_idle_from_now_on():
    (found,) = changed(worker(seen_at=NOW - 1))
    assert (found.state, found.idle_since) == (WorkerState.IDLE, NOW)
    assert goes(worker(seen_at=0.0))


def test_a_worker_that_is_going_is_left_alone():
    assert not changed(idle(intention=DesiredWorkerState.GONE), idle_seconds=0)
