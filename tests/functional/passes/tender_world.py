# SPDX-License-Identifier: Apache-2.0
"""Two accepted offers, and two bags of two tasks, under the service of jobs."""

from nova_market.core.job.record import JobState
from nova_market.core.tender.bag import BagState, TaskState
from nova_market.core.tender.stored_offer import OfferState
from nova_market.db.bag_steps import DatabaseBags
from tests.functional.passes.job_world import run_passes
from tests.functional.passes.world import Bad, World
from tests.support.bag_builders import create, entries
from tests.support.job_bed import JobBed, host
from tests.support.market.api import ALICE, BOB
from tests.support.poison import NO_JSON, UNKNOWN, Poison

PRICE = 3_600_000
"""1000 micro-credits for a core-second."""

BUYER = f'member@{BOB}'


class TenderWorld(World):
    """Alice sells, Bob buys."""

    service = 'jobs'

    def __init__(self, database):
        super().__init__(database)
        self.bed = JobBed(database, hosts=[host('a', cores=4.0, mib=8192.0)])
        self.bed.add_queue(
            'day', ALICE, projects=(BOB,), price_core_hour=PRICE, share=0.0, policy='fair_tree',
            flavors=('small',),
        )  # fmt: skip
        self.bed.grant(ALICE, 1)
        self.bed.grant(BOB, 10**9)
        self.bags = DatabaseBags(database, self.bed.clock.wall)
        self.ids = {}
        self.go(1)

    def prepare(self, poison):
        if poison.table == 'offers':
            self.ids = {name: self._accepted(name) for name in ('bad', 'good')}
        else:
            self.ids = {name: self.add_bag(name) for name in ('bad', 'good')}
        bad = self.ids['bad']
        where = (
            'bag_id = :id' if poison.table != 'bags' and poison.table != 'offers' else 'id = :id'
        )
        if poison.table == 'bag_tasks':
            where += ' AND row = 0'
        return Bad(f'{bad}/0' if poison.kind == 'task' else bad, BOB, where, {'id': bad})

    def _accepted(self, name):
        asked = {'queue': 'day', 'flavor': 'small', 'time_limit': 600}
        answer = self.bed.market.call('POST', '/v1/offers', BUYER, json=asked)
        offer = answer.json['offers'][0]['id']
        job = {'name': name, 'script': '#!/bin/sh\nsleep 30\nexit 0\n', 'notice': 0}
        path = f'/v1/offers/{offer}/accept'
        answer = self.bed.market.call('POST', path, BUYER, json={'job': job})
        assert answer.status_code == 201, answer.json
        return offer

    def add_bag(self, name):
        tasks = [{**one, 'name': f'{name}-{one["name"]}'} for one in entries(2)]
        now = self.bed.clock.wall()
        return create(
            self.bags, name=name, project=BOB, queues=('day',), tasks=tasks, now=now, poll=30.0
        ).id

    def go(self, passes=4):
        run_passes(self.bed, passes)

    def go_far(self):
        self.go(40)

    def check_others(self, poison):
        self._check('good', poison)
        if poison.table == 'offers':
            assert self.bed.states()['bad'] == JobState.FINISHED, 'its job is not what is bad'

    def check_bad(self, poison):
        self._check('bad', poison)

    def _check(self, name, poison):
        if poison.table == 'offers':
            found = self.bed.market.stores.offers.offer(self.ids[name])
            assert found.state is OfferState.CLOSED
        else:
            bag = self.bags.bag(self.ids[name])
            assert bag.state is BagState.DONE and bag.ended_at, bag
            counts = self.bags.progress([bag.id])[bag.id].counts
            assert dict(counts) == {TaskState.DONE: 2}, counts


OF_TENDERS = [
    Poison(table='offers', column='state', value=UNKNOWN, kind='offer'),
    Poison(table='offers', column='flavors', value=NO_JSON, kind='offer'),
    Poison(table='offers', column='cost', value=2**60, kind='offer'),
    Poison(table='offers', column='due_at', value='soon', kind='offer'),
    Poison(table='bags', column='state', value=UNKNOWN, kind='bag'),
    Poison(table='bags', column='document', value=NO_JSON, kind='bag'),
    Poison(table='bags', column='order', value=UNKNOWN, kind='bag'),
    Poison(table='bags', column='budget', value=-5, kind='bag'),
    Poison(table='bag_tasks', column='flavors', value=NO_JSON, kind='task'),
    Poison(table='bag_tasks', column='importance', value='very', kind='task'),
    Poison(table='bag_tasks', column='state', value=UNKNOWN, kind='task'),
    Poison(table='bag_contents', column='document', value=NO_JSON, kind='bag', stage='negotiate'),
]
