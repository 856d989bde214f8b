# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the service of jobs, with the real API, on a cloud in memory."""

from dataclasses import replace

import pytest

from nova_market.core.job.minutes import MINUTE
from nova_market.core.job.operator_limits import JobLimits
from nova_market.core.job.queue import QueueLimits
from nova_market.core.job.record import (
    ACTIVE,
    AfterCondition,
    JobKind,
    JobState,
    JobWish,
    PreemptAction,
)
from nova_market.core.job.store_values import JobFilter
from nova_market.services.job.statistics import JobStatistics
from tests.support.job_bed import SETTINGS, STEP, JobBed, host, id_of

pytestmark = pytest.mark.functional

FINISHED = JobState.FINISHED


def cores(bed, queue):
    """What the production jobs of a queue hold."""
    found = bed.stores.jobs.jobs(JobFilter(queue_id=id_of(queue), states=ACTIVE))
    return sum(one.cores * one.servers for one in found if one.kind is JobKind.PRODUCTION)


def test_a_job_runs_and_its_worker_goes_when_it_is_idle(bed):
    """It waits, starts, runs, ends; its exit code is kept; the idle worker is deleted in the end."""
    job_id = bed.submit('a', 'night', code=3)
    bed.until(bed.all_ended)
    found = bed.job(job_id)
    assert (found.state, found.exit_code, found.attempt) == (JobState.FAILED, 3, 1)
    assert bed.actions(job_id) == ['starting', 'started', 'failed']
    bed.until(lambda: not bed.owners.made)
    assert bed.stores.attempts.workers() == []


def test_forty_jobs_of_two_queues_keep_the_shares(bed):
    """Long production jobs of a queue never hold more than its half; all end, each script to its end once."""
    bed.add_queue('day', 'blue')
    names = []
    for n in range(20):
        for queue in ('night', 'day'):
            name, best_effort = f'{queue}-{n}', n % 2 == 1
            bed.submit(name, queue, sleep=20.0, time_limit=3600, best_effort=best_effort)
            names.append(name)
    most = {'night': 0.0, 'day': 0.0}
    for _ in range(200):
        if bed.all_ended():
            break
        bed.pass_()
        most = {queue: max(held, cores(bed, queue)) for queue, held in most.items()}
    assert most == {'night': 4.0, 'day': 4.0}  # of 8 cores
    assert set(bed.states().values()) == {'finished'} and len(names) == 40
    assert [bed.guests.ends(id_of(name)).count('exit') for name in names] == [1] * 40
    # workers are used again: there were fewer than jobs
    assert len({one.server_id for one in bed.guests.runs}) < 30


class SlowToRead:
    """A cloud that takes a moment to read, in which jobs end."""

    def __init__(self, bed):
        self._bed = bed

    def hosts(self):
        self._bed.clock.advance(3.0)
        self._bed.guests.tick()
        return self._bed.cloud.hosts()

    def __getattr__(self, name):
        return getattr(self._bed.cloud, name)


def test_a_job_starts_after_the_one_whose_room_it_has(bed):
    """However long a pass reads, no moment and no minute has more of a queue than its share has room for."""
    ids = [bed.submit(f'j{n}', 'night', sleep=20.0 + n, time_limit=3600) for n in range(12)]
    parts = {name: getattr(bed.stores, name) for name in ('queues', 'jobs', 'attempts', 'states')}
    service = bed.another(
        hosts=SlowToRead(bed), reporter=JobStatistics(**parts, boundary=bed.database.boundary)
    )
    service.start()
    while not bed.all_ended():
        bed.pass_(service)
    attempts = bed.stores.attempts.attempts(ids).values()
    spans = [(one.created_at, one.ended_at) for parts in attempts for one in parts]
    assert len(spans) == 12
    assert max(sum(begin <= t < end for begin, end in spans) for t, _ in spans) == 4
    now = int(bed.clock.wall() // MINUTE)
    minutes = bed.stores.queues.minutes(id_of('night'), now - 60, now, 100)
    assert 3.0 < max(one.cores for one in minutes) <= 4.0


def test_a_production_job_preempts_the_newest_best_effort_job(small):
    """It gets its notice, waits again, and ends later; the older one is spared."""
    old = small.submit('old', 'night', sleep=200.0, best_effort=True)
    small.run(2)
    new = small.submit('new', 'night', sleep=60.0, best_effort=True)
    small.until(lambda: len(small.guests.running()) == 2)
    urgent = small.submit('urgent', 'night', sleep=20.0)
    small.until(lambda: small.job(urgent).state is FINISHED)
    assert small.guests.ends(old)[0] is None and small.job(old).attempt == 1
    small.until(small.all_ended)
    assert small.guests.ends(new) == ['stopped', 'exit']
    assert (small.job(new).attempt, small.job(new).requeues) == (2, 1)
    assert set(small.states().values()) == {'finished'}
    events = small.actions(new)
    assert events.index('preempting') < events.index('preempted') < events.index('requeued')


@pytest.mark.parametrize('own', [None, 20])
def test_a_best_effort_job_goes_within_the_limits_that_are_in_force(fast, own):
    """However long a least run time and a notice are stored with it; a lower limit of the queue counts."""
    most = JobLimits(max_notice=40, max_least_run_time=100)
    bed = JobBed(fast, hosts=[host('a', cores=1.0)], settings=replace(SETTINGS, limits=most))
    limits = QueueLimits(max_notice=own, max_least_run_time=own)
    bed.add_queue('night', 'red', share=1.0, limits=limits)
    stays = bed.submit(
        'stays', 'night', sleep=90_000.0, best_effort=True, time_limit=86_400, notice=86_400,
        least_run_time=86_400, preempt_action=PreemptAction.SUSPEND,
    )  # fmt: skip
    bed.until(bed.guests.running)
    urgent = bed.submit('urgent', 'night', sleep=20.0)
    bed.until(lambda: bed.job(urgent).state is FINISHED, passes=100)
    at = {one.action: one.at for one in bed.stores.attempts.events(stays, limit=100)}
    least = own or most.max_least_run_time
    assert least <= at['preempting'] - at['starting'] <= least + 4 * STEP
    assert bed.job(stays).state in (JobState.SUSPENDED, JobState.STARTING, JobState.RUNNING)


def test_a_stored_short_below_counts_up_to_the_limit_only(bed):
    """A queue without a share in an empty cloud: what the operator calls short starts, and no longer one."""
    bed.add_queue('free', 'blue', share=0.0, short_below=30 * 86_400)
    longest = bed.settings.limits.max_short_below
    long = bed.submit('long', 'free', time_limit=longest + 1)
    short = bed.submit('short', 'free', time_limit=longest)
    bed.until(lambda: bed.job(short).state is FINISHED)
    assert bed.job(long).state is JobState.WAITING and bed.job(long).reason.code == 'share'


def test_a_suspended_job_goes_on_where_it_was(fast):
    """Shelved when a production job needs its room, brought back behind it, in the same attempt.

    The time in which it was shelved is not charged (J2).
    """
    bed = JobBed(fast, hosts=[host('a', cores=2.0, mib=2048.0)])
    bed.add_queue('night', 'red', share=1.0, price_core_hour=3600)
    rests = bed.submit(
        'rests', 'night', sleep=200.0, best_effort=True, flavor='large', cost_limit=10_000,
        preempt_action=PreemptAction.SHELVE,
    )  # fmt: skip
    bed.until(lambda: bed.guests.running())
    urgent = bed.submit('urgent', 'night', sleep=20.0)
    bed.until(lambda: bed.job(rests).state is JobState.SUSPENDED)
    bed.until(bed.all_ended)
    assert bed.guests.ends(urgent) == bed.guests.ends(rests) == ['exit']
    assert bed.job(rests).attempt == 1
    at = {one.action: one.at for one in bed.stores.attempts.events(rests, limit=100)}
    (part,) = bed.stores.attempts.attempts([rests])[rests]
    away = at['resumed'] - at['suspended']
    assert away >= 20.0
    # two cores at one micro-credit a second
    assert bed.job(rests).charged == 2 * (part.ended_at - part.started_at - away)


def test_a_gang_starts_together_or_not_at_all(bed):
    """All servers begin when the last one has called; with too little room it waits whole."""
    bed.submit('first', 'night', sleep=40.0, servers=3, flavor='large', time_limit=600)
    gang = bed.submit('gang', 'night', sleep=20.0, servers=3)
    bed.until(bed.all_ended)
    for name in ('first', 'gang'):
        runs = [one for one in bed.guests.runs if one.job_id == id_of(name)]
        assert len(runs) == 3 and {one.end for one in runs} == {'exit'}
        began = [one.began for one in runs]
        assert max(began) - min(began) <= STEP and len({one.server_id for one in runs}) == 3
    assert bed.job(gang).state is FINISHED


def test_an_array_and_jobs_after_it(bed):
    """A job waits for all elements; one that needs their success is cancelled when one has failed."""
    bed.submit('e', 'night', sleep=10.0, code=1, array=3)
    after = {'after': (id_of('e'),), 'state': JobState.HELD}
    end = bed.submit('end', 'night', after_condition=AfterCondition.END, **after)
    success = bed.submit('success', 'night', **after)
    bed.run(2)
    assert bed.job(end).reason.code == 'dependency'
    bed.until(bed.all_ended)
    elements = [id_of(f'e-{n}') for n in range(3)]
    assert {bed.job(one).state for one in elements} == {JobState.FAILED}
    assert (bed.job(end).state, bed.job(success).state) == (FINISHED, JobState.CANCELLED)
    last = max(one.ended for one in bed.guests.runs if one.job_id in elements)
    assert all(one.began >= last for one in bed.guests.runs if one.job_id == end)


@pytest.mark.parametrize('when', ['waiting', 'starting', 'running'])
def test_a_cancelled_job_ends(bed, when):
    job_id = bed.submit('a', 'night', sleep=300.0)
    bed.until(lambda: str(bed.job(job_id).state) == when)
    bed.stores.jobs.want(job_id, JobWish.CANCEL, 'by its owner')
    bed.until(bed.all_ended, passes=10)
    assert bed.job(job_id).state is JobState.CANCELLED
    bed.run(3)
    assert bed.guests.running() == []


def test_a_silent_worker_is_lost_and_its_server_goes_first(bed):
    """The job is run again once the first server is gone; a second loss fails it (one retry)."""
    job_id = bed.submit('a', 'night', sleep=60.0)
    bed.until(lambda: bed.guests.running())
    (first,) = bed.owners.made
    bed.guests.mute.add(first)
    bed.until(lambda: len(bed.guests.runs) == 2)
    assert first not in bed.owners.made and bed.job(job_id).lost == 1
    second = bed.guests.runs[1].server_id
    bed.guests.mute.add(second)
    bed.until(bed.all_ended)
    assert bed.job(job_id).state is JobState.FAILED
    assert bed.guests.ends(job_id) == ['cut off', 'cut off'] or second in bed.guests.mute
    assert bed.actions(job_id).count('lost') == 2


def test_a_queue_is_deleted_with_its_workers(bed):
    """Its row goes when no server of it is left; its trust is ended."""
    bed.submit('a', 'night')
    bed.until(bed.all_ended)
    assert len(bed.owners.made) == 1
    bed.stores.queues.delete(id_of('night'))
    bed.until(lambda: bed.stores.queues.queue(id_of('night')) is None, passes=10)
    assert (bed.owners.made, bed.owners.trusts) == ({}, {})


def test_what_the_cloud_refuses_is_the_reason(bed):
    """The job waits with a pause that grows; it runs when there is a quota again."""
    bed.add_queue('day', 'blue')
    bed.owners.quota = 0
    job_id = bed.submit('a', 'night')
    bed.run(3)
    found = bed.job(job_id)
    assert found.state is JobState.WAITING and found.not_before > bed.clock.wall() - 5
    assert 'quota exceeded' in found.reason.text
    bed.owners.quota = 10
    bed.until(bed.all_ended)
    assert bed.job(job_id).state is FINISHED and bed.job(job_id).lost == 0


def test_a_broken_policy_stops_its_own_queue_only(bed):
    """One that is not installed, and parameters that it does not take; the reason names it."""
    bed.add_queue('odd', 'blue', share=0.2, policy='astrology')
    bed.add_queue('wrong', 'blue', share=0.2, policy='flexible', parameters={'moon': 1.0})
    good, odd, wrong = (bed.submit(f'in-{name}', name) for name in ('night', 'odd', 'wrong'))
    bed.until(lambda: bed.job(good).state is FINISHED)
    assert [str(bed.job(one).state) for one in (odd, wrong)] == ['waiting', 'waiting']
    assert 'astrology: it is not installed here, or the operator' in bed.job(odd).reason.text
    assert 'moon' in bed.job(wrong).reason.text


def test_nothing_is_remembered_of_a_policy_that_no_queue_has(bed, caplog):
    """It is reported once while a queue has it, and once more when one has it again."""
    bed.add_queue('odd', 'blue', share=0.2, policy='astrology')
    (odd,) = [one for one in bed.stores.queues.queues('blue') if one.name == 'odd']
    bed.submit('in-odd', 'odd')
    for revision, policy in enumerate(('alchemy', 'astrology'), odd.generation):
        bed.run(3)
        bed.stores.queues.change(odd.id, {'policy': policy}, revision)
    bed.run(3)
    lines = [r.message for r in caplog.records if 'start no jobs' in r.message]
    assert [line.split()[4] for line in lines] == ['astrology', 'alchemy', 'astrology']
