# SPDX-License-Identifier: Apache-2.0
"""Rebalancing whose words to the database are answered late, or not: a search never stays behind."""

import logging

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.core.rebalancing.plan import PlanState
from nova_market.db.plans import DatabasePlans
from nova_market.errors import DatabaseUnavailable
from tests.support.rebalancing_bed import Bed, server

pytestmark = pytest.mark.functional


@pytest.fixture
def bed(database):
    clock = ManualClock()
    return Bed(DatabasePlans(database, clock.wall), clock)


class Forgetful:
    """A database that writes an approval down and loses the connection before it says so."""

    def __init__(self, plans):
        self._plans = plans
        self.lost = 1

    def __getattr__(self, name):
        return getattr(self._plans, name)

    def advance(self, plan_id, before, after, by=''):
        self._plans.advance(plan_id, before, after, by)
        if self.lost and after == PlanState.APPROVED:
            self.lost -= 1
            raise DatabaseUnavailable('the answer got lost')


def busier(bed):
    """Servers come to the first host: another plan is worth it, also while one that moved rests."""
    for name in ('x', 'y', 'z'):
        bed.cloud.put_server(server(name, 'h1'))


def test_an_approval_whose_answer_got_lost(bed):
    """The plan runs as it is written; the next imbalance is searched for like any other."""
    plans = bed.plans
    bed.plans = Forgetful(plans)
    engine = bed.engine()
    bed.round(engine)
    bed.ticks(engine, 12)
    assert bed.found('p1').state == PlanState.DONE and plans.list(PlanState.PROPOSED) == []
    busier(bed)
    bed.round(engine)
    assert bed.found('p2') is not None


def test_an_old_plan_approved_with_a_lost_answer_is_not_made_again(bed):
    """What was found before it ran is of another placement: nothing else is proposed from it."""
    bed.round(bed.engine(mode='advise'))
    bed.plans = Forgetful(bed.plans)
    engine = bed.engine()
    bed.round(engine)
    bed.ticks(engine, 12)
    assert [(plan.id, plan.state) for plan in bed.plans.list()] == [('p1', PlanState.DONE)]


class Strict:
    """An administrator who rejects a plan as soon as it is there, before the engine can approve it."""

    def __init__(self, plans):
        self._plans = plans
        self.left = 1

    def __getattr__(self, name):
        return getattr(self._plans, name)

    def add(self, plan, notices=()):
        self._plans.add(plan, notices)
        if self.left:
            self.left -= 1
            self._plans.advance(plan.id, PlanState.PROPOSED, PlanState.REJECTED, by='admin')


def test_a_plan_rejected_before_the_engine_approved_it(bed, caplog):
    """It moves nothing, the log says why, and the next search proposes anew."""
    bed.plans = Strict(bed.plans)
    engine = bed.engine()
    with caplog.at_level(logging.INFO):
        bed.round(engine)
    assert 'p1 is rejected, not proposed' in caplog.text
    bed.ticks(engine, 5)
    assert set(bed.where().values()) == {'h1'}
    bed.round(engine)
    bed.ticks(engine, 12)
    assert [(plan.id, plan.state) for plan in bed.plans.list()] == [
        ('p2', PlanState.DONE),
        ('p1', PlanState.REJECTED),
    ]
