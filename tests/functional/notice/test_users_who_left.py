# SPDX-License-Identifier: Apache-2.0
"""N8: notices go to a user only as long as he may see what is in them."""

import logging

import pytest

from nova_market.db.notices import DatabaseNotices
from nova_market.services.notice.delivery import UNKNOWN_PAUSE
from nova_market.services.standing import DENIED, StandingSettings
from tests.support.notice_builders import notice, preference

pytestmark = [pytest.mark.functional, pytest.mark.clock]

ANN = ('ann', 'red')
SETTINGS = StandingSettings()


def stopped(bed):
    return bed.notices.preference('red', 'ann').stopped


def test_who_has_left_gets_nothing_more(bed, caplog):
    """What waits is given up, the reason is kept and logged once; with a role, what happens then is sent.

    Though Keystone was asked a moment before he had it.
    """
    caplog.set_level(logging.INFO)
    bed.ask(webhook=True)
    bed.happens(notice('k1'))
    bed.run()
    assert len(bed.mail.mails) == len(bed.hook.requests) == 1 and not stopped(bed)
    bed.user_roles.given[ANN] = frozenset()
    bed.clock.advance(SETTINGS.ask_every)
    for n in range(3):
        bed.happens(notice(f'gone{n}'))
        bed.run()
    assert len(bed.mail.mails) == len(bed.hook.requests) == 1
    assert 'user ann has no role in project red any more' in stopped(bed)
    assert bed.counts()['given_up'] == 6 and bed.counts()['waiting'] == 0
    assert sum('not sent any more' in one.message for one in caplog.records) == 1
    bed.user_roles.given[ANN] = frozenset({'reader'})
    bed.clock.advance(DENIED)
    bed.happens(notice('k2'))
    bed.run()
    assert len(bed.mail.mails) == len(bed.hook.requests) == 2 and not stopped(bed)


def test_events_of_all_projects_need_the_role_of_an_administrator(bed):
    """Also where he is a member of the project still."""
    bed.ask(all_projects=True)
    bed.user_roles.given[ANN] = frozenset({'member', 'reader'})
    bed.happens(notice('k9', project_id='blue'))
    bed.run()
    assert not bed.mail.mails and 'market:notices:all_projects' in stopped(bed)


def test_while_nobody_can_tell_notices_wait(bed):
    """They are sent when Keystone is back, and none is lost."""
    bed.user_roles.available = False
    bed.ask()
    bed.happens(notice('k3'))
    bed.run(5 * UNKNOWN_PAUSE)
    assert not bed.mail.mails and bed.counts()['waiting'] == 1 and not stopped(bed)
    assert bed.user_roles.asked == 5
    bed.user_roles.available = True
    bed.run(120)
    assert len(bed.mail.mails) == 1


@pytest.mark.parametrize('available', [True, False])
def test_a_code_is_sent_whoever_asks_for_it(bed, available):
    """The API has let him ask a moment ago: nobody else is asked."""
    bed.user_roles.given[ANN], bed.user_roles.available = frozenset(), available
    code = notice('c1', 'notice.confirm', payload={'code': 'abcd'})
    bed.notices.set(preference(confirmed=False), code, 9)
    bed.run()
    assert 'abcd' in bed.mail.mails[0].get_payload() and bed.user_roles.asked == 0


class Counted(DatabaseNotices):
    """Counts what is written of who is stopped."""

    stops = 0

    def stop(self, *given):
        self.stops += 1
        return super().stop(*given)


def test_why_is_written_when_it_changes(bed):
    """Not with each pass."""
    counted = Counted(bed.database, bed.clock.wall)
    bed.service = bed.another(around=lambda one: counted if one is bed.notices else one)
    bed.ask()
    for roles, stops in ((frozenset(), 1), (frozenset({'reader'}), 2)):
        bed.user_roles.given[ANN] = roles
        for n in range(3):
            bed.clock.advance(DENIED)
            bed.happens(notice(f'k{stops}-{n}'))
            bed.run()
        assert counted.stops == stops
    assert len(bed.mail.mails) == 3


def test_while_keystone_is_away_the_last_answer_counts_for_an_hour(bed):
    """Then they wait."""
    bed.ask()
    bed.happens(notice('k4'))
    bed.run()
    bed.user_roles.available = False
    bed.clock.advance(SETTINGS.keep - 60.0)
    bed.happens(notice('k5'))
    bed.run()
    assert len(bed.mail.mails) == 2
    bed.clock.advance(60.0)
    bed.happens(notice('k6'))
    bed.run()
    assert len(bed.mail.mails) == 2 and bed.counts()['waiting'] == 1
