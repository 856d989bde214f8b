# SPDX-License-Identifier: Apache-2.0
"""What each message of a worker does to an attempt: doc/source/specs/worker.rst."""

import math
from dataclasses import replace

import pytest

from nova_market.core.job.attempt import (
    Fate,
    Order,
    WorkerPace,
    credible,
    fate_of_heartbeat,
    fate_of_result,
    gang_is_there,
    is_lost,
    next_order,
    running_order,
    runs_again,
    verdict_of,
)
from nova_market.core.job.queue import DesiredWorkerState, StoredWorker
from nova_market.core.job.record import (
    AttemptState,
    JobState,
    JobWish,
    PreemptAction,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.worker_message import End, Output, Result, Usage

JOB = StoredJob(
    id='j', queue_id='q', project_id='p', user_id='u', flavor='f', cores=2.0, memory_mib=512.0,
    time_limit=100, state=JobState.RUNNING, attempt=1,
)  # fmt: skip
WORKER = StoredWorker(
    id='w',
    queue_id='q',
    flavor='f',
    cores=2.0,
    memory_mib=512.0,
    job_id='j',
    attempt=1,
    seen_at=5.0,
)
OWN = StoredAttempt(
    job_id='j', number=1, worker_id='w', state=AttemptState.RUNNING, created_at=1.0, started_at=10.0
)
NOTICE = replace(OWN, state=AttemptState.PREEMPTING)
GONE = replace(WORKER, intention=DesiredWorkerState.GONE)
ENDED = (AttemptState.FINISHED, AttemptState.FAILED, AttemptState.PREEMPTED, AttemptState.CANCELLED)
PACE = WorkerPace()


def result(end=End.EXIT, exit_code=None, wall=20.0, **more):
    code = 0 if end is End.EXIT and exit_code is None else exit_code
    usage = more.pop('usage', Usage(wall_seconds=wall))
    given = {'output': Output(), 'usage': usage, **more}
    return Result(job_id='j', attempt=1, end=end, exit_code=code, **given)


def verdict(given, job=JOB, worker=WORKER, own=OWN, now=30.0):
    return verdict_of(job, worker, own, given, now)


@pytest.mark.parametrize(
    ('worker', 'state', 'wish', 'expected'),
    [
        (WORKER, AttemptState.STARTING, JobWish.RUN, Order.RUN),
        (WORKER, AttemptState.STARTING, JobWish.CANCEL, Order.WAIT),
        (WORKER, AttemptState.RUNNING, JobWish.RUN, None),
        (WORKER, AttemptState.PREEMPTING, JobWish.RUN, None),
        *((WORKER, state, JobWish.RUN, Order.WAIT) for state in ENDED),
        (WORKER, AttemptState.LOST, JobWish.RUN, Order.WAIT),
        (GONE, AttemptState.STARTING, JobWish.RUN, Order.EXIT),
        (replace(WORKER, attempt=2), AttemptState.STARTING, JobWish.RUN, Order.WAIT),
        (replace(WORKER, rank=1), AttemptState.STARTING, JobWish.RUN, Order.WAIT),
        (replace(WORKER, id='other'), AttemptState.STARTING, JobWish.RUN, Order.WAIT),
    ],
)
def test_the_next_order(worker, state, wish, expected):
    """A job that is to start is run; one that runs already was lost with the agent that ran it."""
    job, own = replace(JOB, wish=wish), replace(OWN, state=state)
    assert next_order(worker, job, [own]) is expected


def test_a_worker_without_a_job_waits():
    """Or exits, when it is to go."""
    assert next_order(WORKER, None, []) is Order.WAIT
    assert next_order(GONE, None, []) is Order.EXIT


def test_a_gang_starts_together():
    """When each of its servers has called since the attempt was stored."""
    job = replace(JOB, servers=2)
    parts = [OWN, replace(OWN, rank=1, worker_id='v'), replace(OWN, number=0, worker_id='x')]
    there = {'w': WORKER, 'v': replace(WORKER, id='v')}
    assert gang_is_there(job, parts, there)
    assert not gang_is_there(job, parts[:1], there)
    assert not gang_is_there(job, parts, {'w': WORKER})
    assert not gang_is_there(job, parts, {**there, 'v': replace(WORKER, seen_at=0.5)})


@pytest.mark.parametrize(
    ('worker', 'state', 'changed', 'expected'),
    [
        (WORKER, AttemptState.RUNNING, {}, Order.GO_ON),
        (WORKER, AttemptState.PREEMPTING, {}, Order.STOP),
        (WORKER, AttemptState.RUNNING, {'wish': JobWish.REQUEUE}, Order.STOP),
        (GONE, AttemptState.RUNNING, {}, Order.STOP),
        (GONE, AttemptState.PREEMPTING, {'wish': JobWish.CANCEL}, Order.CANCEL),
        (WORKER, AttemptState.PREEMPTING, {'preempt_action': PreemptAction.SUSPEND}, Order.GO_ON),
        (WORKER, AttemptState.PREEMPTING, {'preempt_action': PreemptAction.SHELVE}, Order.GO_ON),
    ],
)
def test_the_order_of_a_job_that_runs(worker, state, changed, expected):
    """A job that is suspended with its server is not stopped; what its owner wants comes first."""
    assert running_order(worker, replace(JOB, **changed), replace(OWN, state=state)) is expected


@pytest.mark.parametrize(
    ('given', 'own', 'expected'),
    [
        (result(), OWN, (AttemptState.FINISHED, 0, '')),
        (result(exit_code=3), OWN, (AttemptState.FAILED, 3, '')),
        (result(End.SIGNAL, signal=9), OWN, (AttemptState.FAILED, 137, 'ended by signal 9')),
        (result(End.STOPPED), NOTICE, (AttemptState.PREEMPTED, None, '')),
        (result(End.NOT_STARTED, text='no disk'), OWN, (AttemptState.FAILED, None, 'not started: no disk')),
    ],
)  # fmt: skip
def test_how_an_attempt_ends(given, own, expected):
    """State, exit code as a shell has it, and why."""
    found = verdict(given, own=own)
    assert (found.state, found.exit_code, found.text) == expected
    assert found.marks == ()


@pytest.mark.parametrize('end', [End.STOPPED, End.CANCELLED])
def test_an_end_that_nobody_ordered(end):
    """Is a failure: a worker cannot have its job run again, or cancel it."""
    found = verdict(result(end))
    assert (found.state, found.text) == (
        AttemptState.FAILED,
        f'the worker reports {end}, and nothing ordered that',
    )


@pytest.mark.parametrize(
    ('given', 'own', 'mark'),
    [
        (result(End.TIME_LIMIT, wall=3.0), OWN, 'the worker ended it after 3 of 100 s'),
        (result(wall=5000.0), OWN, 'it reports 5000 s of run time in 20 s'),
        (result(checkpoint=2), OWN, 'the checkpoint script ended with exit code 2'),
        (result(uploaded=False), OWN, 'the whole output could not be stored'),
    ],
)
def test_marks(given, own, mark):
    """What is not believed, or went wrong beside the job."""
    assert verdict(given, own=own).marks == (mark,)


@pytest.mark.parametrize(('offset', 'marked'), [(-7200.0, True), (301.0, True), (-299.0, False)])
def test_a_clock_that_is_off(offset, marked):
    """Is a mark, and changes nothing else."""
    found = verdict(result(), worker=replace(WORKER, clock_offset=offset))
    assert found.state is AttemptState.FINISHED
    assert bool(found.marks) is marked


def test_usage_is_at_most_what_the_server_can_have_used():
    """Wall time what has passed, CPU time what its cores have in that."""
    given = Usage(wall_seconds=1e6, user_seconds=3e6, system_seconds=1e6, max_rss_mib=7.0)
    found, marks = credible(given, 2.0, 100.0)
    assert found.wall_seconds == 100.0
    assert found.cpu_seconds == pytest.approx(2 * 100 * 1.05 + 5)
    assert found.user_seconds == pytest.approx(3 * found.system_seconds)
    assert found.max_rss_mib == 7.0
    assert len(marks) == 2


def test_usage_that_is_possible_stays():
    """As it was reported, with the slack of messages on their way."""
    given = Usage(wall_seconds=104.0, user_seconds=200.0, system_seconds=5.0)
    assert credible(given, 2.0, 100.0) == (given, ())
    found, marks = credible(Usage(wall_seconds=106.0), 2.0, 100.0)
    assert found.wall_seconds == 100.0 and marks == ('it reports 106 s of run time in 100 s',)
    assert 'max_rss_mib' not in given.document()
    assert math.isnan(given.max_rss_mib)


@pytest.mark.parametrize(
    ('state', 'code', 'fate'),
    [
        (AttemptState.RUNNING, None, Fate.TAKEN),
        (AttemptState.STARTING, None, Fate.TAKEN),
        (AttemptState.PREEMPTING, None, Fate.TAKEN),
        (AttemptState.FINISHED, 0, Fate.REPEATED),
        (AttemptState.FAILED, 1, Fate.OVER),
        (AttemptState.PREEMPTED, None, Fate.OVER),
    ],
)
def test_a_result_counts_once(state, code, fate):
    """The same again is known; a different one is refused."""
    own = replace(OWN, state=state, exit_code=code, ended_at=30.0)
    found = verdict(result(), own=replace(OWN, ended_at=30.0), now=90.0)
    assert fate_of_result(JOB, replace(own, usage=found.usage), found) is fate


@pytest.mark.parametrize('state', [AttemptState.PREEMPTED, AttemptState.CANCELLED])
def test_a_stop_that_is_reported_again(state):
    """Is the same result, although its order is over."""
    own = replace(OWN, state=state, ended_at=30.0)
    found = verdict(result(End.STOPPED), own=own, now=90.0)
    assert fate_of_result(JOB, replace(own, usage=found.usage), found) is Fate.REPEATED


LOST = replace(OWN, state=AttemptState.LOST, ended_at=30.0)
WAITS = replace(JOB, state=JobState.WAITING)


@pytest.mark.parametrize(
    ('job', 'heartbeat', 'given'),
    [
        (WAITS, Fate.LATE, Fate.LATE),
        (replace(WAITS, state=JobState.STARTING, attempt=2), Fate.OVER, Fate.OVER),
        (replace(WAITS, attempt=2), Fate.OVER, Fate.OVER),
        (replace(WAITS, state=JobState.FAILED), Fate.OVER, Fate.OVER),
        (replace(WAITS, servers=2), Fate.OVER, Fate.OVER),
        (replace(WAITS, wish=JobWish.CANCEL), Fate.OVER, Fate.OVER),
    ],
)
def test_a_worker_that_was_given_up_and_is_there_again(job, heartbeat, given):
    """Its run counts as long as nothing has been started again."""
    assert fate_of_heartbeat(WORKER, job, LOST) is heartbeat
    assert fate_of_result(job, LOST, verdict(result(), job=job, own=LOST)) is given


def test_a_worker_that_is_to_go_does_not_go_on():
    """Its result still counts: the work is done."""
    assert fate_of_heartbeat(GONE, WAITS, LOST) is Fate.OVER
    assert fate_of_result(WAITS, LOST, verdict(result(), own=LOST)) is Fate.LATE
    stopped = verdict(result(End.STOPPED), worker=GONE, own=LOST)
    assert fate_of_result(WAITS, LOST, stopped) is Fate.OVER


@pytest.mark.parametrize(
    ('own', 'seen', 'listening', 'now', 'lost'),
    [
        (replace(OWN, reported_at=100.0), 100.0, 0.0, 160.0, False),
        (replace(OWN, reported_at=100.0), 100.0, 0.0, 160.1, True),
        (replace(OWN, reported_at=100.0), 130.0, 0.0, 180.0, False),
        (replace(OWN, reported_at=100.0), 100.0, 500.0, 550.0, False),
        (replace(OWN, reported_at=100.0), 100.0, 500.0, 561.0, True),
        (replace(OWN, state=AttemptState.STARTING), 0.0, 0.0, 999.0, False),
        (LOST, 0.0, 0.0, 999.0, False),
    ],
)
def test_a_silent_worker_is_lost(own, seen, listening, now, lost):
    """After six heartbeats of silence; while the API was away, nobody was silent."""
    assert is_lost(own, replace(WORKER, seen_at=seen), now, listening, PACE) is lost


@pytest.mark.parametrize(
    ('lost', 'wish', 'again'),
    [(0, JobWish.RUN, True), (1, JobWish.RUN, False), (0, JobWish.CANCEL, False)],
)
def test_a_lost_job_is_run_again_while_its_retries_last(lost, wish, again):
    """One retry by default; not when its owner has cancelled it."""
    assert runs_again(replace(JOB, lost=lost, wish=wish)) is again
