# SPDX-License-Identifier: Apache-2.0
"""N8, T7: answers of Keystone count for some time, and longer while it is away; then nobody can tell."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.user_roles import StaticUserRoles
from nova_market.errors import CloudUnavailable
from nova_market.services.standing import DENIED, MOST, PAUSE, Standings, StandingSettings
from tests.support.standing import standings

ASK, KEEP = 300.0, 3600.0


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def source():
    return StaticUserRoles({('ann', 'red'): frozenset({'member', 'reader'})})


@pytest.fixture
def asked(source, clock):
    return standings(source, clock, StandingSettings(ask_every=ASK, keep=KEEP))


def test_the_rule_of_the_api_decides(asked):
    """With the roles that he has in the project, and with no others."""
    found = asked.ask('bags:create', 'ann', 'red')
    assert (found.roles, found.why, found.known) == ({'member', 'reader'}, '', True)
    refused = asked.ask('notices:all_projects', 'ann', 'red')
    assert refused.known and 'user ann has no role in project red' in refused.why
    assert 'market:notices:all_projects' in refused.why
    assert (
        asked.ask('bags:create', 'ann', 'blue').why and asked.ask('bags:create', 'bob', 'red').why
    )


def test_an_answer_counts_for_some_time(asked, source, clock):
    """A role that is lost is noticed then."""
    assert not asked.ask('bags:create', 'ann', 'red').why
    source.given['ann', 'red'] = frozenset()
    clock.advance(ASK - 1)
    assert not asked.ask('bags:create', 'ann', 'red').why and source.asked == 1
    clock.advance(2)
    assert asked.ask('bags:create', 'ann', 'red').why and source.asked == 2


def test_a_denial_counts_for_a_moment_only(asked, source, clock):
    """What is refused then is lost; that Keystone does not answer meanwhile is no denial."""
    assert asked.ask('bags:create', 'bob', 'red').why
    source.given['bob', 'red'] = frozenset({'member'})
    clock.advance(DENIED - 1)
    assert asked.ask('bags:create', 'bob', 'red').why and source.asked == 1
    clock.advance(1)
    assert not asked.ask('bags:create', 'bob', 'red').why and source.asked == 2
    assert asked.ask('notices:all_projects', 'bob', 'red').why and source.asked == 2
    source.available = False
    clock.advance(DENIED)
    assert not asked.ask('notices:all_projects', 'bob', 'red').known
    assert asked.ask('bags:create', 'bob', 'red').known


def test_while_keystone_is_away_the_last_answer_counts_and_no_longer_than_that(
    asked, source, clock, caplog
):
    """Then nobody can tell, which is no refusal; whoever was never asked for is not known at once."""
    caplog.set_level(logging.INFO)
    asked.ask('bags:create', 'ann', 'red')
    source.available = False
    clock.advance(KEEP - 1)
    assert asked.ask('bags:create', 'ann', 'red').known
    assert not asked.ask('bags:create', 'bob', 'red').known
    clock.advance(2)
    found = asked.ask('bags:create', 'ann', 'red')
    assert not found.known and 'Keystone does not tell' in found.why
    source.available = True
    clock.advance(PAUSE)
    assert asked.ask('bags:create', 'ann', 'red').known
    assert [one.levelname for one in caplog.records] == ['WARNING', 'INFO'], 'once for the outage'


def test_a_keystone_that_is_away_is_not_asked_for_each_user(asked, source, clock):
    """Each request waits for its time limit: after one, the others wait for half a minute."""
    source.available = False
    for n in range(9):
        asked.ask('bags:create', f'u{n}', 'red')
    assert source.asked == 1
    clock.advance(PAUSE)
    asked.ask('bags:create', 'ann', 'red')
    assert source.asked == 2


class Odd(StaticUserRoles):
    """Answers with an error for some users."""

    odd = frozenset({'odd'})

    def roles(self, user_id, project_id):
        found = super().roles(user_id, project_id)
        if user_id in self.odd:
            raise CloudUnavailable('HTTP 400')
        return found


@pytest.fixture
def erring():
    return Odd({}, frozenset({'member'}))


def test_an_error_for_one_user_stops_no_other(erring, clock):
    """Nobody can tell of him alone, and for him alone Keystone is not asked for a while."""
    asked = standings(erring, clock)
    assert not asked.ask('bags:create', 'odd', 'red').known
    assert not asked.ask('bags:create', 'ann', 'red').why and erring.asked == 2
    clock.advance(PAUSE - 1)
    assert not asked.ask('bags:create', 'odd', 'red').known and erring.asked == 2
    clock.advance(1)
    erring.odd = frozenset()
    assert asked.ask('bags:create', 'odd', 'red').known and erring.asked == 3


def test_after_an_error_the_last_answer_counts(erring, clock):
    """As while Keystone is away."""
    asked = standings(erring, clock, StandingSettings(ask_every=ASK, keep=KEEP))
    asked.ask('bags:create', 'ann', 'red')
    erring.odd = frozenset({'ann'})
    clock.advance(KEEP - 1)
    assert not asked.ask('bags:create', 'ann', 'red').why and erring.asked == 2
    clock.advance(1)
    assert not asked.ask('bags:create', 'ann', 'red').known


def test_errors_for_one_user_are_logged_once(erring, clock, caplog):
    """Though Keystone answers for others all the time."""
    caplog.set_level(logging.INFO)
    asked = standings(erring, clock)
    for turn in range(4):
        if turn == 3:
            erring.odd = frozenset()
        for name in ('odd', 'ann'):
            asked.ask('bags:create', name, 'red')
        clock.advance(ASK)
    assert [one.levelname for one in caplog.records] == ['WARNING', 'INFO']
    assert 'user odd in project red: HTTP 400' in caplog.messages[0]


def test_the_newest_answers_are_remembered(erring, clock):
    """So many, however many users there are: the oldest one is dropped."""
    asked = Standings(erring, lambda *_: True, clock, StandingSettings())
    for n in range(MOST):
        asked.ask('', f'u{n}', 'red')
    clock.advance(ASK)
    for name in ('u0', 'new'):
        asked.ask('', name, 'red')
    assert erring.asked == MOST + 2
    erring.available = False
    assert asked.ask('', 'u0', 'red').known and asked.ask('', 'u2', 'red').known
    assert not asked.ask('', 'u1', 'red').known


def test_two_questions_at_the_same_time_are_one_request(clock):
    """Mail and webhook of one user: one waits for the answer that the other gets."""
    both = threading.Barrier(2)

    class Slow(StaticUserRoles):
        def roles(self, user_id, project_id):
            with suppress(threading.BrokenBarrierError):
                both.wait(0.05)
            return super().roles(user_id, project_id)

    source = Slow({}, frozenset({'member'}))
    asked = standings(source, clock)
    with ThreadPoolExecutor(2) as workers:
        found = list(workers.map(lambda _: asked.ask('bags:create', 'ann', 'red'), range(2)))
    assert source.asked == 1 and all(one.known and not one.why for one in found)
