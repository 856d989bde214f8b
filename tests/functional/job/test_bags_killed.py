# SPDX-License-Identifier: Apache-2.0
"""Services that are killed while bags negotiate: no task is lost, submitted twice or paid twice (F5)."""

import contextlib
from collections import Counter
from random import Random

import pytest

from nova_market.core.job.store_values import JobFilter
from nova_market.core.ledger.posting import ESCROW, account
from nova_market.core.tender.bag import BagAction, TaskState
from tests.functional.job.test_bags import PLACED, Bed
from tests.functional.market.test_killed import Killed, Life, Mortal
from tests.support.bag_builders import entries
from tests.support.job_bed import STEP

pytestmark = pytest.mark.functional

LONGEST = 60
"""Calls, before and behind each, that bags make until they are killed."""

TASKS = 5


class Restarted:
    """Bags whose service dies before or behind one of its calls to the database."""

    def __init__(self, base, seed):
        self.bed = Bed(base)
        self._random, self.deaths = Random(seed), []
        self._next()

    def until(self, done):
        for _ in range(150):
            if done():
                return
            self.bed.guests.tick()
            self.bed.service.turn()
            try:
                self._bags.turn()
            except Killed:
                self.deaths.append(self._life.steps[-1])
                self._next()
            self.bed.check()
            self.bed.clock.advance(STEP)
        raise AssertionError(self.deaths)

    def _next(self):
        self._life = life = Life(self._random.randint(1, LONGEST))
        self._bags = self.bed.bags(lambda one: Mortal(one, life))


@pytest.mark.parametrize('seed', range(6))
def test_killed_at_random_moments(fast, seed):
    """Each task has one job, which runs once and is charged once; nothing is held at the end."""
    story = Restarted(fast, seed)
    bed = story.bed
    # the service itself looks after jobs alone: it is bags that die
    bed.service = bed.another(bags=_Idle())
    bed.service.start()
    bag_id = bed.bag(entries(TASKS))
    story.until(lambda: bed.over(bag_id))
    tasks = bed.tasks(bag_id)
    assert bed.counts(bag_id) == {TaskState.DONE: TASKS}
    jobs = bed.stores.jobs.jobs(JobFilter())
    assert Counter(one.name for one in jobs) == Counter(list(tasks))
    assert {one.id for one in jobs} == {one.job_id for one in tasks.values()}
    for one in jobs:
        assert bed.guests.ends(one.id) == ['exit'], one.name
    spent = sum(one.charged for one in jobs)
    assert bed.store.progress([bag_id])[bag_id].spent == spent
    assert bed.balance(account('project', 'blue')) == 10**9 - spent
    assert bed.balance(ESCROW) == 0 and not bed.ledger.discrepancies()
    assert len(story.deaths) >= 3, story.deaths


@pytest.mark.parametrize('step', range(1, 60, 2))
def test_killed_at_each_call_of_the_first_pass(fast, step):
    """The next service finds tasks that wait or have one job each; none is left in between."""
    bed = Bed(fast)
    bag_id = bed.bag(entries(2))
    life = Life(step)
    with contextlib.suppress(Killed):
        bed.bags(lambda one: Mortal(one, life)).turn()
    bed.bags().turn()
    jobs = bed.stores.jobs.jobs(JobFilter())
    assert bed.counts(bag_id) == {PLACED: 2}
    assert {one.id for one in jobs} == {one.job_id for one in bed.tasks(bag_id).values()}
    assert len(jobs) == 2 and bed.balance(ESCROW) == 2 * 600_000


def test_a_service_that_stood_still_accepts_nothing_any_more(fast):
    """It has decided, and wakes up when another one has taken the task back: its offer is released."""
    bed = Bed(fast)
    bag_id = bed.bag(entries(1))

    class Slow:
        """Between the decision and the acceptance, another service makes a pass."""

        def __init__(self, store):
            self._store = store

        def __getattr__(self, name):
            if name == 'accept':
                bed.bags().turn()
            return getattr(self._store, name)

    bed.bags(Slow).turn()
    (job,) = bed.stores.jobs.jobs(JobFilter())
    assert bed.tasks(bag_id)['t0'].job_id == job.id
    assert [action for action, _ in bed.events(bag_id)].count(BagAction.PLACED) == 1


class _Idle:
    def turn(self, *, negotiates):
        pass
