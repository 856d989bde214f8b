# SPDX-License-Identifier: Apache-2.0
"""N2: asking for notices by the API, the SDK and commands; confirming an address."""

import json

import pytest

from nova_market.core.notice.delivery import Recipient
from nova_market.core.notice.preference import Channel
from nova_market.db.notice_outbox import DatabaseOutbox
from nova_market.services.notice.settings import NoticeLimits
from tests.support.market.api import ALICE, BOB, make_market
from tests.support.market.shell import shown

pytestmark = pytest.mark.functional

TOKEN = f'member@{ALICE}'
MAIL = {'events': ['job.failed'], 'mail': 'ann@example.org'}
HOOK = {'events': ['*'], 'webhook': 'https://hooks.example.org/x'}


def ask(market, token=TOKEN, **body):
    return market.call('PUT', '/v1/notices/me', token, json=body)


def codes(market, project=ALICE, user='member-user'):
    """Those that wait for being sent, oldest first."""
    to = Recipient(project_id=project, user_id=user, channel=Channel.CONFIRM)
    return [one.payload['code'] for one in DatabaseOutbox(market.database).waiting(to)]


def confirm(market, code):
    return market.call('POST', '/v1/notices/me/confirm', TOKEN, json={'code': code})


def test_an_address_gets_a_code_and_nothing_else_before(market):
    """The newest code counts, within a day, once; a new address needs one of its own."""
    answer = ask(market, **MAIL).json['notice']
    assert (answer['confirmed'], answer['at_most'], answer['digest']) == (False, 20, 0)
    assert ask(market, **MAIL, digest=60).status_code == 200
    old, new = codes(market)
    assert confirm(market, old).status_code == 400
    market.wall.now += 86_400
    assert confirm(market, new).json['errors'][0]['code'] == 'market.notice.invalid'
    ask(market, **MAIL)
    assert confirm(market, codes(market)[-1]).json['notice']['confirmed'] is True
    assert confirm(market, codes(market)[-1]).status_code == 400
    assert ask(market, **MAIL, at_most=3).json['notice']['confirmed'] is True
    assert ask(market, **{**MAIL, 'mail': 'b@example.org'}).json['notice']['confirmed'] is False


def test_nobody_is_flooded_with_codes(market):
    """Three a day for each user, whichever addresses, and for each address, whoever asks."""
    for number in range(3):
        assert ask(market, **{**MAIL, 'mail': f'a{number}@example.org'}).status_code == 200
    refused = ask(market, **{**MAIL, 'mail': 'a3@example.org'})
    assert refused.json['errors'][0]['code'] == 'market.notice.too_many_codes'
    assert market.call('GET', '/v1/notices/me', TOKEN).json['notice']['mail'] == 'a2@example.org'
    for role in ('reader', 'manager'):
        for _ in range(2):
            ask(market, f'{role}@{BOB}', **{**MAIL, 'mail': 'Victim@example.org'})
    others = codes(market, BOB, 'reader-user') + codes(market, BOB, 'manager-user')
    assert len(others) == 3
    market.call('DELETE', '/v1/notices/me', TOKEN)
    assert ask(market, **MAIL).status_code == 409
    market.wall.now += 86_401
    assert ask(market, **MAIL).status_code == 200


def test_the_secret_of_a_webhook_is_shown_once(market):
    """It stays with its URL; another URL gets another one."""
    first = ask(market, **HOOK).json['notice']['secret']
    assert first.startswith('whsec_') and len(first) == 38
    assert ask(market, **HOOK, digest=5).json['notice']['secret'] is None
    assert market.call('GET', '/v1/notices/me', TOKEN).json['notice']['secret'] is None
    other = ask(market, **{**HOOK, 'webhook': 'https://hooks.example.org/y'}).json['notice'][
        'secret'
    ]
    assert other not in (None, first)


@pytest.mark.parametrize(
    ('body', 'words'),
    [
        ({'events': ['*']}, 'mail, webhook: both are empty'),
        ({**MAIL, 'events': ['jobs.*']}, "'jobs.*' matches no event"),
        ({**MAIL, 'mail': 'ann'}, "mail: 'ann' is no address"),
        ({**MAIL, 'mail': 'ann@evil.org'}, "'evil.org' is not a domain"),
        ({**HOOK, 'webhook': 'http://hooks.example.org/'}, 'give a URL of https'),
        ({**HOOK, 'webhook': 'https://evil.org/'}, "'evil.org' is not a host"),
        ({**MAIL, 'at_most': 61}, 'at most 60 an hour'),
        ({**MAIL, 'digest': 10**7}, 'digest'),
        ({**MAIL, 'at_most': 0}, 'at_most'),
    ],
)
def test_what_cannot_be_asked_for(database, body, words):
    """The error names the entry and what to give; nothing is stored."""
    limits = NoticeLimits(mail_domains=('example.org',), webhook_hosts=('*.example.org',))
    market = make_market(database, notices=limits)
    answer = ask(market, **body)
    assert answer.status_code == 400 and words in answer.json['errors'][0]['detail']
    assert market.call('GET', '/v1/notices/me', TOKEN).status_code == 404


def test_both_channels_are_off_by_default(database):
    market = make_market(database, notices=NoticeLimits())
    assert 'none' in ask(market, **MAIL).json['message']
    assert 'none' in ask(market, **HOOK).json['message']


def test_who_sees_which(market):
    """Each its own; who manages the project all of it; pages."""
    for role in ('reader', 'member', 'manager'):
        ask(market, f'{role}@{ALICE}', **HOOK)
    seen = {
        role: [one['user_id'] for one in market.call('GET', '/v1/notices', f'{role}@{ALICE}').json['notices']]
        for role in ('reader', 'manager')
    }  # fmt: skip
    assert seen['reader'] == ['reader-user']
    assert seen['manager'] == ['manager-user', 'member-user', 'reader-user']
    page = market.call('GET', '/v1/notices?limit=2', f'manager@{ALICE}').json
    path = page['notices_links'][0]['href'].partition('localhost')[2]
    rest = market.call('GET', path, f'manager@{ALICE}').json
    assert [one['user_id'] for one in rest['notices']] == ['reader-user']


def test_why_nothing_is_sent_is_shown(market):
    """N8: to the user and to managers, from version 1.16 on; asking anew begins anew."""
    ask(market, **HOOK)
    market.stores.notices.stop(ALICE, 'member-user', 'user member-user has no role')
    shown_ = market.call('GET', '/v1/notices/me', TOKEN).json['notice']
    assert shown_['stopped'] == 'user member-user has no role'
    (line,) = market.call('GET', '/v1/notices', f'manager@{ALICE}').json['notices']
    assert line['stopped'] == 'user member-user has no role'
    old = {'OpenStack-API-Version': 'market 1.13'}
    assert 'stopped' not in market.call('GET', '/v1/notices/me', TOKEN, headers=old).json['notice']
    assert ask(market, **HOOK).json['notice']['stopped'] == ''


def test_by_commands(market_service, run, connect):
    """Set, confirmed, changed in part, listed, unset."""
    one = shown(run, 'alice', 'notice', 'set', '--mail', 'ann@example.org', '--events', 'lease.*')
    assert (one['confirmed'], one['events'], 'secret' in one) == (False, ['lease.*'], False)
    (code,) = codes(market_service.market, user=one['user_id'])
    assert shown(run, 'alice', 'notice', 'confirm', code)['confirmed'] is True
    words = (
        '--webhook',
        'https://hooks.example.org/x',
        '--digest',
        '1h',
        '--at-most',
        '5',
        '--mine',
    )
    two = shown(run, 'alice', 'notice', 'set', *words)
    assert two['secret'].startswith('whsec_') and two['mail'] == 'ann@example.org'
    assert (two['digest'], two['at_most'], two['mine'], two['events']) == (
        3600,
        5,
        True,
        ['lease.*'],
    )
    three = shown(run, 'alice', 'notice', 'set', '--no-mail', '--whole-project', '--digest', '0')
    assert (three['mail'], three['mine'], three['digest']) == ('', False, 0)
    (line,) = shown(run, 'alice', 'notice', 'list')
    assert line['Webhook'] == 'https://hooks.example.org/x'
    status, _, err = run('alice', 'notice', 'set', '--no-webhook')
    assert status and 'nowhere to send to' in err
    status, _, err = run('alice', 'notice', 'set', '--all-projects')
    assert status and 'market:notices:all_projects' in err
    assert run('alice', 'notice', 'unset')[0] == 0
    status, _, err = run('alice', 'notice', 'show')
    assert status and 'market.notice.not_found' in err
    assert list(connect('root').market.notices(all_projects='true')) == []
    assert json.dumps(shown(run, 'root', 'notice', 'list', '--all-projects')) == '[]'
