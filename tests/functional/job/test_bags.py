# SPDX-License-Identifier: Apache-2.0
"""Bags of tasks from their creation to the last result: what they try, take, pay, drop and give up (T5)."""

from dataclasses import replace

import pytest

from nova_market.core.job.record import JobWish
from nova_market.core.ledger.posting import ESCROW, account
from nova_market.core.tender.bag import BagAction, BagEvent, BagState, BagStep, TaskState
from nova_market.core.tender.negotiation import NoDeal
from nova_market.core.tender.stored_offer import OfferFilter, OfferState
from nova_market.db.bag_steps import DatabaseBags
from tests.support.bag_builders import create, entries
from tests.support.job_bed import JobBed, host, id_of

pytestmark = pytest.mark.functional

PRICE = 3_600_000
"""1000 micro-credits for a core-second: 600,000 for ten minutes of a small one."""

COST = 600_000
DONE, WAITING, PLACED, DROPPED = (
    TaskState.DONE,
    TaskState.WAITING,
    TaskState.PLACED,
    TaskState.DROPPED,
)


class Bed(JobBed):
    """One host of two cores, a queue of red's that blue pays for."""

    def __init__(self, base, amount=10**9, **more):
        super().__init__(base, hosts=[host('a', cores=2.0, mib=2048.0)], **more)
        self.add_queue(
            'night', 'red', projects=('blue',), share=0.0, policy='fair_tree',
            price_core_hour=PRICE, flavors=('small',),
        )  # fmt: skip
        self.grant('red', 0)
        self.grant('blue', amount)
        self.store = DatabaseBags(self.database, self.clock.wall)
        self.pass_()

    def grant(self, project, amount):
        if amount:
            super().grant(project, amount)

    def bag(self, tasks=None, project='blue', **more):
        made = create(self.store, project=project, tasks=tasks, now=self.clock.wall(), **more)
        return made.id

    def counts(self, bag_id):
        return dict(self.store.progress([bag_id])[bag_id].counts)

    def tasks(self, bag_id):
        return {one.name: one for one in self.store.tasks(bag_id)}

    def events(self, bag_id):
        """(action, task) oldest first."""
        return [(one.action, one.task) for one in reversed(self.store.events(bag_id))]

    def over(self, bag_id):
        return self.store.bag(bag_id).state is BagState.DONE


@pytest.fixture
def bed(fast):
    return Bed(fast)


def open_offers(bed):
    chosen = OfferFilter(now=bed.clock.wall(), states=(OfferState.OPEN, OfferState.HELD))
    return bed.market.stores.offers.offers(chosen)


def test_a_bag_is_run_and_paid(bed):
    """Five tasks on two cores: each is placed by an offer of its own, done, and paid once."""
    bag_id = bed.bag(entries(5, importance=2.0))
    bed.run(1)
    placed = bed.counts(bag_id).get(PLACED, 0)
    assert placed >= 2
    assert bed.balance(ESCROW) == placed * COST
    bed.until(lambda: bed.over(bag_id))
    assert bed.counts(bag_id) == {DONE: 5}
    progress = bed.store.progress([bag_id])[bag_id]
    jobs = [bed.job(one.job_id) for one in bed.tasks(bag_id).values()]
    assert len({one.id for one in jobs}) == 5 and {one.name for one in jobs} == set(
        bed.tasks(bag_id)
    )
    assert progress.spent == sum(one.charged for one in jobs) > 0
    assert (progress.succeeded, progress.failed, progress.committed) == (10.0, 0.0, 0)
    assert bed.balance(account('project', 'blue')) == 10**9 - progress.spent
    assert bed.balance(ESCROW) == 0 and not bed.ledger.discrepancies()
    assert not open_offers(bed)
    events = bed.events(bag_id)
    assert events[0] == (BagAction.CREATED, '')
    for name in bed.tasks(bag_id):
        assert [action for action, task in events if task == name][-2:] == ['placed', 'done']


def test_the_most_important_tasks_are_placed_first(fast):
    """By what is left of the budget for two of five."""
    bed = Bed(fast)
    tasks = [{**one, 'importance': float(n)} for n, one in enumerate(entries(5))]
    bag_id = bed.bag(tasks, order='importance', budget=2 * COST)
    bed.run(1)
    found = bed.tasks(bag_id)
    assert {name for name, one in found.items() if one.state is PLACED} == {'t3', 't4'}
    assert {one.why for one in found.values() if one.state is WAITING} == {NoDeal.BUDGET}
    assert found['t0'].reason == 'the cheapest offer costs 0.6, and 0 is left'
    assert bed.store.bag(bag_id).next_at == bed.clock.wall() - 5.0 + 500.0
    assert bed.store.progress([bag_id])[bag_id].why == {NoDeal.BUDGET: 3}


def test_a_task_is_tried_again_when_one_has_ended(fast):
    """What an ended task has not used of the budget is for the next one, long before `poll`."""
    bed = Bed(fast)
    bag_id = bed.bag(entries(3), budget=COST + COST // 2)
    bed.run(1)
    assert bed.counts(bag_id) == {PLACED: 1, WAITING: 2}
    began = bed.clock.wall()
    bed.until(lambda: bed.over(bag_id))
    assert bed.counts(bag_id) == {DONE: 3} and bed.clock.wall() - began < 400
    assert bed.store.progress([bag_id])[bag_id].spent <= COST + COST // 2


def test_what_the_project_has_is_not_committed_twice(fast):
    """Two bags of one project share its balance: together they commit what it has."""
    bed = Bed(fast, amount=2 * COST + 5)
    ids = [bed.bag(entries(2), name=name) for name in 'ab']
    bed.run(1)
    counts = [bed.counts(one) for one in ids]
    assert sum(one.get(PLACED, 0) for one in counts) == 2
    assert bed.balance(account('project', 'blue')) == 5 and not bed.ledger.discrepancies()


def test_a_task_that_cannot_be_in_time_is_dropped(bed):
    """At once where nobody could be in time, with the reason; without `retry` at the first refusal."""
    soon = [{**entries()[0], 'name': 'soon', 'within': 605.0}]
    bag_id = bed.bag([*soon, {**entries()[0], 'name': 'later', 'within': 90_000.0}])
    bed.run(1)
    # a new worker takes longer to start than there is time
    assert bed.tasks(bag_id)['soon'].why == NoDeal.DEADLINE
    bed.until(lambda: bed.over(bag_id))
    found = bed.tasks(bag_id)
    assert (found['soon'].state, found['soon'].why) == (DROPPED, NoDeal.OVERDUE)
    assert found['later'].state is DONE
    progress = bed.store.progress([bag_id])[bag_id]
    assert (progress.succeeded, progress.failed, progress.why) == (1.0, 1.0, {NoDeal.OVERDUE: 1})
    hasty = bed.bag(entries(2), name='hasty', retry=False, budget=COST)
    bed.run(1)
    found = bed.tasks(hasty)
    assert (found['t0'].state, found['t1'].state) == (PLACED, DROPPED)
    assert found['t1'].why == NoDeal.BUDGET


def test_a_closed_queue_is_the_reason_of_the_bag(bed):
    """It waits, and goes on when the queue takes jobs again."""
    bag_id = bed.bag(entries(2))
    night = bed.stores.queues.queue(id_of('night'))
    bed.stores.queues.change(night.id, {'projects': ()}, night.generation)
    bed.run(1)
    bag = bed.store.bag(bag_id)
    assert 'no queue' in bag.reason and bed.counts(bag_id) == {WAITING: 2}
    assert {one.why for one in bed.tasks(bag_id).values()} == {NoDeal.NO_OFFER}
    night = bed.stores.queues.queue(id_of('night'))
    bed.stores.queues.change(night.id, {'projects': ('blue',)}, night.generation)
    bed.clock.advance(500.0)
    bed.until(lambda: bed.over(bag_id))
    assert bed.counts(bag_id) == {DONE: 2} and bed.store.bag(bag_id).reason == ''


def test_a_full_queue_does_not_keep_a_bag_from_the_others(bed):
    """Its tasks go to the next best queue in the same pass, and nothing is left of what was refused."""
    night = bed.stores.queues.queue(id_of('night'))
    limits = {'limits': replace(night.limits, max_waiting=1)}
    bed.stores.queues.change(night.id, limits, night.generation)
    bed.add_queue(
        'day', 'red', projects=('blue',), share=0.0, policy='fair_tree', flavors=('small',),
        price_core_hour=2 * PRICE,
    )  # fmt: skip
    bed.pass_()
    bag_id = bed.bag(entries(3), queues=('night', 'day'), utility='cheapest')
    bed.run(1)
    placed = [one.queue_id for one in bed.tasks(bag_id).values() if one.state is PLACED]
    assert placed == [id_of('night'), id_of('day'), id_of('day')]
    assert 'its limit is 1' in bed.store.bag(bag_id).reason
    assert not open_offers(bed) and not bed.ledger.discrepancies()


def test_tasks_wait_while_all_queues_of_the_bag_are_full(bed):
    """Also those of a bag that drops what is refused: nobody has refused them."""
    night = bed.stores.queues.queue(id_of('night'))
    limits = {'limits': replace(night.limits, max_waiting=1)}
    bed.stores.queues.change(night.id, limits, night.generation)
    bed.pass_()
    bag_id = bed.bag(entries(4), retry=False)
    bed.run(1)
    counts = bed.counts(bag_id)
    assert counts[PLACED] == 1 and counts[WAITING] >= 2


def test_a_round_is_finished_before_the_next_one_begins(fast):
    """Tasks that end meanwhile do not let it try its first kinds again and again; then another one begins."""
    bed = Bed(fast, tries=1)
    bag_id = bed.bag([{**one, 'time_limit': 600 + n} for n, one in enumerate(entries(4))], budget=1)
    again = BagStep(bag_id=bag_id, changed={'next_at': bed.clock.wall(), 'again': True})
    for passed in range(1, 5):
        bed.run(1)
        assert sum(one.why != '' for one in bed.tasks(bag_id).values()) == passed
        if passed < 4:
            bed.store.write(replace(again, changed={'next_at': bed.clock.wall(), 'again': True}))
    bag = bed.store.bag(bag_id)
    assert (bag.round_at, bag.next_at) == (0.0, bed.clock.wall() - 5.0)
    bed.run(4)
    bag = bed.store.bag(bag_id)
    assert (bag.again, bag.round_at) == (False, 0.0) and bag.next_at > bed.clock.wall() + 400.0


def test_a_cancelled_bag_drops_what_waits(bed):
    """Its jobs go on; with `jobs` they are cancelled too, and the bag ends."""
    bag_id = bed.bag(entries(6), budget=2 * COST)
    bed.run(1)
    event = BagEvent(bag_id=bag_id, at=bed.clock.wall(), action=BagAction.CANCELLED)
    bed.store.cancel(bag_id, event, jobs=False)
    assert bed.counts(bag_id) == {PLACED: 2, TaskState.CANCELLED: 4}
    bed.run(2)
    jobs = [bed.job(one.job_id) for one in bed.tasks(bag_id).values() if one.job_id]
    assert {one.wish for one in jobs} == {JobWish.RUN}
    bed.store.cancel(bag_id, event, jobs=True)
    bed.until(lambda: bed.store.bag(bag_id).ended_at > 0)
    assert bed.counts(bag_id) == {TaskState.CANCELLED: 6}
    assert bed.store.bag(bag_id).state is BagState.CANCELLED and bed.balance(ESCROW) == 0


def test_a_failed_job_is_a_failed_task(bed):
    """It is not tried again: what it was charged is spent."""
    bag_id = bed.bag(entries(1, script='#!/bin/sh\nsleep 20\nexit 3\n'))
    bed.until(lambda: bed.over(bag_id))
    task = bed.tasks(bag_id)['t0']
    assert task.state is TaskState.FAILED and task.spent == bed.job(task.job_id).charged > 0
    assert bed.store.progress([bag_id])[bag_id].failed == 1.0


def test_offers_of_bags_are_none_of_the_project(fast):
    """As many as it may have are open already."""
    bed = Bed(fast)
    bag_id = bed.bag(entries(2))
    asked = {'queue': id_of('night'), 'time_limit': 60}
    bed.market.call('POST', '/v1/offers', 'member@blue', json=asked)
    before = len(open_offers(bed))
    assert before == 1
    bed.run(1)
    assert bed.counts(bag_id) == {PLACED: 2} and len(open_offers(bed)) == before


def test_a_pass_tries_so_many_and_the_next_one_goes_on(fast):
    """Tasks of different lengths need a request each: the round is over after several passes."""
    bed = Bed(fast, tries=4)
    tasks = [{**one, 'time_limit': 600 + n} for n, one in enumerate(entries(5))]
    bag_id = bed.bag(tasks, budget=1)
    bed.run(1)
    assert bed.store.bag(bag_id).round_at > 0
    assert sum(one.why != '' for one in bed.tasks(bag_id).values()) == 4
    bed.run(1)
    assert bed.store.bag(bag_id).round_at == 0
    assert {one.why for one in bed.tasks(bag_id).values()} == {NoDeal.BUDGET}


def test_in_a_queue_of_its_own_nothing_is_paid(bed):
    """A project without credits uses its own queue."""
    bag_id = bed.bag(entries(2), project='red')
    bed.until(lambda: bed.over(bag_id))
    assert bed.counts(bag_id) == {DONE: 2} and bed.store.progress([bag_id])[bag_id].spent == 0
    assert id_of('night') in {one.queue_id for one in bed.tasks(bag_id).values()}


def test_with_one_try_a_pass_a_task_is_placed_all_the_same(fast):
    """A request and an acceptance; also where many bags share the tries of a pass."""
    bed = Bed(fast, tries=1)
    first, second = bed.bag(entries(1)), bed.bag(entries(1))
    bed.run(3)
    for bag_id in (first, second):
        assert WAITING not in bed.counts(bag_id)
