# SPDX-License-Identifier: Apache-2.0
"""T7: a bag acts only as long as its user may, with those of his roles of then that he has still."""

import logging

import pytest

from nova_market.core.tender.bag import BagAction
from nova_market.errors import BadJob
from nova_market.services.standing import StandingSettings
from tests.functional.job.test_bags import COST, PLACED, WAITING, Bed
from tests.support.bag_builders import entries
from tests.support.job_records import id_of

pytestmark = pytest.mark.functional

USER = ('u', 'blue')
SETTINGS = StandingSettings()
POLL = 60.0


@pytest.fixture
def bed(fast):
    return Bed(fast)


def wait(bed, seconds):
    """Passes for so long, few of them: nothing of interest happens within."""
    end = bed.clock.wall() + seconds
    while bed.clock.wall() < end:
        bed.clock.advance(POLL)
        bed.pass_()


def test_who_has_lost_his_role_spends_nothing_more(bed, caplog):
    """What runs goes on; the reason is shown, kept as an event and logged once. With the role it goes on."""
    caplog.set_level(logging.WARNING)
    bag_id = bed.bag(entries(6), poll=POLL, budget=2 * COST)
    bed.run(1)
    placed = bed.counts(bag_id)[PLACED]
    assert 0 < placed < 6
    bed.user_roles.given[USER] = frozenset({'reader'})
    wait(bed, SETTINGS.ask_every)
    bed.until(bed.all_ended)
    wait(bed, 600)
    counts = bed.counts(bag_id)
    assert counts.get(PLACED, 0) == 0 and counts[WAITING] > 0
    waits = counts[WAITING]
    assert 'user u has no role in project blue any more' in bed.store.bag(bag_id).reason
    assert bed.events(bag_id).count((BagAction.STOPPED, '')) == 1
    assert sum('does not negotiate any more' in one.message for one in caplog.records) == 1
    wait(bed, 600)
    assert bed.counts(bag_id)[WAITING] == waits
    del bed.user_roles.given[USER]
    wait(bed, SETTINGS.ask_every + POLL)
    bed.until(lambda: bed.over(bag_id))
    assert bed.store.bag(bag_id).reason == ''


def test_a_bag_that_waits_for_a_role_is_not_set_aside(bed):
    """Though something went wrong with it before: now it is known why it waits."""
    bag_id = bed.bag(entries(1), poll=POLL)
    boundary = bed.database.boundary
    boundary.failed('bag', bag_id, 'negotiate', BadJob('a moment ago'))
    bed.user_roles.given[USER] = frozenset()
    bed.pass_()
    assert 'has no role' in bed.store.bag(bag_id).reason and not boundary.listed()


def test_while_keystone_is_away_it_goes_on_for_an_hour_and_then_waits(bed):
    """Nothing is lost: it goes on when Keystone is back."""
    bag_id = bed.bag(entries(1), poll=POLL)
    bed.run(1)
    bed.user_roles.available = False
    another = bed.bag(entries(1), name='soon', poll=POLL)
    bed.until(lambda: bed.over(bag_id) and bed.over(another))
    wait(bed, SETTINGS.keep)
    late = bed.bag(entries(1), name='late', poll=POLL)
    wait(bed, 120)
    assert bed.counts(late) == {WAITING: 1}
    assert 'Keystone does not tell' in bed.store.bag(late).reason
    assert (BagAction.STOPPED, '') not in bed.events(late)
    bed.user_roles.available = True
    wait(bed, 2 * POLL)
    bed.until(lambda: bed.over(late))


def test_it_acts_with_the_roles_of_then_that_its_user_has_still(bed):
    """A queue that names a role takes no tasks of one who has lost it, nor of one who got it later."""
    queue = bed.stores.queues.queue(id_of('night'))
    bed.stores.queues.change(queue.id, {'roles': ('render',)}, queue.generation)
    with_role = frozenset({'member', 'reader', 'render'})
    bed.user_roles.given[USER] = with_role
    later = bed.bag(entries(1), name='later', poll=POLL, roles=('member', 'reader'))
    bed.run(2)
    assert bed.counts(later) == {WAITING: 1}, 'he had not the role when he created it'
    bag_id = bed.bag(entries(6), poll=POLL, budget=2 * COST, roles=('member', 'reader', 'render'))
    bed.run(1)
    assert bed.counts(bag_id)[PLACED] > 0
    bed.user_roles.given[USER] = with_role - {'render'}
    wait(bed, SETTINGS.ask_every)
    bed.until(bed.all_ended)
    wait(bed, 300)
    found = bed.store.bag(bag_id)
    assert bed.counts(bag_id)[WAITING] > 0 and found.reason
    assert 'no role' not in found.reason
