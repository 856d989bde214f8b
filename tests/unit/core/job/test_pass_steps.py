# SPDX-License-Identifier: Apache-2.0
"""What one pass writes: starts with their workers, preemptions, reasons, and what the next pass knows."""

from dataclasses import replace

import pytest

from nova_market.core.job.lifecycle import Lifecycle
from nova_market.core.job.pass_input import PassMemory
from nova_market.core.job.pass_reasons import EVERY
from nova_market.core.job.pass_starts import ROOM_AGAIN
from nova_market.core.job.queue import DesiredWorkerState, QueueLimits, WorkerState
from nova_market.core.job.record import (
    AttemptState,
    JobKind,
    JobReason,
    JobState,
    JobWish,
    PreemptAction,
    StoredAttempt,
)
from tests.support.job_pass import NOW, Passes, host, server
from tests.support.job_records import id_of, job, queue, worker

GONE = DesiredWorkerState.GONE


def waits(name, number=1, **more):
    return job(name, number=number, **more)


def idle(name, on='h', since=NOW - 100, **more):
    """(an idle worker that has called lately, its server)"""
    given = {'state': WorkerState.IDLE, 'server_id': f's-{name}', 'host': on, 'idle_since': since}
    one = worker(name, **{**given, 'seen_at': NOW - 5, 'project_id': 'red', **more})
    return one, server(f's-{name}', on=on, cores=one.cores, memory=one.memory_mib)


def busy(found, name='run', on='h', cores=4.0, **more):
    """A best-effort job that runs on a host, with its attempt, worker and server."""
    given = {
        'kind': JobKind.BEST_EFFORT, 'state': JobState.RUNNING, 'attempt': 1, 'cores': cores,
        'started_at': NOW - 1000, 'time_limit': 36_000,
    }  # fmt: skip
    one = job(name, **given | more)
    its = worker(
        f'w-{name}', cores=cores, state=WorkerState.BUSY, server_id=f's-{name}', host=on,
        job_id=one.id, attempt=1, seen_at=NOW,
    )  # fmt: skip
    part = StoredAttempt(
        job_id=one.id, number=1, worker_id=its.id, state=AttemptState.RUNNING,
        created_at=NOW - 1000, started_at=NOW - 1000,
    )  # fmt: skip
    found.jobs.append(one)
    found.workers.append(its)
    found.attempts[one.id] = [part]
    found.servers.append(server(f's-{name}', on=on, cores=cores))
    return one


def test_a_running_job_ends_a_time_limit_after_its_script_has_begun():
    """Its attempt began earlier, as its server had to boot; while it boots, it ends a limit after that."""
    found = Passes([queue(share=1.0)], [host()])
    busy(found, started_at=NOW - 100, time_limit=600)
    busy(found, 'boots', state=JobState.STARTING, started_at=0.0, time_limit=600)
    running = found.input().snapshot.running
    assert running.started.tolist() == [NOW - 1000, NOW - 1000]
    assert running.ends.tolist() == [NOW + 500, NOW - 400]


def test_a_job_starts_in_a_new_worker_whose_row_and_attempt_are_stored_with_it():
    found = Passes([queue(share=1.0)], [host()], jobs=[waits('a', attempt=3)])
    (step,) = found.run().steps
    (its,) = step.workers
    assert step.before is JobState.WAITING
    assert (step.changed['state'], step.changed['attempt']) == (JobState.STARTING, 4)
    assert (its.host, its.state, its.job_id, its.attempt, its.rank) == (
        'h', WorkerState.STARTING, id_of('a'), 4, 0,
    )  # fmt: skip
    assert its.credential == f'digest of {its.id}' and its.created_at == NOW
    (part,) = step.attempts
    assert (part.number, part.worker_id, part.state) == (4, its.id, AttemptState.STARTING)
    assert part.created_at == NOW


def test_an_idle_worker_of_the_queue_is_used_first_the_one_that_is_idle_for_the_shortest_time():
    (old, one), (young, two) = idle('old', since=NOW - 500), idle('young')
    found = Passes(
        [queue(share=1.0)], [host()], [one, two], jobs=[waits('a')], workers=[old, young]
    )
    (step,) = found.run().steps
    (its,) = step.workers
    assert (its.id, its.state, its.job_id, its.attempt) == (
        young.id,
        WorkerState.BUSY,
        id_of('a'),
        1,
    )
    assert its.idle_since == 0.0


@pytest.mark.parametrize(
    'more',
    [
        {'seen_at': NOW - 100}, {'seen_at': 0.0}, {'flavor': 'large'}, {'cores': 2.0},
        {'intention': GONE}, {'state': WorkerState.STARTING}, {'queue': 'day'},
        {'job_id': id_of('x')}, {'project_id': 'blue'}, {'project_id': ''},
    ],
)  # fmt: skip
def test_a_worker_is_not_used_that_is_silent_another_size_anothers_or_going(more):
    one, its_server = idle('one', **more)
    found = Passes([queue(share=1.0)], [host()], [its_server], jobs=[waits('a')], workers=[one])
    (step,) = found.run().steps
    assert step.workers[0].id != one.id


@pytest.mark.parametrize('had', ['red', 'blue', ''])
def test_projects_that_trust_each_other_share_workers(had):
    """A worker that has run jobs of several is never again one project's own (JW1)."""
    one, its_server = idle('one', project_id=had)
    trusting = queue(share=1.0, projects_trust_each_other=True)
    found = Passes([trusting], [host()], [its_server], jobs=[waits('a')], workers=[one])
    (its,) = found.run().steps[0].workers
    assert its.id == one.id and its.project_id == ('red' if had == 'red' else '')


def test_an_idle_worker_elsewhere_is_better_than_a_new_one():
    one, its_server = idle('one', on='b')
    found = Passes(
        [queue(share=1.0)], [host('a'), host('b')], [its_server], jobs=[waits('a')], workers=[one]
    )
    (step,) = found.run().steps
    assert [its.id for its in step.workers] == [one.id]


def test_an_idle_worker_outside_of_the_aggregate_is_not_used():
    one, its_server = idle('one', on='b')
    found = Passes(
        [queue(share=1.0, aggregate='fast')], [host('a'), host('b')], [its_server], {'fast': ['a']},
        jobs=[waits('a')], workers=[one],
    )  # fmt: skip
    (step,) = found.run().steps
    assert step.workers[0].host == 'a' and step.workers[0].id != one.id


def test_idle_workers_in_the_way_go_the_longest_idle_first_and_no_more_than_needed():
    workers, servers = zip(
        *[idle(f'w{n}', since=NOW - n, queue='day', cores=2.0) for n in range(1, 5)], strict=True
    )
    found = Passes(
        [queue('day', share=0.5), queue(share=0.5)], [host()], servers,
        jobs=[waits('a', cores=3.0)], workers=workers,
    )  # fmt: skip
    (step,) = found.run().steps
    new, *going = step.workers
    assert [one.id for one in going] == [id_of('w4'), id_of('w3')]
    assert all(one.intention is GONE for one in going)
    assert new.retry_at == NOW + ROOM_AGAIN


def test_a_gang_is_spread_as_the_plan_has_it_and_ranks_count_its_servers():
    found = Passes(
        [queue(share=1.0)], [host('a', cores=2.0), host('b', cores=2.0)],
        jobs=[waits('g', servers=3)],
    )  # fmt: skip
    (step,) = found.run().steps
    assert [(one.rank, one.host) for one in step.workers] == [(0, 'a'), (1, 'a'), (2, 'b')]
    assert [one.rank for one in step.attempts] == [0, 1, 2]


def test_a_job_that_has_left_its_state_is_not_started_from_a_stale_row():
    found = Passes([queue(share=1.0)], [host()], jobs=[waits('a')])
    stale = list(found.jobs)
    found.run()
    assert not found.apply(found.steps(stale))


def test_a_job_waits_while_a_worker_of_an_earlier_attempt_is_still_there():
    found = Passes([queue(share=1.0)], [host()], jobs=[waits('a', attempt=1)])
    found.workers = [worker(job_id=id_of('a'), attempt=1, intention=GONE, server_id='s')]
    assert not found.run().steps
    found.workers = []
    assert found.run().steps


def test_a_queue_has_as_many_active_jobs_as_it_allows():
    limits = QueueLimits(max_running=2)
    jobs = [waits(name, number) for number, name in enumerate('abc', 1)]
    found = Passes([queue(share=1.0, limits=limits)], [host()], jobs=jobs)
    first = found.run()
    assert [one.job_id for one in first.steps] == [id_of('a'), id_of('b')]
    for said in (first.explanations, found.run().explanations):
        assert [(one.job_id, one.reason.code) for one in said] == [(id_of('c'), 'limit')]
    assert not found.run().steps


def test_nobody_is_preempted_for_a_job_that_its_queues_limit_keeps_waiting():
    """Two may be active: one is, and the first one that waits is the second."""
    limits = QueueLimits(max_running=2)
    jobs = [waits('first', 1, cores=2.0), waits('wide', 2, cores=6.0)]
    found = Passes([queue(share=1.0, limits=limits)], [host()], jobs=jobs)
    busy(found)
    assert [one.job_id for one in found.run().steps] == [id_of('first')]
    # without the limit
    found = Passes([queue(share=1.0)], [host()], jobs=jobs)
    busy(found)
    assert [one.job_id for one in found.run().steps] == [id_of('run'), id_of('first')]


def test_a_best_effort_job_is_preempted_for_a_production_job_which_starts_before_all_others():
    found = Passes([queue(share=1.0)], [host()], jobs=[waits('wide', cores=6.0)])
    busy(found)
    (step,) = found.run().steps
    assert (step.job_id, step.changed['state']) == (id_of('run'), JobState.PREEMPTING)
    assert step.changed['displaced_by'] == id_of('wide')
    assert step.attempts[0].state is AttemptState.PREEMPTING and not step.workers
    (event,) = step.events
    assert event.numbers == {'notice': 30, 'lost_core_seconds': 4000.0}
    assert found.memory.claims == (id_of('wide'),)
    # once is enough
    assert not found.run().steps
    # its room is free, and somebody else is in the line before it
    found.jobs = [found.job('wide'), waits('first', 0, cores=6.0, priority=1)]
    found.workers, found.servers = [], []
    (step,) = found.run().steps
    assert step.job_id == id_of('wide') and found.memory.claims == ()


@pytest.mark.parametrize(('action', 'rest'), [(PreemptAction.SHELVE, DesiredWorkerState.SHELVED)])
def test_the_server_of_a_job_whose_servers_are_kept_is_put_to_rest_with_the_order(action, rest):
    found = Passes([queue(share=1.0)], [host()], jobs=[waits('wide', cores=6.0)])
    busy(found, preempt_action=action)
    (step,) = found.run().steps
    assert [one.intention for one in step.workers] == [rest]


@pytest.mark.parametrize('more', [{'flavor': 'kept'}, {'least_run_time': 2000}])
def test_a_best_effort_job_is_spared_where_it_may_not_go(more):
    found = Passes([queue(share=1.0)], [host()], jobs=[waits('wide', cores=6.0)])
    found.lifecycles = {'kept': Lifecycle(preemptible=False)}
    busy(found, **more)
    assert not found.run().steps


def test_a_part_that_has_not_begun_ends_with_the_order():
    found = Passes([queue(share=1.0)], [host()], jobs=[waits('wide', cores=6.0)])
    one = busy(found, state=JobState.STARTING, preempt_action=PreemptAction.SHELVE)
    (part,) = found.attempts[one.id]
    found.attempts[one.id] = [replace(part, state=AttemptState.STARTING)]
    (step,) = found.run().steps
    assert step.attempts[0].state is AttemptState.PREEMPTED and not step.workers


def test_room_of_a_job_that_its_owner_cancels_is_waited_for_and_nobody_is_preempted_for_it():
    found = Passes([queue(share=1.0)], [host()], jobs=[waits('wide', cores=4.0)])
    busy(found, 'one')
    busy(found, 'two', wish=JobWish.CANCEL)
    assert not found.run().steps


def test_a_suspended_job_goes_on_when_there_is_room_again():
    found = Passes([queue(share=1.0)], [host()])
    busy(found, state=JobState.SUSPENDED, preempt_action=PreemptAction.SHELVE, displaced_by='x')
    found.servers = []
    rest = DesiredWorkerState.SHELVED
    found.workers = [
        replace(one, intention=rest, state=WorkerState.SUSPENDED) for one in found.workers
    ]
    (step,) = found.run().steps
    assert (step.before, step.changed['state']) == (JobState.SUSPENDED, JobState.STARTING)
    (its,) = step.workers
    assert (its.intention, its.host) == (DesiredWorkerState.PRESENT, 'h')
    # it holds its room from now on
    assert found.room().free[0].tolist() == [4.0]
    assert not found.run().steps


def test_a_suspended_job_stays_where_it_is_while_there_is_no_room():
    found = Passes([queue(share=1.0)], [host(cores=3.0)])
    busy(found, state=JobState.SUSPENDED, preempt_action=PreemptAction.SHELVE)
    found.servers = []
    assert not found.run().steps


def test_reasons_are_those_of_the_documentation_and_written_once():
    jobs = [
        waits('a', 1, cores=99.0),
        waits('b', 2, not_before=NOW + 60),
        waits('c', 3, cores=6.0),
        waits('d', 4, cores=4.0),
    ]
    found = Passes([queue(share=1.0)], [host()], [server('x', cores=4.5)], jobs=jobs)
    said = {one.job_id: one.reason for one in found.run().explanations}
    assert {name: said[id_of(name)].code for name in 'abcd'} == {
        'a': 'size', 'b': 'time', 'c': 'room', 'd': 'room',
    }  # fmt: skip
    assert said[id_of('c')].numbers == {'cores': 6.0, 'most': 3.5, 'servers': 1.0}
    assert said[id_of('c')].text == 'room: 6 cores, at most 3.5 free on any host'
    found.jobs = [replace(one, reason=said[one.id]) for one in found.jobs]
    found.turn = 5
    assert not found.run().explanations
    # but their numbers do not grow old for ever
    again = []
    for found.turn in range(EVERY):
        again += [one.job_id for one in found.run().explanations]
    assert sorted(again) == sorted(said)


def test_why_a_start_has_failed_is_kept_while_the_job_pauses():
    why = JobReason(code='server', text='its server could not be made')
    found = Passes([queue(share=1.0)], [host()], jobs=[waits('a', not_before=NOW + 60, reason=why)])
    assert not found.run().explanations


def test_a_job_of_a_queue_that_is_gone_is_passed_over():
    found = Passes([queue(share=1.0)], [host()], jobs=[waits('a', queue='gone'), waits('b', 2)])
    assert [one.job_id for one in found.run().steps] == [id_of('b')]


def test_queues_are_served_in_turn_across_passes():
    queues = [queue(name, share=0.5) for name in ('day', 'night')]
    jobs = [waits('d', 1, queue='day', cores=4.0), waits('n', 2, cores=4.0)]
    found = Passes(queues, [host(cores=4.0)], jobs=jobs)
    found.memory = PassMemory(order=(id_of('night'), id_of('day')))
    assert [one.job_id for one in found.run().steps] == [id_of('n')]
    assert found.memory.order == (id_of('day'), id_of('night'))


def test_a_cloud_without_hosts_queues_or_jobs_has_a_pass():
    assert not Passes([]).run().steps
    assert not Passes([queue()]).run().steps
    found = Passes([queue(share=1.0)], jobs=[waits('a')])
    assert [one.reason.code for one in found.run().explanations] == ['size']
