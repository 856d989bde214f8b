# SPDX-License-Identifier: Apache-2.0
"""What every database does for bags of tasks: kept, filled, listed, changed, decided, ended, purged."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.job.record import JobState
from nova_market.core.job.store_values import JobStep
from nova_market.core.tender.bag import (
    BagAction,
    BagEvent,
    BagFilter,
    BagProgress,
    BagState,
    BagStep,
    TaskChange,
    TaskState,
)
from nova_market.core.tender.bag_request import new_tasks
from nova_market.core.tender.stored_offer import OfferState
from nova_market.db.bag_steps import DatabaseBags
from nova_market.db.job_decisions import DatabaseJobDecisions
from nova_market.db.offers import DatabaseOffers
from nova_market.db.purge import purge
from nova_market.db.queues import DatabaseQueues
from nova_market.errors import BadBag, BagEnded, KeyReused, TooManyBags
from tests.support.bag_builders import FACTS, NOW, asked, create, entries
from tests.support.job_records import QUOTAS, id_of, job, new_jobs, queue
from tests.support.offer_builders import offer
from tests.support.servers.databases import Wall

WAITING, TAKING, PLACED = TaskState.WAITING, TaskState.TAKING, TaskState.PLACED


@pytest.fixture
def wall():
    return Wall(NOW)


@pytest.fixture
def store(database, wall):
    DatabaseQueues(database, wall).create(queue(), 9)
    return DatabaseBags(database, wall)


def event(bag, action=BagAction.CHANGED, **more):
    return BagEvent(bag_id=bag.id, at=NOW + 5, action=action, **more)


def place(store, database, bag, row=0, cost=1000, charged=700):
    """Take an offer for a task and store its job; the offer."""
    task = store.task(bag.id, row)
    found = store.decide(task, offer(f'o{row}', number=0), cost)
    (stored,), _ = DatabaseJobDecisions(database, Wall(NOW)).submit(
        new_jobs(job(f'j{row}')), QUOTAS
    )
    changed = {'state': PLACED, 'job_id': stored.id}
    change = TaskChange(rows=(row,), before=TAKING, changed=changed, tries=task.tries + 1)
    assert store.write(BagStep(bag_id=bag.id, tasks=(change,))) == 1
    return found


def test_a_bag_is_kept_as_it_was_made(store):
    """With its tasks, and what they run once; read again as it is."""
    tasks = entries(
        3, importance=2.5, environment={'A': 'ä'}, flavors=['small', 'large'], within=9000.0
    )
    made, new = asked(tasks=tasks, queues=('night', 'day'), budget=5, defaults={'notice': 3})
    bag, fresh = store.create(made, new, 9)
    assert fresh and replace(bag, number=0) == made and store.bag(made.id) == bag
    assert list(store.tasks(made.id)) == list(new.tasks)
    assert store.tasks(made.id, after=0, limit=1)[0] == new.tasks[1] == store.task(made.id, 1)
    ((digest, content),) = new.contents.items()
    assert store.content(made.id, digest) == content and store.content(made.id, 'x') == {}
    assert store.bag(id_of('x')) is None and store.task(made.id, 9) is None
    assert [one.action for one in store.events(made.id)] == [BagAction.CREATED]


def test_a_key_names_one_bag(store):
    """The same request again is the same bag; another one is refused."""
    made, new = asked()
    assert store.create(made, new, 1)[1] and not store.create(made, new, 1)[1]
    with pytest.raises(KeyReused):
        store.create(replace(made, digest='else'), new, 1)
    assert len(store.tasks(made.id)) == 1


def test_a_project_has_so_many_bags_that_have_not_ended(store):
    """Those of others do not count, nor those that have ended."""
    first = create(store, name='a', most=1)
    with pytest.raises(TooManyBags, match='the limit is 1'):
        create(store, name='b', most=1)
    with pytest.raises(TooManyBags, match='the limit is 1'):
        store.check('red', 1)
    store.check('blue', 1)
    create(store, name='c', project='blue', most=1)
    store.cancel(first.id, event(first), jobs=False)
    create(store, name='b', most=1)


def test_a_bag_is_filled_in_parts(store):
    """In order; a part that is sent twice counts once; it opens with the last one."""
    bag = create(store, tasks=entries(2), more=True)
    assert bag.state is BagState.FILLING and store.due(NOW) == []
    more = new_tasks([{**one, 'name': f'm{n}'} for n, one in enumerate(entries(2))], bag, 2, FACTS)
    with pytest.raises(BadBag, match='go on with 2'):
        store.add(bag.id, 3, more, more=True)
    assert store.add(bag.id, 2, more, more=True).state is BagState.FILLING
    same = new_tasks(entries(1), bag, 4, FACTS)
    with pytest.raises(BadBag, match="has the name 't0'"):
        store.add(bag.id, 4, same, more=False)
    assert store.add(bag.id, 2, more, more=True).state is BagState.FILLING
    last = new_tasks([{**entries()[0], 'name': 'last'}], bag, 4, FACTS)
    assert store.add(bag.id, 4, last, more=False).state is BagState.OPEN
    assert [one.row for one in store.tasks(bag.id)] == [0, 1, 2, 3, 4]
    assert store.add(bag.id, 4, last, more=False).state is BagState.OPEN
    with pytest.raises(BagEnded, match='is open'):
        store.add(bag.id, 5, new_tasks([{**entries()[0], 'name': 'z'}], bag, 5, FACTS), more=False)
    assert [one.id for one in store.due(NOW)] == [bag.id]


def test_bags_are_chosen_and_paged(store):
    """By project, state and name, newest first."""
    made = [
        create(store, name=name, project=project)
        for name, project in (('a', 'red'), ('b', 'blue'), ('c', 'red'))
    ]
    assert [one.name for one in store.bags(BagFilter())] == ['c', 'b', 'a']
    assert [one.name for one in store.bags(BagFilter(project_id='red'), limit=1)] == ['c']
    assert [one.name for one in store.bags(BagFilter(project_id='red'), before=made[2].number)] == [
        'a'
    ]
    assert [one.name for one in store.bags(BagFilter(name='b'))] == ['b']
    assert not store.bags(BagFilter(states=(BagState.DONE,)))


def test_waiting_tasks_as_columns(store):
    """Those that are equal in flavors and time limit are a group."""
    tasks = entries(3)
    tasks[1]['time_limit'], tasks[2]['within'] = 700, 4000.0
    bag = create(store, tasks=tasks)
    change = TaskChange(rows=(0,), before=WAITING, changed={'why': 'budget', 'tried_at': 7.0})
    store.write(BagStep(bag_id=bag.id, tasks=(change,)))
    found = store.waiting(bag.id)
    assert found.row.tolist() == [0, 1, 2] and found.group.tolist() == [0, 1, 0]
    assert found.kinds == (((), 600), ((), 700)) and found.names == ('t0', 't1', 't2')
    assert found.tasks.deadline.tolist() == [np.inf, np.inf, NOW + 4000]
    assert (found.why, found.tried_at.tolist()) == (('budget', '', ''), [7.0, 0.0, 0.0])


def test_a_decision_is_stored_with_its_offer(store, database, wall):
    """Once: of two that decide for one task one has it; the next offer releases the one before."""
    offers = DatabaseOffers(database, wall)
    bag = create(store)
    task = store.task(bag.id, 0)
    # its owner has changed the bag since
    assert store.decide(task, offer('a'), 900, '', bag.changed_at - 1) is None
    found = store.decide(task, offer('a'), 900, '', bag.changed_at)
    assert found == offers.offer(id_of('a')) and found.state is OfferState.OPEN
    assert store.decide(task, offer('b'), 900) is None and offers.offer(id_of('b')) is None
    (taking,) = store.taking()
    assert (taking.state, taking.tries, taking.cost, taking.offer_id) == (TAKING, 1, 900, found.id)
    assert store.progress([bag.id])[bag.id].committed == 900
    assert store.decide(taking, offer('c'), 800, found.id).id == id_of('c')
    assert offers.offer(found.id).state is OfferState.RELEASED
    store.cancel(bag.id, event(bag), jobs=False)
    assert store.decide(store.task(bag.id, 0), offer('d'), 800, id_of('c')) is None
    assert store.task(bag.id, 0).state is TAKING


def test_what_has_changed_meanwhile_stays(store):
    """Tasks that are in another state, or at another try; columns of a bag that its owner has changed."""
    bag = create(store, tasks=entries(2))
    store.decide(store.task(bag.id, 0), offer('a'), 1)
    dropped = {'state': TaskState.DROPPED}
    change = TaskChange(rows=(0, 1), before=WAITING, changed=dropped)
    assert store.write(BagStep(bag_id=bag.id, tasks=(change,))) == 1
    late = TaskChange(rows=(0,), before=TAKING, changed=dropped, tries=7)
    assert store.write(BagStep(bag_id=bag.id, tasks=(late,))) == 0
    changed = store.change(bag.id, {'poll': 60.0, 'order': 'importance'}, NOW + 99, event(bag))
    assert (changed.poll, changed.order, changed.next_at) == (60.0, 'importance', NOW + 5)
    assert store.task(bag.id, 0).deadline == NOW + 99 and store.task(bag.id, 1).deadline == 0
    store.write(BagStep(bag_id=bag.id, changed={'next_at': NOW + 500}, seen=bag.changed_at))
    assert store.bag(bag.id).next_at == NOW + 5
    store.write(BagStep(bag_id=bag.id, changed={'next_at': NOW + 500}, seen=changed.changed_at))
    assert store.bag(bag.id).next_at == NOW + 500


def test_the_end_of_a_job_is_found_once_its_offer_is_settled(store, database, wall):
    """And a bag ends with its last task."""
    offers, decisions = DatabaseOffers(database, wall), DatabaseJobDecisions(database, wall)
    bag = create(store, tasks=entries(2))
    found = place(store, database, bag)
    place(store, database, bag, row=1)
    assert store.progress([bag.id])[bag.id].queued == 2 and not store.ended()
    for name in ('j0', 'j1'):
        step = JobStep(
            job_id=id_of(name), before=JobState.WAITING, changed={'state': JobState.FINISHED}
        )
        decisions.decide([step])
    assert [task.row for task, _, _ in store.ended()] == [0, 1]
    with database.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE offers SET state = 'accepted' WHERE id = '{found.id}'")
    assert [task.row for task, _, _ in store.ended()] == [1]
    offers.close(found.id, 55)
    (task, ended, refunded), (_, _, none) = store.ended()
    assert (task.row, ended.state, refunded, none) == (0, JobState.FINISHED, 55, 0)
    done = {'state': TaskState.DONE, 'spent': 645}
    for row, state in ((0, BagState.OPEN), (1, BagState.DONE)):
        change = TaskChange(rows=(row,), before=PLACED, changed=done)
        store.write(BagStep(bag_id=bag.id, changed={'next_at': NOW}, tasks=(change,)))
        assert store.bag(bag.id).state is state
    progress = store.progress([bag.id])[bag.id]
    assert (progress.spent, progress.committed, progress.succeeded) == (1290, 0, 2.0)
    assert store.bag(bag.id).next_at == 0 and store.bag(bag.id).ended_at == NOW
    with pytest.raises(BagEnded):
        store.change(bag.id, {'poll': 60.0}, None, event(bag))


def test_the_sums_of_an_ended_bag_are_kept_with_it(store, database):
    """Its tasks are not read for them any more; those of one that goes on are."""
    over, open_bag = (create(store, name=name, tasks=entries(3)) for name in ('over', 'open'))
    store.cancel(over.id, event(over), jobs=False)
    before = store.progress([over.id, open_bag.id])
    assert before[over.id].counts == {TaskState.CANCELLED: 3} and before[over.id].failed == 3.0
    with database.engine.begin() as connection:
        connection.exec_driver_sql('DELETE FROM bag_tasks')
    assert store.progress([over.id, open_bag.id]) == {
        over.id: before[over.id], open_bag.id: BagProgress(),
    }  # fmt: skip


def test_jobs_of_a_cancelled_bag(store, database):
    """Are named until they have ended or are asked to; only where the owner wants that."""
    bag = create(store, tasks=entries(2))
    place(store, database, bag)
    assert store.cancel(bag.id, event(bag), jobs=False).state is BagState.CANCELLED
    assert store.unwanted() == [] and store.task(bag.id, 1).state is TaskState.CANCELLED
    assert store.cancel(bag.id, event(bag), jobs=True).cancel_jobs
    assert store.unwanted() == [id_of('j0')] and store.bag(bag.id).ended_at == 0


def test_bags_that_ended_long_ago_are_purged(store, database, wall):
    """With all that is theirs; others stay."""
    old, new = create(store, name='old'), create(store, name='new')
    store.cancel(old.id, event(old), jobs=False)
    assert purge(database, NOW).rows['bags'] == 0
    assert purge(database, NOW + 100).rows['bags'] == 1
    assert store.bag(old.id) is None and not store.tasks(old.id) and not store.events(old.id)
    assert store.content(old.id, new_tasks(entries(), old, 0, FACTS).tasks[0].content) == {}
    assert store.bag(new.id) is not None and len(store.tasks(new.id)) == 1


def test_events_newest_first(store):
    """Of the bag, or of one task with those of the bag."""
    bag = create(store, tasks=entries(2))
    events = tuple(event(bag, BagAction.REFUSED, task=f't{n}', numbers={'n': n}) for n in range(2))
    store.write(BagStep(bag_id=bag.id, events=events))
    found = store.events(bag.id)
    assert [one.task for one in found] == ['t1', 't0', '']
    assert [one.task for one in store.events(bag.id, 't0')] == ['t0', '']
    assert [one.task for one in store.events(bag.id, before=found[0].number)] == ['t0', '']
