# SPDX-License-Identifier: Apache-2.0
"""What every database does for jobs: submission, pages, what owners ask, decisions, attempts, workers."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.job.queue import QueueState, WorkerState
from nova_market.core.job.record import (
    MAX_EVENTS,
    MAX_OUTPUT,
    AfterCondition,
    AttemptState,
    JobEvent,
    JobKind,
    JobReason,
    JobState,
    JobWish,
)
from nova_market.core.job.store_values import (
    AttemptReport,
    JobExplanation,
    JobFilter,
    JobQuotas,
    JobStep,
)
from nova_market.db.job_attempts import DatabaseJobAttempts
from nova_market.db.job_decisions import DatabaseJobDecisions
from nova_market.db.purge import purge
from nova_market.db.queues import DatabaseQueues
from nova_market.errors import (
    AttemptEnded,
    BadAmount,
    Conflict,
    KeyReused,
    QueueChanged,
    QueueClosed,
    TooManyJobs,
    UnknownAttempt,
)
from tests.support.job_records import (
    QUOTAS,
    attempt,
    id_of,
    job,
    new_jobs,
    queue,
    worker,
)
from tests.support.servers.databases import Wall

OF_QUEUE = {id_of('night'): 3}
SHARE = JobReason(code='share', text='would be 0.41 of 0.33', numbers={'use': 0.41})

NIGHT = 'red:night'


@pytest.fixture
def wall():
    return Wall()


@pytest.fixture
def queues(database, wall):
    store = DatabaseQueues(database, wall)
    store.create(queue(), most=9)
    store.create(queue('day', 'blue'), most=9)
    return store


@pytest.fixture
def store(database, queues, wall):
    return DatabaseJobDecisions(database, wall)


@pytest.fixture
def attempts(database):
    return DatabaseJobAttempts(database)


def array(count, name='many', **more):
    return [
        replace(job(f'{name}{n}', **more), array_id=id_of(name), array_index=n, array_size=count)
        for n in range(count)
    ]


def start(store, name='a', **more):
    """The job is starting, with its first attempt on worker w."""
    step = JobStep(
        job_id=id_of(name),
        before=JobState.WAITING,
        changed={'state': JobState.STARTING, 'attempt': 1},
        attempts=(attempt(name),),
        workers=(worker(job_id=id_of(name), attempt=1),),
    )
    assert store.decide([replace(step, **more)]) == [id_of(name)]


def report(name='a', state='running', **more):
    given = {'number': 1, 'rank': 0, 'worker_id': id_of('w'), 'at': 50.0}
    return AttemptReport(job_id=id_of(name), state=state, **given | more)


# what owners do


def test_a_submission_is_stored_once(store):
    """Whole and as it was; the same again changes nothing, and a key with another request is refused."""
    one = job(
        after=(id_of('x'),), state=JobState.HELD, kind=JobKind.BEST_EFFORT, weight=2.5, value=7,
        reason=SHARE, not_before=9.5, servers=3, after_condition=AfterCondition.END,
    )  # fmt: skip
    (made,), new = store.submit(new_jobs(one, script='#!/bin/sh\n# ä'), QUOTAS)
    assert new and made == replace(one, number=made.number) and made.number > 0
    assert store.job(one.id) == made
    assert store.content(made.content_id).script == '#!/bin/sh\n# ä'
    assert store.submit(new_jobs(one), QUOTAS) == ([made], False)
    with pytest.raises(KeyReused):
        store.submit(new_jobs(one, digest='other'), QUOTAS)
    assert store.job(id_of('b')) is store.content(id_of('b')) is None


def test_an_array_is_one_submission(store):
    """In order of its elements, which share what they run."""
    (*made,), new = store.submit(new_jobs(*array(5)), QUOTAS)
    assert new and [one.array_index for one in made] == [0, 1, 2, 3, 4]
    assert sorted(one.number for one in made) == [one.number for one in made]
    assert {one.content_id for one in made} == {id_of('many')}
    assert store.submit(new_jobs(*array(5)), QUOTAS) == (made, False)
    assert store.members([id_of('many'), made[0].id, id_of('x')]) == {
        id_of('many'): 'red', made[0].id: 'red',
    }  # fmt: skip


def test_quotas_bound_what_waits(store):
    """Of the project over all queues, and of the queue; a refused submission leaves nothing."""
    store.submit(new_jobs(*array(3)), QUOTAS)
    with pytest.raises(TooManyJobs, match='would have 4 jobs that wait: the limit is 3'):
        store.submit(new_jobs(job()), JobQuotas(most_waiting=3))
    with pytest.raises(TooManyJobs, match='queue would have 4 jobs that wait: its limit is 3'):
        store.submit(new_jobs(job()), replace(QUOTAS, of_queue={id_of('night'): 3}))
    assert store.job(job().id) is None
    store.want(array(3)[0].id, JobWish.CANCEL, 'by u')
    store.submit(new_jobs(job()), JobQuotas(most_waiting=3, of_queue={id_of('night'): 3}))
    store.submit(new_jobs(job('b', 'day', 'blue')), JobQuotas(most_waiting=1))


@pytest.mark.parametrize('quotas', [JobQuotas(most_waiting=3), replace(QUOTAS, of_queue=OF_QUEUE)])
def test_submissions_at_once_do_not_exceed_a_quota(store, quotas):
    """Of a project over its queues, or of a queue over its projects: three of eight are stored."""
    of_project = not quotas.of_queue
    results = []

    def submit(n):
        where = ('night', 'day')[n % 2] if of_project else 'night'
        project = 'red' if of_project else ('red', 'blue')[n % 2]
        try:
            store.submit(new_jobs(job(f'j{n}', where, project)), quotas)
            results.append(True)
        except TooManyJobs:
            results.append(False)

    threads = [threading.Thread(target=submit, args=[n]) for n in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(results) == [False] * 5 + [True] * 3
    assert len(store.jobs(JobFilter())) == 3


def test_the_same_submission_at_once_is_stored_once(store):
    """All get the jobs, and one of them stored them; also when the quota is full by then."""
    results = []
    one = new_jobs(*array(3))

    def submit():
        results.append(store.submit(one, JobQuotas(most_waiting=3)))

    threads = [threading.Thread(target=submit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(new for _, new in results) == [False] * 3 + [True]
    assert all(made == results[0][0] for made, _ in results)


def test_a_queue_that_was_changed_meanwhile_takes_nothing(store, queues):
    """Whoever submits has decided by what it was: he reads it again."""
    queues.change(id_of('night'), {'description': 'x'}, 1)
    old = replace(new_jobs(job()), generations={id_of('night'): 1})
    with pytest.raises(QueueChanged):
        store.submit(old, QUOTAS)
    assert store.job(id_of('a')) is None
    assert store.submit(replace(old, generations={id_of('night'): 2}), QUOTAS)[1]


def test_admission_reads_a_queue_every_ten_seconds(queues, database, wall):
    """Fresh where it is asked for, or where a name is not known yet."""
    other = DatabaseQueues(database, wall)
    (seen,) = queues.admission([NIGHT], fresh=False)[0].values()
    other.change(seen.id, {'description': 'x'}, 1)
    assert queues.admission([NIGHT], fresh=False)[0][NIGHT] == seen
    assert queues.admission([NIGHT, 'day:day'], fresh=False)[0][NIGHT].generation == 2
    other.change(seen.id, {'description': 'y'}, 2)
    assert queues.admission([NIGHT], fresh=True)[0][NIGHT].generation == 3
    other.change(seen.id, {'description': 'z'}, 3)
    wall.now += 10
    assert queues.admission([NIGHT, 'red:none'], fresh=False)[0].keys() == {NIGHT}
    assert queues.admission([NIGHT], fresh=False)[0][NIGHT].generation == 4


def test_a_queue_that_is_closed_meanwhile_takes_nothing(store, queues):
    """Whoever submits has read it before it was closed."""
    queues.change(id_of('night'), {'state': QueueState.CLOSED}, 1)
    with pytest.raises(QueueClosed):
        store.submit(new_jobs(job()), QUOTAS)


def test_jobs_are_listed_newest_first(store):
    """By project, queue, user, state, array, name, in pages."""
    for n, where in enumerate(('night', 'day', 'night')):
        store.submit(new_jobs(job(f'j{n}', where, 'red' if n else 'blue')), QUOTAS)

    def names(before=0, limit=10, **chosen):
        return [one.name for one in store.jobs(JobFilter(**chosen), before, limit)]

    assert names() == ['j2', 'j1', 'j0']
    assert names(project_id='red') == ['j2', 'j1']
    assert names(queue_id=id_of('night')) == ['j2', 'j0']
    assert names(project_id='red', queue_id=id_of('day'), user_id='u') == ['j1']
    assert names(user_id='x') == names(array_id='x') == names(name='x') == []
    assert names(states=(JobState.RUNNING,)) == []
    first = store.jobs(JobFilter(), limit=2)
    assert names(before=first[-1].number) == ['j0']


def test_what_waits_is_cancelled_at_once(store, attempts, wall):
    """With the reason and an event; a second time it stays as it is."""
    store.submit(new_jobs(job(expected_start=5.0)), QUOTAS)
    wall.now += 7
    found = store.want(id_of('a'), JobWish.CANCEL, 'by alice')
    assert (found.state, found.ended_at, found.expected_start) == ('cancelled', wall.now, None)
    assert found.reason.text == 'cancelled by alice'
    (event,) = attempts.events(id_of('a'))
    assert (event.action, event.reason, event.at) == ('cancelled', 'by alice', wall.now)
    wall.now += 7
    assert store.want(id_of('a'), JobWish.CANCEL, 'by bob') == found
    assert store.want(id_of('x'), JobWish.CANCEL, 'by bob') is None


def test_what_is_active_gets_the_wish(store):
    """The service carries it out; a cancellation is not taken back by a requeue."""
    store.submit(new_jobs(job()), QUOTAS)
    with pytest.raises(Conflict, match='only a job that has started'):
        store.want(id_of('a'), JobWish.REQUEUE, 'by u')
    start(store)
    assert store.want(id_of('a'), JobWish.REQUEUE, 'by u').wish is JobWish.REQUEUE
    found = store.want(id_of('a'), JobWish.CANCEL, 'by u')
    assert (found.state, found.wish) == ('starting', 'cancel')
    assert store.want(id_of('a'), JobWish.REQUEUE, 'by u').wish is JobWish.CANCEL


def test_what_has_ended_waits_again_when_it_is_requeued(store):
    """Its next attempt has the next number: an old worker's result does not count for it."""
    store.submit(new_jobs(job()), QUOTAS)
    start(store)
    ended = {'state': JobState.FAILED, 'exit_code': 3, 'ended_at': 9.0, 'reason': SHARE}
    store.decide([JobStep(job_id=id_of('a'), before=JobState.STARTING, changed=ended)])
    found = store.want(id_of('a'), JobWish.REQUEUE, 'by u')
    assert (found.state, found.attempt, found.requeues) == ('waiting', 1, 1)
    assert (found.exit_code, found.ended_at, found.reason) == (None, 0.0, None)
    assert store.waiting().ids == (id_of('a'),)


@pytest.mark.parametrize('condition', AfterCondition)
def test_what_comes_after_others_is_held_again_when_it_is_requeued(store, condition):
    """While one of them has not ended; when all have, however, the owner runs it knowingly."""
    after = (id_of('many'), id_of('a'), id_of('purged'))
    film = job('film', state=JobState.HELD, after=after, after_condition=condition)
    store.submit(new_jobs(*array(2), job(), film), QUOTAS)
    store.want(film.id, JobWish.CANCEL, 'by u')
    found = store.want(film.id, JobWish.REQUEUE, 'by u')
    assert (found.state, found.requeues) == ('held', 1)
    assert found.reason.text == 'comes after 3 jobs that have not ended'
    with pytest.raises(Conflict, match='only a job that has started'):
        store.want(film.id, JobWish.REQUEUE, 'by u')
    for name in ('film', 'many0', 'many1'):
        store.want(id_of(name), JobWish.CANCEL, 'by u')
    if condition is AfterCondition.SUCCESS:
        expected = (
            '2 of the jobs that it comes after are cancelled.*have not ended: requeue it when'
        )
        with pytest.raises(Conflict, match=expected):
            store.want(film.id, JobWish.REQUEUE, 'by u')
        assert store.job(film.id).state == 'cancelled'
    store.want(id_of('a'), JobWish.CANCEL, 'by u')
    found = store.want(film.id, JobWish.REQUEUE, 'by u')
    assert (found.state, found.reason) == ('waiting', None)


# what the service does


def test_all_that_waits_is_read_as_columns(store):
    """By number; what is held or active is not there. Nothing at all has columns too."""
    assert store.waiting().amount.shape == (3, 0)
    store.submit(
        new_jobs(
            job('a', cores=2.0, disk_gib=5.0, expected_start=7.0, reason=SHARE),
            job('b', kind=JobKind.BEST_EFFORT, priority=3, servers=4),
            job('c', state=JobState.HELD),
            job('d'),
        ),
        QUOTAS,
    )
    start(store, 'd')
    found = store.waiting()
    assert found.ids == (id_of('a'), id_of('b')) and found.reasons == ('share', '')
    assert found.amount.tolist() == [[2.0, 1.0], [1024.0, 1024.0], [5.0, 0.0]]
    assert found.best_effort.tolist() == [False, True]
    assert (found.priority.tolist(), found.servers.tolist()) == ([100, 3], [1, 4])
    assert found.expected_start[0] == 7.0 and np.isnan(found.expected_start[1])
    assert [one.id for one in store.active()] == [id_of('d')]


def test_held_jobs_come_with_the_states_of_what_they_wait_for(store):
    """Of jobs and of all elements of arrays; what was purged is left out."""
    store.submit(new_jobs(*array(2)), QUOTAS)
    names = (id_of('many'), id_of('b'), id_of('gone'))
    held = job('h', after=names, state=JobState.HELD, after_condition=AfterCondition.END)
    store.submit(new_jobs(job('b'), held), QUOTAS)
    store.want(id_of('many1'), JobWish.CANCEL, 'by u')
    (found,) = store.held()
    assert (found.id, found.condition) == (id_of('h'), AfterCondition.END)
    assert found.states == (JobState.WAITING, JobState.CANCELLED, JobState.WAITING)


def test_a_decision_is_written_with_all_that_belongs_to_it(store, attempts, wall):
    """Job, attempt, worker and event; `changed_at` is when the state changed."""
    store.submit(new_jobs(job()), QUOTAS)
    wall.now += 5
    event = JobEvent(job_id=id_of('a'), at=wall.now, action='started', attempt=1)
    start(store, events=(event,))
    found = store.job(id_of('a'))
    assert (found.state, found.attempt, found.changed_at) == ('starting', 1, wall.now)
    assert attempts.attempts([id_of('a'), 'x']) == {id_of('a'): [attempt()]}
    assert attempts.workers() == [worker(job_id=id_of('a'), attempt=1)]
    (kept,) = attempts.events_since(0)
    assert replace(kept, number=0) == event and attempts.events_since(kept.number) == []


def test_a_step_counts_only_for_the_state_it_was_made_in(store, attempts):
    """The owner has cancelled one meanwhile: of it nothing is written, the others are. Twice is once."""
    store.submit(new_jobs(job('a'), job('b')), QUOTAS)
    store.want(id_of('a'), JobWish.CANCEL, 'by u')
    steps = [
        JobStep(
            job_id=id_of(name),
            before=JobState.WAITING,
            changed={'state': JobState.STARTING, 'attempt': 1},
            attempts=(attempt(name, worker=name),),
            workers=(worker(name),),
        )
        for name in ('a', 'b', 'gone')
    ]
    assert store.decide(steps) == [id_of('b')] == store.decide(steps)
    assert store.job(id_of('a')).state is JobState.CANCELLED
    assert [one.id for one in attempts.workers()] == [id_of('b')]
    assert list(attempts.attempts([id_of('a'), id_of('b')])) == [id_of('b')]
    with pytest.raises(BadAmount, match='priority'):
        store.decide([replace(steps[0], changed={'priority': 1})])


def test_a_result_that_came_meanwhile_is_not_overwritten(store, attempts):
    """The service thinks that the worker is lost; its step is not written, so it looks again."""
    store.submit(new_jobs(job()), QUOTAS)
    start(store)
    attempts.report(report(state='finished', exit_code=0, usage={'cpu_seconds': 2.5}))
    lost = JobStep(
        job_id=id_of('a'),
        before=JobState.STARTING,
        changed={'state': JobState.WAITING, 'lost': 1},
        attempts=(attempt(state=AttemptState.LOST),),
    )
    assert store.decide([lost]) == []
    done = replace(
        lost,
        changed={'state': JobState.FINISHED},
        attempts=(attempt(state=AttemptState.FINISHED, exit_code=0),),
    )
    assert store.decide([done]) == [id_of('a')]
    (found,) = attempts.attempts([id_of('a')])[id_of('a')]
    assert (found.state, found.usage) == (AttemptState.FINISHED, {'cpu_seconds': 2.5})


def test_reasons_are_written_while_a_job_waits(store):
    """Not over those of what has started."""
    store.submit(new_jobs(job('a'), job('b')), QUOTAS)
    start(store, 'b')
    store.explain([])
    store.explain([JobExplanation(job_id=id_of(n), reason=SHARE, expected_start=9.0) for n in 'ab'])
    assert (store.job(id_of('a')).reason, store.job(id_of('a')).expected_start) == (SHARE, 9.0)
    assert store.job(id_of('b')).reason is None


# what workers do


def test_heartbeats_and_one_result(store, attempts):
    """The first report starts it; the result counts once, and nothing counts after it."""
    store.submit(new_jobs(job()), QUOTAS)
    start(store)
    assert attempts.report(report(output=b'one', output_total=3)).state is AttemptState.STARTING
    attempts.report(report(at=60.0, saved=True))
    (found,) = attempts.attempts([id_of('a')])[id_of('a')]
    assert (found.state, found.started_at, found.reported_at, found.saved_at) == (
        'running', 50.0, 60.0, 60.0,
    )  # fmt: skip
    result = report(
        state='failed',
        at=70.0,
        exit_code=3,
        text='x' * 5000,
        output=b'y' * 70_000,
        output_total=70_000,
        marks=('its clock is off',),
    )
    for _ in range(2):
        attempts.report(result)
    marks = [one for one in attempts.events(id_of('a')) if one.action == 'marked']
    assert [(one.reason, one.attempt) for one in marks] == [('its clock is off', 1)]
    attempts.report(report(at=80.0, output=b'late'))
    (found,) = attempts.attempts([id_of('a')])[id_of('a')]
    assert (found.state, found.ended_at, found.exit_code) == ('failed', 70.0, 3)
    kept = attempts.output(id_of('a'), 1)
    assert (len(kept.tail), kept.total) == (MAX_OUTPUT, 70_000)
    with pytest.raises(AttemptEnded):
        attempts.report(report(state='finished', exit_code=0))


@pytest.mark.parametrize(
    'wrong', [{'worker_id': id_of('other')}, {'number': 2}, {'rank': 1}, {'name': 'b'}]
)
def test_a_worker_reports_of_its_own_attempt_only(store, attempts, wrong):
    store.submit(new_jobs(job('a'), job('b')), QUOTAS)
    start(store)
    with pytest.raises(UnknownAttempt):
        attempts.report(report(**wrong))
    assert attempts.output(id_of('a'), 1) is None


def test_a_heartbeat_does_not_take_a_preemption_back(store, attempts):
    store.submit(new_jobs(job()), QUOTAS)
    start(store)
    step = JobStep(
        job_id=id_of('a'),
        before=JobState.STARTING,
        changed={'state': JobState.PREEMPTING},
        attempts=(attempt(state=AttemptState.PREEMPTING),),
    )
    store.decide([step])
    attempts.report(report())
    (found,) = attempts.attempts([id_of('a')])[id_of('a')]
    assert found.state is AttemptState.PREEMPTING


def test_workers_are_kept_with_what_their_agents_report(store, attempts):
    """What the service writes later does not wipe it out."""
    attempts.put([worker(credential='c' * 64), worker('v', 'day')])
    attempts.seen(id_of('w'), 9.0, -7200.5, '192.0.2.7')
    attempts.put([worker(state=WorkerState.IDLE, server_id='s')])
    found = attempts.worker(id_of('w'))
    assert (found.seen_at, found.clock_offset, found.server_id) == (9.0, -7200.5, 's')
    assert [one.queue_id for one in attempts.workers(id_of('day'))] == [id_of('day')]
    attempts.drop([id_of('w')])
    attempts.seen(id_of('w'), 9.0, 0.0)
    assert attempts.worker(id_of('w')) is None and len(attempts.workers()) == 1


def test_a_boot_secret_is_exchanged_once(queues, attempts):
    """The same session again is the answer that got lost; what the service writes leaves it (JW1)."""
    attempts.put([worker(credential='c' * 64), worker('v', credential='d' * 64)])
    first, other = 'a' * 64, 'b' * 64
    assert attempts.exchange(id_of('w'), 'c' * 64, first)
    assert attempts.exchange(id_of('w'), 'c' * 64, first)
    assert not attempts.exchange(id_of('w'), 'c' * 64, other)
    assert not attempts.exchange(id_of('w'), 'd' * 64, other)
    assert not attempts.exchange(id_of('none'), 'c' * 64, other)
    attempts.put([worker(credential='c' * 64, state=WorkerState.IDLE)])
    assert (attempts.worker(id_of('w')).session, attempts.worker(id_of('v')).session) == (first, '')


def test_the_session_of_a_server_ends_with_it(queues, attempts):
    """A new boot secret is that of a new server."""
    attempts.put([worker(credential='c' * 64)])
    attempts.exchange(id_of('w'), 'c' * 64, 'a' * 64)
    attempts.put([worker(credential='d' * 64)])
    assert attempts.worker(id_of('w')).session == ''
    assert attempts.exchange(id_of('w'), 'd' * 64, 'b' * 64)


def test_of_agents_that_exchange_at_once_one_is_let_in(queues, attempts):
    attempts.put([worker(credential='c' * 64)])
    sessions = [str(n) * 64 for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        let_in = list(pool.map(lambda one: attempts.exchange(id_of('w'), 'c' * 64, one), sessions))
    kept = attempts.worker(id_of('w')).session
    assert [one for one, fine in zip(sessions, let_in, strict=True) if fine] == [kept]


def test_events_are_bounded_and_paged(attempts):
    """The newest stay, those of others too."""
    attempts.tell([JobEvent(job_id='b', at=0.0, action='x', reason='y' * 5000)])
    events = [JobEvent(job_id='a', at=float(n), action='x') for n in range(MAX_EVENTS + 7)]
    attempts.tell(events)
    found = attempts.events('a', limit=MAX_EVENTS * 2)
    assert (len(found), found[0].at, found[-1].at) == (MAX_EVENTS, MAX_EVENTS + 6.0, 7.0)
    assert attempts.events('a', before=found[0].number, limit=1) == [found[1]]
    assert len(attempts.events('b')[0].reason) == 1000


def test_purging_forgets_what_ended_long_ago(store, attempts, database, wall):
    """With what only it ran; an element of an array that is kept can still be run."""
    store.submit(new_jobs(*array(2), job('open')), QUOTAS)
    store.submit(new_jobs(job('old')), QUOTAS)
    for name in ('many0', 'old'):
        store.want(id_of(name), JobWish.CANCEL, 'by u')
    wall.now += 100
    store.want(id_of('many1'), JobWish.CANCEL, 'by u')
    assert purge(database, wall.now - 50).rows['jobs'] == 2
    assert [one.name for one in store.jobs(JobFilter())] == ['open', 'many1']
    assert store.content(id_of('old')) is None and store.content(id_of('many'))
    assert attempts.events(id_of('old')) == []
    assert purge(database, wall.now + 1).rows['jobs'] == 1
    assert store.content(id_of('many')) is None and store.content(id_of('open'))
