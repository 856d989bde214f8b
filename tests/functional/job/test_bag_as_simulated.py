# SPDX-License-Identifier: Apache-2.0
"""T5: a bag of the service and a user of the simulator take the same decisions on the same offers."""

import random

import numpy as np
import pytest

from nova_market.core.tender.bag import BagStep, TaskState, strategy_of
from nova_market.core.tender.bag_offers import answer
from nova_market.core.tender.negotiation import choice
from nova_market.core.tender.stored_offer import OfferFilter
from nova_market.sim.tender.user import State, User
from nova_market.sim.tender.workload import UserTasks
from nova_market.wiring.policies import utilities
from tests.functional.job.test_bags import COST, Bed
from tests.support.bag_builders import entries
from tests.support.job_records import id_of

pytestmark = pytest.mark.functional

POLL, TASKS, TURNS = 60.0, 6, 60


class Pair:
    """The same tasks as a bag and as those of a user; of the bag one task is tried at a time."""

    def __init__(self, base, seed):
        chance = random.Random(seed)
        self.bed = Bed(base, tries=1)
        tasks = [
            {
                **one, 'time_limit': chance.choice([300, 600]) + n, 'importance': float(chance.randint(1, 9)),
                'within': float(chance.choice([660, 1500, 4000])),
            }
            for n, one in enumerate(entries(TASKS))
        ]  # fmt: skip
        budget = chance.choice([2, 3, 10]) * COST
        self.bag_id = self.bed.bag(
            tasks, budget=budget, poll=POLL, order=chance.choice(['risk', 'importance']),
            utility=chance.choice(['cost_time', 'fastest', 'cheapest']),
        )  # fmt: skip
        self.bags = self.bed.bags()
        # the service itself looks after jobs alone
        self.bed.service = self.bed.another(bags=_Idle())
        self.bed.service.start()
        made, none = self.tasks(), np.zeros(TASKS)
        bag = self.bed.store.bag(self.bag_id)
        self.user = User(
            tasks=UserTasks(
                arrival=none, work=np.array([float(one.time_limit) for one in made]), memory_mib=none,
                disk_gib=none, deadline=np.array([one.deadline for one in made]),
                importance=np.array([one.importance for one in made]), high=none > 0,
            ),
            strategy=strategy_of(bag, utilities()[bag.utility]),
            balance=budget,
        )  # fmt: skip
        self.user.state[:] = State.WAITING
        self.bag = bag
        self.decided = []

    def tasks(self):
        return list(self.bed.store.tasks(self.bag_id))

    def offers(self, row):
        """As the bag will be made them."""
        body = {
            'queue': id_of('night'),
            'time_limit': self.tasks()[row].time_limit,
            'utility': self.bag.utility,
        }
        found = self.bed.market.call('POST', '/v1/offers', 'member@blue', json=body)
        chosen = OfferFilter(now=self.bed.clock.wall(), request_id=found.json['request_id'])
        made = list(reversed(self.bed.market.stores.offers.offers(chosen)))
        return answer(made)

    def turn(self):
        """One decision of each, by the same state of the cloud."""
        now, before = self.bed.clock.wall(), self.tasks()
        self.note_ends(now)
        row = self.user.next_task(now)
        terms = why = None
        if row is not None:
            offers, left = self.offers(row), self.user.budget
            terms = self.user.choose(row, offers, now)
            deadline = float(self.user.tasks.deadline[row])
            why = choice(
                offers, deadline=deadline, budget=left, now=now, strategy=self.user.strategy
            ).why
        # an occasion for both: it tries the first of all that wait
        again = {'round_at': 0.0, 'next_at': now}
        self.bed.store.write(BagStep(bag_id=self.bag_id, changed=again))
        self.bags.turn()
        after = self.tasks()
        placed = [
            n
            for n, (old, new) in enumerate(zip(before, after, strict=True))
            if old.state is TaskState.WAITING and new.state is TaskState.PLACED
        ]
        dropped = {n for n, one in enumerate(after) if one.state is TaskState.DROPPED}
        assert dropped == set(np.flatnonzero(self.user.state == State.FAILED).tolist())
        assert placed == ([] if terms is None else [row])
        if terms is not None:
            assert after[row].cost == terms.cost and after[row].due_at == now + terms.seconds
            self.user.confirmed(row, terms, after[row].cost)
        elif row is not None:
            assert after[row].why == why
        self.decided.append((row, terms, why))

    def note_ends(self, now):
        """What the bag will find to have ended, for the user."""
        for task, job, refunded in self.bed.store.ended():
            spent = job.charged - refunded
            self.user.done(task.row, task.cost, now)
            self.user.balance += task.cost - spent


class _Idle:
    def turn(self, *, negotiates):
        pass


@pytest.mark.parametrize('seed', range(4))
def test_a_bag_decides_as_a_user_of_the_simulator(fast, seed):
    """What is tried, for which terms it is taken, why it is refused, what is dropped, until all has ended."""
    pair = Pair(fast, seed)
    for _ in range(TURNS):
        pair.turn()
        if not pair.user.open_tasks:
            break
        pair.bed.run(1)
        pair.bed.clock.advance(POLL)
        pair.bed.run(1)
    tried = [row for row, *_ in pair.decided if row is not None]
    assert len(tried) >= 2 and not pair.user.open_tasks, pair.decided
