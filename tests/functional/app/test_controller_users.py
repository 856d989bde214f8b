# SPDX-License-Identifier: Apache-2.0
"""M8: an application spends only as long as its user may create one."""

import logging

import pytest

from nova_market.core.app.record import AppState, DesiredState
from nova_market.core.ledger.posting import account
from nova_market.services.app.status import status_document
from nova_market.services.standing import StandingSettings
from tests.support.app_bed import PERIOD, Bed, template

pytestmark = pytest.mark.functional

USER = ('user', 'red')
SETTINGS = StandingSettings()
STATES = {DesiredState.RUN: AppState.RUNNING, DesiredState.SUSPEND: AppState.SUSPENDED}
ASKED = round(SETTINGS.ask_every / PERIOD) + 1
"""Periods after which every answer is a new one."""


@pytest.fixture
def bed(database):
    """An application that runs and bids."""
    made = Bed(database)
    made.add('app', template(), balance=100.0)
    made.run(3)
    return made


def bids(bed):
    return {bid.server_id: (bid.cpu, bid.memory, bid.payer) for bid in bed.stores.bids.list()}


def reason(bed):
    return bed.app('app').figures['reason']


def lose_role(bed):
    bed.user_roles.given[USER] = frozenset({'reader'})
    bed.run(ASKED)


def test_who_has_lost_his_role_spends_nothing_more(bed, caplog):
    """Its servers run on; the reason is shown, kept as an event and logged once. With the role it goes on."""
    (server,) = bids(bed)
    assert bed.bid('app') > 0
    with caplog.at_level(logging.INFO):
        bed.user_roles.given[USER] = frozenset({'reader'})
        bed.cloud.barred = set(bed.cloud.trusts)
        bed.run(ASKED)
        assert bids(bed) == {server: (0, 0, account('budget', 'app'))}
        before = bed.market.balance('red'), bed.stores.accounts.account(account('budget', 'app'))
        for _ in range(10):
            bed.report('app', metric=3.0)
            bed.run()
        after = bed.market.balance('red'), bed.stores.accounts.account(account('budget', 'app'))
    assert after == before and bed.own('app') == {'worker-1': [server]}
    assert 'user user has no role in project red any more' in reason(bed)
    because, of_trust = bed.reasons('app', 'troubled')
    assert 'market:apps:create' in because and 'locked out' in of_trust
    assert sum('market:apps:create' in one.message for one in caplog.records) == 1
    assert bed.seen[-1].troubled == 1
    assert status_document(bed.stores.apps, bed.stores.slots, bed.stores.history)['alive']
    del bed.user_roles.given[USER]
    bed.cloud.barred = set()
    bed.run(ASKED)
    assert bed.bid('app') > 0 and bed.seen[-1].troubled == 0
    assert bed.app('app').state is AppState.RUNNING and 'no role' not in reason(bed)


def test_nothing_is_made_for_who_may_not_spend(bed):
    """Not in place of a server that is gone, nor of an application that waits; not with his trust either."""
    lose_role(bed)
    bed.add('late', template())
    bed.cloud.remove(bed.own('app')['worker-1'][0])
    bed.run(3)
    assert len(bed.cloud.made) == 0 and bed.app('late').state is AppState.WAITING
    assert 'no role' in bed.app('late').figures['reason']


def test_others_of_his_project_go_on(bed):
    bed.add('other', template(), project='blue')
    lose_role(bed)
    assert bed.bid('app') == 0 and bed.bid('other') > 0


def test_what_is_deleted_ends_all_the_same(bed):
    lose_role(bed)
    bed.change('app', wish=DesiredState.DELETE)
    bed.run(2)
    assert bed.app('app') is None and bids(bed) == {} and not bed.cloud.made


def test_who_takes_it_over_spends(bed):
    """With a trust of his own."""
    lose_role(bed)
    bed.change('app', trust_id=bed.cloud.trust('red'), user_id='another')
    bed.run(2)
    assert bed.bid('app') > 0


def test_while_keystone_is_away_it_goes_on_for_an_hour_and_then_stays_as_it_is(bed):
    """Nothing is decided then, and what it bids stays, also with a controller that has no answer yet."""
    bed.user_roles.available = False
    for wish in (DesiredState.SUSPEND, DesiredState.RUN):
        bed.change('app', wish=wish)
        bed.run(ASKED)
        assert bed.app('app').state is STATES[wish]
    bed.run(round(SETTINGS.keep / PERIOD))
    bed.change('app', wish=DesiredState.SUSPEND)
    before = bids(bed)
    bed.run(2)
    bed.controller = bed.another(bed.leader)
    bed.run(2)
    assert bed.app('app').state is AppState.RUNNING and 'Keystone does not' in reason(bed)
    assert bids(bed) == before and bed.bid('app') > 0
    bed.user_roles.available = True
    bed.run(2)
    assert bed.app('app').state is AppState.SUSPENDED and bed.bid('app') == 0


def test_who_may_not_spend_does_not_when_keystone_is_away(bed):
    """Also with a controller that has no answer yet."""
    lose_role(bed)
    bed.user_roles.available = False
    bed.run(round(SETTINGS.keep / PERIOD) + 2)
    bed.controller = bed.another(bed.leader)
    bed.run(2)
    assert bed.bid('app') == 0 and bids(bed)
