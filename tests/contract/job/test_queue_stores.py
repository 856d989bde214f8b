# SPDX-License-Identifier: Apache-2.0
"""What every database does for queues: names, shares, quotas, deletion, statistics."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from nova_market.core.job.queue import QueueLimits, QueueMinute, QueueName, QueueState
from nova_market.core.job.record import JobState, JobWish
from nova_market.core.job.store_values import JobStep, QueueCount
from nova_market.db.job_attempts import DatabaseJobAttempts
from nova_market.db.job_decisions import DatabaseJobDecisions
from nova_market.db.purge import purge
from nova_market.db.queues import DatabaseQueues
from nova_market.errors import (
    BadAmount,
    Conflict,
    NovaMarketError,
    QueueDeleting,
    QueueNameTaken,
    QueueNotEmpty,
    SharesExceeded,
    TooManyQueues,
)
from tests.support.job_records import QUOTAS, attempt, id_of, job, new_jobs, queue, worker
from tests.support.servers.databases import Wall


@pytest.fixture
def wall():
    return Wall()


@pytest.fixture
def store(database, wall):
    return DatabaseQueues(database, wall)


@pytest.fixture
def jobs(database, wall):
    return DatabaseJobDecisions(database, wall)


def test_a_queue_is_kept_as_it_is(store, wall):
    """By id and by its full name; storing it twice changes nothing."""
    given = queue(
        share=0.25, aggregate='fast', policy='easy', parameters={'depth': 3.5}, networks=('n',),
        limits=QueueLimits(max_waiting=5, max_array=7), projects=('blue',), roles=('member',),
        weights={'blue': 2.0}, price_core_hour=9, reuse=False, trust_id='t', user_id='u',
    )  # fmt: skip
    made = store.create(given, most=1)
    assert made == replace(given, generation=1, created_at=wall.now, changed_at=wall.now)
    assert store.queue('red:night') == store.queue(made.id) == made == store.create(given, most=1)
    assert store.queue('night') is store.queue('blue:night') is store.queue('red:day') is None
    assert store.names([made.id, 'x']) == {made.id: 'night'}


def test_names_and_quotas_hold(store):
    """A name is one queue's in its project, and the quota is the project's."""
    store.create(queue(), most=1)
    with pytest.raises(TooManyQueues, match='has 1 queues'):
        store.check('red', most=1)
    store.check('red', most=2)
    with pytest.raises(TooManyQueues, match='has 1 queues'):
        store.create(queue('other'), most=1)
    with pytest.raises(QueueNameTaken, match='night'):
        store.create(replace(queue('other'), name='night'), most=2)
    store.create(replace(queue('other', 'blue'), name='night'), most=1)
    store.create(queue('day', 'blue'), most=2)
    with pytest.raises(QueueNameTaken):
        store.change(id_of('day'), {'name': 'night'}, 1)
    assert [one.key for one in store.queues()] == ['blue:day', 'blue:night', 'red:night']
    assert [one.name for one in store.queues('red')] == ['night']
    after = [one.key for one in store.queues(after='blue:day', limit=1)]
    assert after == ['blue:night']
    assert [one.key for one in store.queues(after='blue:night')] == ['red:night']
    assert [one.project_id for one in store.named('night')] == ['blue', 'red']
    assert store.queue('blue:night').id == id_of('other')


def name(given, user='bob', project='blue'):
    return QueueName(project_id=project, name=given, user_id=user)


def test_a_project_calls_a_queue_of_another_one_by_a_name_of_its_own(store):
    """Each name stands for one queue, accepted or own; with the queue its names go."""
    night = store.create(queue(), most=9)
    store.accept(night.id, name('theirs'), most=1)
    store.accept(night.id, name('night'), most=1)
    assert store.queue('blue:night') == night and store.queue('blue:theirs') is None
    assert (store.accepted('blue'), store.accepted('red')) == ({night.id: 'night'}, {})
    with pytest.raises(QueueNameTaken, match=f'calls queue {night.id} night already'):
        store.create(replace(queue('other', 'blue'), name='night'), most=9)
    own = store.create(queue('own', 'blue'), most=9)
    day = store.create(queue('day'), most=9)
    for taken in ('night', 'own'):
        with pytest.raises(QueueNameTaken):
            store.accept(day.id, name(taken), most=9)
    with pytest.raises(QueueNameTaken):
        store.change(own.id, {'name': 'night'}, 1)
    with pytest.raises(TooManyQueues, match='reject one first'):
        store.accept(day.id, name('day'), most=1)
    with pytest.raises(Conflict):
        store.accept(id_of('none'), name('none'), most=9)
    store.change(night.id, {'name': 'dusk'}, 1)
    assert store.queue('blue:night').id == night.id and store.queue('blue:dusk') is None
    store.reject(night.id, 'blue')
    assert store.queue('blue:night') is None
    store.accept(night.id, name('night'), most=9)
    store.remove(night.id)
    assert store.queue('blue:night') is None and store.accepted('blue') == {}


def test_a_project_lists_its_queues_and_those_that_take_its_jobs(store):
    """Page by page, by name; whoever is not invited any more, or whose queue has gone, sees none."""
    store.create(queue('own', 'blue'), most=9)
    night = store.create(queue('night', projects=('blue', 'green', 'red')), most=9)
    store.create(queue('other'), most=9)
    assert [one.key for one in store.queues('blue')] == ['red:night', 'blue:own']
    assert [one.name for one in store.queues('blue', 'red:night')] == ['own']
    assert [one.name for one in store.queues('blue', limit=1)] == ['night']
    assert [one.name for one in store.queues('red')] == ['night', 'other']
    assert [store.owned(one) for one in ('red', 'blue', 'green')] == [2, 1, 0]
    store.change(night.id, {'projects': ('blue',)}, 1)
    store.change(night.id, {'description': 'x'}, 2)
    assert store.queues('green') == [] and len(store.queues('blue')) == 2
    store.remove(night.id)
    assert [one.name for one in store.queues('blue')] == ['own']


@pytest.mark.parametrize('gone', ['removed', 'renamed'])
def test_a_name_rests_when_its_queue_has_gone(store, wall, gone):
    """Meanwhile it is free for the user who had it, in its project alone; then for everybody (J9)."""
    store.create(queue(user_id='ann'), most=9)
    if gone == 'removed':
        store.remove(id_of('night'))
    else:
        store.change(id_of('night'), {'name': 'dusk'}, 1)
    wall.now += 50.0
    again = replace(queue('again', user_id='bob'), name='night')
    store.create(queue('day', user_id='bob'), 9, 100.0)
    with pytest.raises(QueueNameTaken, match='night of another user has gone at'):
        store.create(again, 9, 100.0)
    with pytest.raises(QueueNameTaken):
        store.change(id_of('day'), {'name': 'night'}, 1, 100.0)
    other = store.create(replace(queue('other', 'blue', user_id='bob'), name='night'), 9, 100.0)
    with pytest.raises(QueueNameTaken):
        store.accept(other.id, name('night', project='red'), 9, 100.0)
    store.create(replace(again, user_id='ann'), 9, 100.0)
    store.remove(again.id)
    wall.now += 100.0
    assert store.create(again, 9, 100.0).user_id == 'bob'


def test_shares_of_one_cloud_are_at_most_one(store):
    """Those of each aggregate too; thirds add up. A queue without a share is never refused for it."""
    for name in ('a', 'b', 'c'):
        store.create(queue(name, share=1 / 3), most=9)
    with pytest.raises(SharesExceeded, match=r'share: 0.01: all shares of the cloud would be 1.01'):
        store.create(queue('d', share=0.01), most=9)
    store.create(queue('d'), most=9)
    store.create(queue('e', share=1.0, aggregate='fast'), most=9)
    with pytest.raises(SharesExceeded, match=r'give at most 0\.333'):
        store.change(id_of('a'), {'share': 0.5}, 1)
    with pytest.raises(SharesExceeded, match='aggregate fast'):
        store.change(id_of('a'), {'aggregate': 'fast'}, 1)
    assert store.change(id_of('a'), {'share': 0.0}, 1).share == 0.0


def test_queues_that_are_made_at_once_do_not_exceed_it(store):
    """Of eight that ask for 0.3 three get it, whichever they are."""

    def create(n):
        try:
            return store.create(queue(f'q{n}', share=0.3), most=9)
        except NovaMarketError:
            return None

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(create, range(8)))
    assert sum(one is not None for one in made) == 3


def test_a_change_counts_for_what_was_read(store, wall):
    """Of two changes of one generation one wins; asking again for what is there is no conflict."""
    store.create(queue(), most=1)
    wall.now += 5
    found = store.change(id_of('night'), {'idle_seconds': 5}, 1)
    assert (found.idle_seconds, found.generation, found.changed_at) == (5, 2, wall.now)
    assert store.change(id_of('night'), {'idle_seconds': 5}, 1) == found
    with pytest.raises(Conflict, match='generation 2, not 1'):
        store.change(id_of('night'), {'idle_seconds': 6}, 1)
    with pytest.raises(Conflict, match='no queue'):
        store.change(id_of('day'), {'idle_seconds': 6}, 1)
    for wrong in ('project_id', 'colour'):
        with pytest.raises(BadAmount, match=wrong):
            store.change(id_of('night'), {wrong: 'x'}, 2)


def test_a_trust_that_is_replaced_is_kept_until_it_is_ended(store):
    store.create(queue(trust_id='t1'), most=1)
    store.change(id_of('night'), {'trust_id': 't2'}, 1)
    assert store.replaced_trusts() == {id_of('night'): ['t1']}
    for _ in range(2):
        store.trust_ended('t1')
    assert store.replaced_trusts() == {}


def test_a_queue_with_jobs_is_not_deleted(store, jobs):
    """Nor with one that is held; with those that have ended it is, and takes nothing more."""
    store.create(queue(), most=1)
    jobs.submit(new_jobs(job('a'), job('b', state=JobState.HELD)), QUOTAS)
    with pytest.raises(QueueNotEmpty, match='has 2 jobs'):
        store.delete(id_of('night'))
    for name in 'ab':
        jobs.want(id_of(name), JobWish.CANCEL, 'by u')
    found = store.delete(id_of('night'))
    assert found.state is QueueState.DELETING and store.delete(id_of('night')) == found
    with pytest.raises(QueueDeleting):
        store.change(id_of('night'), {'state': QueueState.OPEN}, found.generation)
    assert store.change(id_of('night'), {'trust_id': 't'}, found.generation).trust_id == 't'
    assert store.delete(id_of('day')) is None


def test_a_queue_is_forgotten_with_all_that_is_its(store, jobs, database):
    """Jobs, what they ran, attempts, events, workers, statistics."""
    store.create(queue(), most=1)
    store.create(queue('day', 'blue'), most=1)
    jobs.submit(new_jobs(job()), QUOTAS)
    jobs.submit(new_jobs(job('b', 'day', 'blue')), QUOTAS)
    attempts = DatabaseJobAttempts(database)
    attempts.put([worker(), worker('v', 'day')])
    jobs.decide([JobStep(job_id=id_of('a'), before=JobState.WAITING, attempts=(attempt(),))])
    jobs.want(id_of('a'), JobWish.CANCEL, 'by u')
    store.note([QueueMinute(queue_id=id_of('night'), minute=1)])
    store.remove(id_of('night'))
    assert store.queue(id_of('night')) is jobs.job(id_of('a')) is jobs.content(id_of('a')) is None
    assert attempts.events(id_of('a')) == [] and attempts.attempts([id_of('a')]) == {}
    assert store.minutes(id_of('night'), 0, 9) == []
    assert [one.queue_id for one in attempts.workers()] == [id_of('day')]
    assert jobs.job(id_of('b')) and jobs.content(id_of('b'))
    assert store.create(queue(), most=1).generation == 1


def test_jobs_are_counted_by_where_they_are(store, jobs):
    """What has ended is not counted."""
    store.create(queue(), most=1)
    names = ('w', 'v', 'h', 's', 'c')
    made = [job(n, state=JobState.HELD if n == 'h' else JobState.WAITING) for n in names]
    jobs.submit(new_jobs(*made), QUOTAS)
    jobs.decide(
        [JobStep(job_id=id_of('s'), before=JobState.WAITING, changed={'state': JobState.SUSPENDED})]
    )
    jobs.want(id_of('c'), JobWish.CANCEL, 'by u')
    assert store.counts([id_of('night'), 'x']) == {
        id_of('night'): QueueCount(waiting=2, held=1, active=1),
        'x': QueueCount(),
    }


def test_minutes_are_kept_over_each_other_until_they_are_old(store, database):
    """A minute that is noted twice counts as noted last."""
    lines = [
        QueueMinute(queue_id='q', minute=n, cores=n / 2, waiting=n, started=1) for n in range(5)
    ]
    store.note([*lines, QueueMinute(queue_id='', minute=1)])
    store.note([replace(lines[2], cores=9.5)])
    assert store.minutes('q', 1, 3) == [lines[1], replace(lines[2], cores=9.5), lines[3]]
    assert store.minutes('q', 0, 9, limit=2) == lines[:2]
    assert store.minutes('', 0, 9) == [QueueMinute(queue_id='', minute=1)]
    assert purge(database, 3 * 60.0).rows['job_minutes'] == 4
    assert store.minutes('q', 0, 9) == lines[3:]


def test_the_largest_hosts_are_noted(store):
    """Nothing before the first time; the last ones count."""
    assert store.hosts() == []
    for sizes in ([(4.0, 8192.0, 50.0)], [(8.0, 1.0, 0.0), (4.0, 2.0, 0.5)]):
        store.note_hosts(sizes)
        assert store.hosts() == sizes
