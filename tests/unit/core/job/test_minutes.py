# SPDX-License-Identifier: Apache-2.0
"""What queues used and did in each minute (J6), by examples."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.job.minutes import (
    MOST_MINUTES,
    Happened,
    Mark,
    PassRead,
    needed,
    queue_minutes,
)
from nova_market.core.job.record import AttemptState, JobAction, JobEvent, JobState
from tests.support.job_records import attempt, id_of, job, queue, waiting_rows

NIGHT = id_of('night')
RUNS = {'state': JobState.RUNNING, 'attempt': 1}


def read(now, *, active=(), attempts=(), waiting=(), queues=None, cores=10.0):
    by_job = {}
    for one in attempts:
        by_job.setdefault(one.job_id, []).append(one)
    return PassRead(
        now=now,
        queues=[queue()] if queues is None else queues,
        waiting=waiting_rows(waiting),
        active=active,
        attempts=by_job,
        capacity={'': (cores, 1e6)},
    )


def event(number, action, at, name='a'):
    return JobEvent(job_id=id_of(name), at=at, action=action, attempt=1, number=number)


def of(rows, minute, queue_id=NIGHT):
    (found,) = [one for one in rows if (one.minute, one.queue_id) == (minute, queue_id)]
    return found


def test_cores_are_a_mean_over_the_minute():
    """Two cores from second 15 on: 1.5 in the first minute; then 2, of 10 that the share is of."""
    seen = read(
        90.0,
        active=[job(cores=2.0, **RUNS)],
        attempts=[attempt(created_at=15.0, state=AttemptState.RUNNING)],
    )
    rows, mark = queue_minutes(seen, Mark(until=0.0), Happened())
    assert [(one.cores, one.share, one.running) for one in (of(rows, 0), of(rows, 1))] == [
        (1.5, 0.15, 1),
        (2.0, 0.2, 1),
    ]
    assert mark == Mark(until=60.0)


def test_a_gang_holds_the_cores_of_each_server_until_that_one_has_ended():
    seen = read(
        60.0,
        active=[job(servers=2, **RUNS)],
        attempts=[
            attempt(created_at=0.0, rank=0, state=AttemptState.RUNNING),
            attempt(created_at=0.0, rank=1, state=AttemptState.FINISHED, ended_at=30.0),
        ],
    )
    rows, _ = queue_minutes(seen, Mark(until=0.0), Happened())
    assert (of(rows, 0).cores, of(rows, 0).running) == (1.5, 1)


def test_a_job_that_started_and_ended_between_two_passes_counts():
    since = Happened(
        events=[event(1, JobAction.STARTED, 12.0), event(2, JobAction.FINISHED, 42.0)],
        jobs={id_of('a'): job(state=JobState.FINISHED, attempt=1, ended_at=42.0, changed_at=42.0)},
        attempts={
            id_of('a'): [attempt(created_at=12.0, ended_at=42.0, state=AttemptState.FINISHED)]
        },
    )
    rows, mark = queue_minutes(read(70.0), Mark(until=0.0), since)
    one = of(rows, 0)
    assert (one.cores, one.started, one.finished) == (0.5, 1, 1)
    assert (one.running, one.waiting) == (0, 0)
    assert mark == Mark(until=60.0, number=2)
    assert of(rows, 0, '') == replace(one, queue_id='')


def test_rows_of_a_minute_are_the_same_however_often_they_are_made():
    """The service is killed between the rows and the mark: the next one makes them again."""
    seen = read(
        55.0,
        active=[job(**RUNS)],
        attempts=[attempt(created_at=20.0, state=AttemptState.RUNNING)],
    )
    since = Happened(events=[event(1, JobAction.STARTED, 20.0)])
    rows, mark = queue_minutes(seen, Mark(until=0.0), since)
    assert mark == Mark(until=0.0)
    assert queue_minutes(seen, mark, since) == (rows, mark)
    assert of(rows, 0).started == 1


def test_a_job_runs_on_while_no_pass_is_made():
    """Ten minutes without a pass: its cores are in use, and it counts as running, in each of them."""
    seen = read(
        660.0,
        active=[job(**RUNS)],
        attempts=[attempt(created_at=30.0, state=AttemptState.RUNNING)],
    )
    rows, mark = queue_minutes(seen, Mark(until=60.0, number=4), Happened())
    own = [one for one in rows if one.queue_id == NIGHT]
    assert [one.minute for one in own] == list(range(1, 11))
    assert {(one.cores, one.running) for one in own} == {(1.0, 1)}
    assert mark == Mark(until=660.0, number=4)


def test_a_job_whose_end_was_reported_while_no_pass_was_made_holds_nothing_after_it():
    seen = read(
        300.0,
        active=[job(**RUNS)],
        attempts=[attempt(created_at=0.0, ended_at=90.0, state=AttemptState.FINISHED)],
    )
    rows, _ = queue_minutes(seen, Mark(until=0.0), Happened())
    assert [of(rows, minute).cores for minute in range(5)] == [1.0, 0.5, 0.0, 0.0, 0.0]


def test_of_a_day_without_a_pass_the_first_and_the_last_hour_have_rows():
    """What happened in between counts in the last minute before it."""
    since = Happened(events=[event(1, JobAction.FAILED, 40_000.0)])
    rows, _ = queue_minutes(read(86_400.0), Mark(until=0.0), since)
    minutes = [one.minute for one in rows if not one.queue_id]
    assert len(minutes) == 2 * MOST_MINUTES
    assert (minutes[0], minutes[-1]) == (0, 1439)
    assert of(rows, MOST_MINUTES - 1, '').failed == 1


def test_a_suspended_job_uses_no_cores_and_neither_runs_nor_waits():
    seen = read(
        120.0,
        active=[job(state=JobState.SUSPENDED, attempt=1, changed_at=30.0)],
        attempts=[attempt(created_at=0.0, state=AttemptState.PREEMPTING)],
    )
    rows, _ = queue_minutes(seen, Mark(until=0.0), Happened())
    assert [(one.cores, one.running, one.waiting) for one in rows if one.queue_id] == [
        (0.5, 0, 0),
        (0.0, 0, 0),
    ]


def test_waiting_is_counted_at_the_end_of_each_minute():
    """One waits since the first minute, one since the second; one started at the end of the second."""
    seen = read(
        130.0,
        waiting=[job('x', submitted_at=10.0), job('y', submitted_at=70.0)],
        active=[job(submitted_at=20.0, **RUNS)],
        attempts=[attempt(created_at=125.0)],
    )
    rows, _ = queue_minutes(seen, Mark(until=0.0), Happened())
    assert [one.waiting for one in rows if one.queue_id] == [2, 3, 2]


def test_a_job_that_was_requeued_is_counted_once():
    """It ran at the end of the first minute and waits at the end of the second."""
    waits = job(submitted_at=5.0, attempt=1)
    since = Happened(
        events=[event(1, JobAction.PREEMPTED, 70.0)],
        jobs={waits.id: waits},
        attempts={
            waits.id: [attempt(created_at=10.0, ended_at=70.0, state=AttemptState.PREEMPTED)]
        },
    )
    rows, _ = queue_minutes(read(100.0, waiting=[waits]), Mark(until=0.0), since)
    assert [(one.running, one.waiting, one.preempted) for one in rows if one.queue_id] == [
        (1, 0, 0),
        (0, 1, 1),
    ]


def test_events_of_a_queue_that_is_gone_count_for_the_cloud():
    rows, _ = queue_minutes(
        read(30.0, queues=[]), Mark(until=0.0), Happened(events=[event(1, JobAction.FAILED, 3.0)])
    )
    assert [(one.queue_id, one.failed) for one in rows] == [('', 1)]


def test_an_event_from_a_clock_that_is_ahead_counts_now():
    since = Happened(events=[event(1, JobAction.FAILED, 1e9)])
    rows, mark = queue_minutes(read(90.0), Mark(until=0.0), since)
    assert [one.failed for one in rows if not one.queue_id] == [0, 1]
    assert mark.number == 0  # the second minute is not final


def test_nothing_is_made_where_the_clock_has_gone_back():
    assert queue_minutes(read(50.0), Mark(until=60.0), Happened()) == ([], Mark(until=60.0))


def test_without_capacity_the_share_is_nothing():
    seen = read(
        60.0,
        cores=0.0,
        active=[job(**RUNS)],
        attempts=[attempt(created_at=0.0, state=AttemptState.RUNNING)],
    )
    rows, _ = queue_minutes(seen, Mark(until=0.0), Happened())
    assert (of(rows, 0).cores, of(rows, 0).share) == (1.0, 0.0)


@pytest.mark.parametrize('tried', [0, 1])
def test_jobs_are_read_that_have_held_something_and_are_not_active(tried):
    told = replace(event(1, JobAction.CANCELLED, 3.0), attempt=tried)
    assert needed([told, told], read(30.0)) == [id_of('a')] * tried
    assert needed([told], read(30.0, active=[job(**RUNS)])) == []


def test_a_row_is_plain_numbers():
    """They go into a database as they are."""
    rows, _ = queue_minutes(read(30.0), Mark(until=0.0), Happened())
    assert not any(isinstance(getattr(rows[0], name), np.generic) for name in rows[0].__slots__)
