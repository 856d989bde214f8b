# SPDX-License-Identifier: Apache-2.0
"""Applications that others took over: the trusts that they had before do not outlive them."""

import logging

import pytest

from nova_market.core.app.record import DesiredState
from nova_market.errors import CloudUnavailable
from nova_market.services.replaced_trusts import MOST, PAUSE
from tests.support.app_bed import Bed, template

pytestmark = pytest.mark.functional


@pytest.fixture
def bed(database):
    return Bed(database)


@pytest.fixture
def taken(bed):
    """An application that runs, and its trusts: the one before and the one it has."""
    before = bed.add('app', template()).trust_id
    bed.run(2)
    after = bed.cloud.trust('red')
    bed.change('app', trust_id=after)
    return before, after


def test_a_trust_that_is_replaced_is_ended(bed, taken):
    """In the next pass; the application goes on with the one it has."""
    made = bed.own('app')
    bed.run()
    assert bed.cloud.trusts == {taken[1]: 'red'}
    assert bed.stores.apps.replaced_trusts() == {}
    bed.run(2)
    assert bed.own('app') == made and len(made) == 1


def test_what_cannot_be_ended_now_is_ended_later(bed, taken, caplog):
    """The cloud is away, then whoever gave it is locked out: nothing is forgotten, said once in an hour."""
    bed.cloud.available = False
    bed.run()
    bed.cloud.available = True
    bed.cloud.barred.add(taken[0])
    caplog.clear()
    bed.run(10)
    assert bed.stores.apps.replaced_trusts() == {'app': [taken[0]]}
    warnings = [one.message for one in caplog.records if one.levelno >= logging.WARNING]
    assert len(warnings) == 1 and 'its former trust is not ended' in warnings[0]
    bed.cloud.barred.clear()
    bed.clock.advance(PAUSE)
    bed.run()
    assert bed.cloud.trusts == {taken[1]: 'red'}
    assert bed.stores.apps.replaced_trusts() == {}


def test_a_trust_that_keystone_fails_to_end_does_not_keep_the_end_back(bed, taken, monkeypatch):
    """An error of Keystone's for one trust; its id is told."""
    forget = bed.cloud.forget

    def failing(access):
        if access.trust_id == taken[0]:
            raise CloudUnavailable('identity answers 500')
        forget(access)

    monkeypatch.setattr(bed.cloud, 'forget', failing)
    bed.change('app', wish=DesiredState.DELETE)
    bed.run(2)
    assert bed.app('app') is None and list(bed.cloud.trusts) == [taken[0]]


def test_many_trusts_that_are_replaced_hold_up_nobody_else(bed, taken):
    """Some in each pass; its end waits for all of them."""
    for _ in range(12):
        bed.change('app', trust_id=bed.cloud.trust('red'))
    bed.controller.turn()
    assert len(bed.cloud.trusts) == 14 - MOST
    bed.change('app', wish=DesiredState.DELETE)
    bed.run(2)
    assert bed.app('app') is None and bed.cloud.trusts == {}


@pytest.mark.parametrize('barred', [False, True])
def test_a_deleted_application_leaves_no_trust_that_works(bed, taken, barred, caplog):
    """One that nobody can use now does not hold it back; an administrator is told its id."""
    if barred:
        bed.cloud.barred.add(taken[0])
    bed.change('app', wish=DesiredState.DELETE)
    bed.run(2)
    assert bed.app('app') is None and taken[1] not in bed.cloud.trusts
    assert (taken[0] in bed.cloud.trusts) is barred
    assert any(f'{taken[0]} is left over' in one.message for one in caplog.records) is barred


def test_a_cloud_that_is_away_holds_the_end_back(bed, taken):
    """So that no trust is forgotten that could be ended."""
    bed.change('app', wish=DesiredState.DELETE)
    bed.cloud.available = False
    bed.run(2)
    assert bed.app('app') is not None
    bed.cloud.available = True
    bed.run(2)
    assert bed.app('app') is None and bed.cloud.trusts == {}
