# SPDX-License-Identifier: Apache-2.0
"""Statistics and notifications of jobs, on a real database (J6)."""

from dataclasses import replace

import pytest

from nova_market.adapters.in_memory.notifications import RecordedNotices
from nova_market.core.job.minutes import MINUTE, PassRead
from nova_market.core.job.record import AttemptState, JobAction, JobEvent, JobState
from nova_market.core.job.store_values import JobStep
from nova_market.db.job_attempts import DatabaseJobAttempts
from nova_market.db.job_decisions import DatabaseJobDecisions
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.purge import purge
from nova_market.db.queues import DatabaseQueues
from nova_market.services.event_sender import PATIENCE
from nova_market.services.job.notices import JobNotices
from nova_market.services.job.statistics import JobStatistics
from tests.support.job_records import QUOTAS, attempt, id_of, job, new_jobs, queue
from tests.support.servers.databases import Wall

pytestmark = pytest.mark.functional

BEGIN = 60_000.0
NIGHT = id_of('night')


class Bed:
    """The stores of one service, and a queue with a job that waits since BEGIN."""

    def __init__(self, database):
        self.database = database
        self.wall = Wall()
        self.queues = DatabaseQueues(database, self.wall)
        self.jobs = DatabaseJobDecisions(database, self.wall)
        self.attempts = DatabaseJobAttempts(database)
        self.states = DatabaseJobStates(database)
        self.queues.create(queue(), 9)
        self.jobs.submit(new_jobs(job(submitted_at=BEGIN)), QUOTAS)
        self.statistics = self.new_statistics()

    def new_statistics(self):
        return JobStatistics(
            queues=self.queues,
            jobs=self.jobs,
            attempts=self.attempts,
            states=self.states,
            boundary=self.database.boundary,
        )

    def at(self, now):
        self.wall.now = now
        active = self.jobs.active()
        self.statistics.record(
            PassRead(
                now=now,
                queues=self.queues.queues(),
                waiting=self.jobs.waiting(),
                active=active,
                attempts=self.attempts.attempts([one.id for one in active]),
                capacity={'': (4.0, 1.0)},
            )
        )

    def starts(self, now):
        self._step(now, JobState.WAITING, JobAction.STARTED, state=JobState.RUNNING, attempt=1)(
            attempt(created_at=now, state=AttemptState.RUNNING)
        )

    def ends(self, now):
        part = attempt(created_at=0.0, ended_at=now, state=AttemptState.FINISHED)
        self._step(
            now, JobState.RUNNING, JobAction.FINISHED, state=JobState.FINISHED, ended_at=now
        )(part)

    def _step(self, now, before, action, **changed):
        self.wall.now = now
        told = JobEvent(job_id=id_of('a'), at=now, action=action, attempt=1)

        def decide(*parts):
            step = JobStep(
                job_id=id_of('a'), before=before, changed=changed, attempts=parts, events=(told,)
            )
            assert self.jobs.decide([step])

        return decide

    def minutes(self, queue_id=NIGHT):
        first = int(BEGIN // MINUTE)
        return {one.minute - first: one for one in self.queues.minutes(queue_id, first, first + 99)}


@pytest.fixture
def bed(database):
    return Bed(database)


def test_a_job_is_counted_from_its_submission_to_its_end(bed):
    bed.at(BEGIN + 1)
    bed.starts(BEGIN + 30)
    bed.at(BEGIN + 40)
    bed.ends(BEGIN + 90)
    bed.at(BEGIN + 130)
    first, second, third = (bed.minutes()[n] for n in range(3))
    assert (first.cores, first.share, first.started, first.running) == (0.5, 0.125, 1, 1)
    assert (second.cores, second.finished, second.running, second.waiting) == (0.5, 1, 0, 0)
    assert (third.cores, third.finished) == (0.0, 0)
    assert bed.minutes('')[1] == replace(second, queue_id='')


def test_a_restart_within_a_minute_changes_nothing(bed):
    """Each pass is another service's, and one of them was killed before it wrote its mark."""
    bed.at(BEGIN + 1)
    bed.starts(BEGIN + 10)
    before = bed.states.read('minutes')
    for now in (20, 35, 50, 70):
        bed.statistics = bed.new_statistics()
        bed.at(BEGIN + now)
    bed.states.write('minutes', before)
    bed.statistics = bed.new_statistics()
    bed.ends(BEGIN + 80)
    bed.at(BEGIN + 125)
    assert [(one.started, one.finished) for one in bed.minutes().values()] == [
        (1, 0),
        (0, 1),
        (0, 0),
    ]
    assert bed.minutes()[0].cores == pytest.approx(50 / 60)


def test_ten_minutes_without_a_pass_are_filled(bed):
    bed.at(BEGIN + 1)
    bed.starts(BEGIN + 60)
    bed.at(BEGIN + 659)
    assert [one.cores for one in bed.minutes().values()] == [0.0, *[1.0] * 10]
    assert [one.started for one in bed.minutes().values()] == [0, 1, *[0] * 9]


def test_within_a_minute_rows_are_written_every_ten_seconds(bed):
    bed.at(BEGIN + 1)
    bed.starts(BEGIN + 2)
    bed.at(BEGIN + 5)
    assert bed.minutes()[0].started == 0
    bed.at(BEGIN + 12)
    assert bed.minutes()[0].started == 1


def test_old_minutes_and_events_of_jobs_that_have_ended_are_purged(bed):
    """The queue's and those of all together; a job that waits keeps its events."""
    bed.at(BEGIN + 1)
    bed.starts(BEGIN + 30)
    bed.ends(BEGIN + 90)
    bed.jobs.submit(new_jobs(job('b', submitted_at=BEGIN)), QUOTAS)
    bed.attempts.tell([JobEvent(job_id=id_of('b'), at=BEGIN, action='marked')])
    bed.at(BEGIN + 310)
    gone = purge(bed.database, BEGIN + 120).rows
    assert (gone['jobs'], gone['job_minutes']) == (1, 4)
    assert list(bed.minutes()) == list(bed.minutes('')) == [2, 3, 4, 5]
    assert [one.job_id for one in bed.attempts.events_since(0)] == [id_of('b')]
    bed.at(BEGIN + 330)
    assert list(bed.minutes()) == [2, 3, 4, 5]


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now

    def wall(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def sent():
    return RecordedNotices()


@pytest.fixture
def notices(bed, clock, sent):
    def new():
        return JobNotices(
            attempts=bed.attempts,
            jobs=bed.jobs,
            states=bed.states,
            notices=sent,
            clock=clock,
            boundary=bed.database.boundary,
        )

    return new


def test_each_event_is_sent_once_whoever_leads(bed, notices, sent):
    service = notices()
    service.send()
    bed.starts(BEGIN)
    service.send()
    service.send()
    notices().send()
    bed.ends(BEGIN + 9)
    notices().send()
    service.forget()
    service.send()
    assert [(event, project) for event, project, _ in sent.sent] == [
        ('market.job.started', 'red'),
        ('market.job.finished', 'red'),
    ]


def test_what_is_behind_a_missing_number_waits_for_it(bed, notices, sent, clock):
    """Its transaction may be open still: the API has cancelled a job, and has not committed yet."""
    service = notices()
    bed.starts(BEGIN)
    service.send()
    (begun,) = bed.attempts.events_since(0)
    late = LateEvents(bed.attempts, begun.number + 1)
    service = JobNotices(
        attempts=late,
        jobs=bed.jobs,
        states=bed.states,
        notices=sent,
        clock=clock,
        boundary=bed.database.boundary,
    )
    for action in (JobAction.LOST, JobAction.REQUEUED):
        bed.attempts.tell([JobEvent(job_id=id_of('a'), at=BEGIN, action=action)])
    service.send()
    assert [event for event, _, _ in sent.sent] == ['market.job.started']
    late.hidden = 0
    service.send()
    assert [event for event, _, _ in sent.sent][1:] == ['market.job.lost', 'market.job.requeued']


def test_a_number_that_stays_missing_holds_up_the_rest_for_seconds(bed, notices, sent, clock):
    late = LateEvents(bed.attempts, 1)
    service = JobNotices(
        attempts=late,
        jobs=bed.jobs,
        states=bed.states,
        notices=sent,
        clock=clock,
        boundary=bed.database.boundary,
    )
    bed.starts(BEGIN)
    bed.ends(BEGIN + 9)
    service.send()
    assert sent.sent == []
    clock.now += PATIENCE
    service.send()
    assert [event for event, _, _ in sent.sent] == ['market.job.finished']


class LateEvents:
    """The store of attempts while one event is not committed yet."""

    def __init__(self, store, hidden):
        self._store, self.hidden = store, hidden

    def events_since(self, after, limit=1000):
        found = self._store.events_since(after, limit)
        return [one for one in found if one.number != self.hidden]
