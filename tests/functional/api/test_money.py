# SPDX-License-Identifier: Apache-2.0
"""Accounts, grants, transfers, budgets and statements through the API."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask
from werkzeug.test import Client

from nova_market.api.microversion import HEADER
from nova_market.core.ledger.posting import Posting, Reason, posting_key
from nova_market.db.database import Database
from tests.support.market.api import (
    ALICE,
    ALSO_OF_ALICE,
    BOB,
    DOMAIN,
    OF_ALICE,
    OPERATOR,
    make_market,
)

pytestmark = pytest.mark.functional

ADMIN = f'admin@{OPERATOR}'
MEMBER, MANAGER, READER = f'member@{ALICE}', f'manager@{ALICE}', f'reader@{ALICE}'
OWN, OTHER = f'project:{ALICE}', f'project:{BOB}'


def code(response):
    return response.status_code, response.json['errors'][0]['code']


@pytest.fixture
def funded(market):
    """Alice has 1,000 micro-credits, Bob 500."""
    for name, amount in ((OWN, 1000), (OTHER, 500)):
        answer = market.call('POST', f'/v1/accounts/{name}/grants', ADMIN, json={'amount': amount})
        assert answer.status_code == 201, answer.text
    return market


def transfer(market, token, source, target, amount, key=None):
    headers = {'Idempotency-Key': key} if key else {}
    return market.call(
        'POST', '/v1/transfers', token, headers=headers,
        json={'from': source, 'to': target, 'amount': amount},
    )  # fmt: skip


def balance(market, name):
    return market.call('GET', f'/v1/accounts/{name}', ADMIN).json['account']['balance']


def test_a_grant_opens_the_account_and_shows_in_the_statement(funded):
    """What was granted is there, and the statement says who gave it."""
    assert balance(funded, OWN) == 1000
    assert balance(funded, 'mint') == -1500
    lines = funded.call('GET', f'/v1/accounts/{OWN}/statement', READER).json['postings']
    assert [(line['debit'], line['change'], line['by']) for line in lines] == [
        ('mint', 1000, 'admin-user')
    ]


def test_a_transfer_moves_credits_once(funded):
    """The same key again is answered with 200 and moves nothing."""
    first = transfer(funded, MANAGER, OWN, OTHER, 300, key='lunch')
    again = transfer(funded, MANAGER, OWN, OTHER, 300, key='lunch')
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json == again.json
    assert first.json['transfer']['balance'] == 700
    assert (balance(funded, OWN), balance(funded, OTHER)) == (700, 800)


LATEST = {'OpenStack-API-Version': 'market latest'}


@pytest.fixture
def charged(funded):
    """Two of Alice's servers are charged on two days, one of them to a budget of hers."""
    answer = funded.call('POST', '/v1/budgets', MEMBER, json={'name': 'web'})
    budget = answer.json['budget']['id']
    assert transfer(funded, MEMBER, OWN, budget, 100).status_code == 201
    for day, (payer, server) in enumerate(((OWN, OF_ALICE), (budget, ALSO_OF_ALICE))):
        funded.wall.now = FIRST + day * 86_400.0
        key = posting_key(Reason.CHARGE, 7 + day, server)
        one = Posting(key=key, reason=Reason.CHARGE, debit=payer, credit='bank', amount=10 + day)
        funded.stores.ledger.post([one])
    return funded


FIRST = 1_900_000_000.0
"""2030-03-17T17:46:40Z"""

EVER = 'since=1970-01-01T00:00:00Z'


def sums(market, query, path=f'/v1/accounts/{OWN}/statement/sums'):
    answer = market.call('GET', f'{path}?{query}', READER, headers=LATEST)
    assert answer.status_code == 200, answer.text
    return answer.json


def test_a_statement_is_summed_by_server_application_and_day(charged):
    """With the budgets of the project; what a column does not group by is null."""
    by_server = sums(charged, f'group_by=server&{EVER}')['sums']
    assert [(one['server_id'], one['charged']) for one in by_server] == [
        (None, 0), (OF_ALICE, 10), (ALSO_OF_ALICE, 11),
    ]  # fmt: skip
    by_app = sums(charged, f'group_by=app&{EVER}')['sums']
    assert [(one['account_name'], one['charged'], one['change']) for one in by_app] == [
        ('web', 11, 89), (None, 10, 890),
    ]  # fmt: skip
    by_day = sums(charged, 'group_by=day&since=2030-03-17T00:00:00Z')['sums']
    assert [(one['day'], one['charged'], one['server_id']) for one in by_day] == [
        ('2030-03-18', 11, None), ('2030-03-17', 10, None),
    ]  # fmt: skip
    assert sums(charged, 'until=2030-03-18T00:00:00Z&since=2030-03-17T00:00:00Z')['sums'] == [
        by_day[1]
    ]


def test_sums_are_those_of_today_and_yesterday_unless_a_time_is_given(charged):
    """Yesterday is a whole day of them, and what is older costs the database nothing."""
    day, by_day = 86_400.0, 'group_by=day'
    assert [one['charged'] for one in sums(charged, by_day)['sums']] == [11, 10]
    charged.wall.now = (FIRST // day + 3) * day - 1
    assert [one['charged'] for one in sums(charged, by_day)['sums']] == [11]
    assert [
        one['charged'] for one in sums(charged, f'{by_day}&until=2030-03-18T00:00:00Z')['sums']
    ] == [10]


@pytest.mark.parametrize('group', ['server', 'app', 'day'])
def test_sums_come_in_pages(charged, group):
    """Each link leads to the next page, also from what is for no server."""
    whole, found = sums(charged, f'group_by={group}&{EVER}')['sums'], []
    page = sums(charged, f'group_by={group}&{EVER}&limit=1')
    found += page['sums']
    while links := page.get('sums_links'):
        page = charged.call('GET', links[0]['href'], READER, headers=LATEST).json
        found += page['sums']
    assert found == whole
    assert len(whole) > 1


def test_lines_of_a_statement_are_chosen_by_time_and_server(charged):
    """From version 1.17 on; each line has the server that it is charged for."""
    path = f'/v1/accounts/{OWN}/statement?since=2030-03-17T00:00:00Z&server_id={OF_ALICE}'
    (line,) = charged.call('GET', path, READER, headers=LATEST).json['postings']
    assert (line['server_id'], line['change']) == (OF_ALICE, -10)
    later = path.replace('03-17', '03-18')
    assert charged.call('GET', later, READER, headers=LATEST).json['postings'] == []
    assert '1.17' in charged.call('GET', path, READER).json['message']
    old = charged.call('GET', f'/v1/accounts/{OWN}/statement', READER).json['postings']
    assert 'server_id' not in old[0]


@pytest.mark.parametrize(
    'query',
    [
        'since=2030-03-18T00:00:00Z&until=2030-03-17T00:00:00Z',
        'since=yesterday',
        'group_by=day&marker=2030-02-30',
        'group_by=week',
    ],
)
def test_a_query_of_sums_that_has_no_sense_is_refused(charged, query):
    """400, and what is wrong."""
    path = f'/v1/accounts/{OWN}/statement/sums?{query}'
    assert code(charged.call('GET', path, READER, headers=LATEST)) == (
        400,
        'market.request.invalid',
    )


def test_a_key_belongs_to_one_transfer_of_one_project(funded):
    """A key is refused for another amount, and is free for another project."""
    assert transfer(funded, MANAGER, OWN, OTHER, 300, key='lunch').status_code == 201
    refused = transfer(funded, MANAGER, OWN, OTHER, 301, key='lunch')
    assert code(refused) == (409, 'market.key.reused')
    assert refused.json['errors'][0]['detail'].startswith(
        'key lunch was used for 0.0003 credits from'
    )
    assert transfer(funded, f'manager@{BOB}', OTHER, OWN, 1, key='lunch').status_code == 201
    assert balance(funded, OWN) == 701


def test_a_transfer_above_the_balance_says_what_is_left_and_needed(funded):
    """Nothing moves, and the message has both numbers."""
    answer = transfer(funded, MANAGER, OWN, OTHER, 2_000_000)
    assert code(answer) == (409, 'market.balance.too_low')
    assert '0.001 credits left' in answer.json['message']
    assert '2 are needed' in answer.json['message']
    assert answer.json['errors'][0]['request_id'].startswith('req-')
    assert balance(funded, OWN) == 1000


@pytest.mark.parametrize(
    ('source', 'target', 'expected'),
    [
        (OWN, OWN, (400, 'market.transfer.to_self')),
        (OWN, 'project:nobody', (404, 'market.project.not_found')),
        (OWN, 'budget:nobody', (404, 'market.account.not_found')),
        (OWN, 'project:biology', (404, 'market.project.not_found')),
        (OTHER, OWN, (404, 'market.account.not_found')),
        ('bank', OWN, (404, 'market.account.not_found')),
        ('mint', OWN, (400, 'market.request.invalid')),
        ('escrow', OWN, (400, 'market.request.invalid')),
        (OWN, 'project:a\nb', (400, 'market.request.invalid')),
    ],
)
def test_a_transfer_names_two_accounts_the_first_being_ones_own(funded, source, target, expected):
    """To oneself, to nobody, from others, from where no tenant takes: refused, nothing moves."""
    assert code(transfer(funded, MANAGER, source, target, 1)) == expected
    assert (balance(funded, OWN), balance(funded, OTHER)) == (1000, 500)


def to_project(market, name, version='latest'):
    return market.call(
        'POST', '/v1/transfers', MANAGER, headers={'OpenStack-API-Version': f'market {version}'},
        json={'from': OWN, 'to': f'project:{name}', 'amount': 1},
    )  # fmt: skip


def test_a_project_is_paid_by_its_id_or_its_name(funded):
    """From version 1.17 on by name; its account is opened when the market has not met it."""
    assert to_project(funded, 'biology').status_code == 201
    assert balance(funded, OTHER) == 501
    new = 'd' * 32
    funded.directory.projects[new] = DOMAIN, 'the dome, east'
    assert to_project(funded, 'the dome, east').status_code == 201
    assert to_project(funded, new, '1.16').status_code == 201
    assert balance(funded, f'project:{new}') == 2
    assert code(to_project(funded, 'astronomy')) == (400, 'market.transfer.to_self')


def test_a_name_is_that_of_a_project_in_the_callers_own_domain(funded):
    """A project of another domain is paid by its id, and never in place of one of that name here."""
    other = 'd' * 32
    funded.directory.projects = {other: ('elsewhere', 'biology'), **funded.directory.projects}
    assert to_project(funded, 'biology').status_code == 201
    assert balance(funded, OTHER) == 501
    funded.directory.projects[other] = 'elsewhere', 'chemistry'
    answer = to_project(funded, 'chemistry')
    assert code(answer) == (404, 'market.project.not_found')
    assert 'the id chemistry, or with this name in the domain of yours: correct it' in answer.text
    assert to_project(funded, other).status_code == 201


def test_nothing_is_given_to_a_project_that_is_not_in_keystone(funded):
    """Not to one that never was, not to one that is gone, by transfer or by grant; no account is opened."""
    for name in ('astronmy', 'd' * 32):
        answer = to_project(funded, name)
        assert code(answer) == (404, 'market.project.not_found') and name in answer.text
        path = f'/v1/accounts/project:{name}/grants'
        assert code(funded.call('POST', path, ADMIN, json={'amount': 1})) == (
            404,
            'market.project.not_found',
        )
        assert funded.stores.accounts.account(f'project:{name}') is None
    del funded.directory.projects[BOB]
    assert code(to_project(funded, BOB)) == (404, 'market.project.not_found')
    assert (balance(funded, OWN), balance(funded, OTHER)) == (1000, 500)


def test_without_keystone_other_projects_wait_and_budgets_do_not(funded):
    """503 for who asks Keystone; a transfer within the project asks nobody."""
    budget = funded.call('POST', '/v1/budgets', MEMBER, json={'name': 'web'}).json['budget']['id']
    funded.directory.available = False
    assert code(to_project(funded, BOB)) == (503, 'market.cloud.unavailable')
    assert transfer(funded, MANAGER, OWN, budget, 1).status_code == 201


@pytest.mark.parametrize('amount', [-1, 0, 2**53 + 1, 0.5, '1', True, None, 1e300])
def test_an_amount_is_a_whole_number_within_bounds(funded, amount):
    """Everything else is refused by the schema, for grants as for transfers."""
    assert code(transfer(funded, MANAGER, OWN, OTHER, amount))[0] == 400
    path = f'/v1/accounts/{OWN}/grants'
    assert code(funded.call('POST', path, ADMIN, json={'amount': amount}))[0] == 400
    assert (balance(funded, OWN), balance(funded, 'mint')) == (1000, -1500)


@pytest.mark.parametrize(
    'text',
    ['{"amount": NaN}', '{"amount": 1e999}', '{', '[' * 100_000, '\xff', '"\\ud800"', '9' * 5000],
)
def test_what_is_no_json_is_refused(funded, text):
    """NaN, infinity, cut off, too deep, not UTF-8, half a character, a number without end."""
    answer = funded.call(
        'POST', f'/v1/accounts/{OWN}/grants', ADMIN,
        data=text.encode('latin-1'), content_type='application/json',
    )  # fmt: skip
    assert answer.status_code == 400, answer.text
    assert answer.json['errors'][0]['code'].startswith('market.request.')


def test_a_body_that_is_not_json_or_too_long_is_refused(funded):
    """A form is answered with 415, more than oslo.middleware's limit with 413."""
    path = f'/v1/accounts/{OWN}/grants'
    assert code(funded.call('POST', path, ADMIN, data={'amount': 1})) == (
        415,
        'market.request.media_type',
    )
    answer = funded.call('POST', path, ADMIN, json={'amount': 'x' * 200_000})
    assert answer.status_code == 413


def test_more_than_the_largest_amount_is_never_held(funded):
    """2^53 once is the most; with what is there it is too much, and nothing is changed."""
    answer = funded.call('POST', f'/v1/accounts/{OWN}/grants', ADMIN, json={'amount': 2**53})
    assert code(answer) == (400, 'market.amount.invalid')
    assert balance(funded, OWN) == 1000


def test_a_grant_is_taken_back_as_far_as_it_goes(funded):
    """A revocation moves credits back to the mint and no account below zero."""
    path = f'/v1/accounts/{OWN}/revocations'
    assert funded.call('POST', path, ADMIN, json={'amount': 400}).json['grant']['balance'] == 600
    assert code(funded.call('POST', path, ADMIN, json={'amount': 601})) == (
        409,
        'market.balance.too_low',
    )
    assert code(funded.call('POST', path, MANAGER, json={'amount': 1})) == (
        403,
        'market.policy.forbidden',
    )


def test_nothing_is_granted_to_bank_or_mint(funded):
    """Credits go to projects and budgets."""
    answer = funded.call('POST', '/v1/accounts/bank/grants', ADMIN, json={'amount': 1})
    assert code(answer) == (404, 'market.account.not_found')


def test_a_budget_is_opened_filled_changed_emptied_and_closed(funded):
    """The life of a budget; it can't be closed while something is in it."""
    made = funded.call('POST', '/v1/budgets', MEMBER, json={'name': 'web', 'renew_amount': 500})
    assert made.status_code == 201
    name = made.json['budget']['id']
    assert transfer(funded, MEMBER, OWN, name, 200).json['transfer']['balance'] == 800
    changed = funded.call(
        'PATCH', f'/v1/budgets/{name}', MEMBER, json={'renew_amount': None, 'renew_every': 5}
    ).json['budget']
    assert (changed['renew_amount'], changed['renew_every'], changed['balance']) == (None, 5, 200)
    assert changed['name'] == 'web'
    path = f'/v1/budgets/{name}'
    assert code(funded.call('DELETE', path, MEMBER)) == (409, 'market.account.not_empty')
    assert transfer(funded, MEMBER, name, OWN, 200).status_code == 201
    assert funded.call('DELETE', path, MEMBER).status_code == 204
    assert code(funded.call('GET', path, MEMBER)) == (404, 'market.budget.not_found')
    assert funded.call('GET', '/v1/budgets', MEMBER).json == {'budgets': []}


def test_budgets_are_not_without_end(market):
    """A project opens as many as [api]max_budgets."""
    for _ in range(100):
        made = market.call('POST', '/v1/budgets', MEMBER, json={'name': 'x'})
        assert made.status_code == 201
    assert code(market.call('POST', '/v1/budgets', MEMBER, json={'name': 'x'})) == (
        409,
        'market.budget.too_many',
    )


def test_weight_is_the_operators_name_the_projects(funded):
    """A manager renames, an admin weighs; a refused change changes nothing."""
    path = f'/v1/accounts/{OWN}'
    assert (
        funded.call('PATCH', path, MANAGER, json={'name': 'ours'}).json['account']['name'] == 'ours'
    )
    assert code(funded.call('PATCH', path, MANAGER, json={'name': 'x', 'weight': 9}))[0] == 403
    weighed = funded.call('PATCH', path, ADMIN, json={'weight': 2.5}).json['account']
    assert (weighed['name'], weighed['weight']) == ('ours', 2.5)
    for wrong in ({}, {'weight': -1}, {'name': 'a\x00b'}, {'name': ''}, {'balance': 1}):
        assert code(funded.call('PATCH', path, ADMIN, json=wrong))[0] == 400


def test_a_weight_that_nobody_has_set_is_shown_as_it_counts(funded):
    """M7: that of the option, also after a rename; a budget has none."""
    weighing, path = make_market(funded.database, new_weight=3.0), f'/v1/accounts/{OWN}'
    renamed = weighing.call('PATCH', path, MANAGER, json={'name': 'ours'}).json['account']
    assert weighing.call('GET', path, MANAGER).json['account'] == renamed
    assert (renamed['name'], renamed['weight']) == ('ours', 3)
    assert funded.call('GET', path, MANAGER).json['account']['weight'] == 0
    made = weighing.call('POST', '/v1/budgets', MEMBER, json={'name': 'x'}).json['budget']
    assert made['weight'] == 0


def test_budgets_have_their_limit_also_when_many_ask_at_once(tmp_path, empty_tables):
    """Eight threads with room for three; what is deleted makes room."""
    copy = shutil.copy(empty_tables, tmp_path / 'market.sqlite')
    database = Database({'connection': f'sqlite:///{copy}'})
    few = make_market(database, max_budgets=3)

    def ask(_):
        client = Client(few.application, Flask.response_class)
        return client.post(
            '/v1/budgets', headers={'X-Auth-Token': MEMBER}, json={'name': 'x'}
        ).status_code

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(ask, range(8))) == [201] * 3 + [409] * 5
    made = few.call('GET', '/v1/budgets', MEMBER).json['budgets']
    assert few.call('DELETE', f'/v1/budgets/{made[0]["id"]}', MEMBER).status_code == 204
    assert ask(0) == 201
    database.close()


def test_a_rename_keeps_a_weight_that_was_set_meanwhile(funded, monkeypatch):
    """What the manager's request read before the admin's change is not written back."""
    path, read = f'/v1/accounts/{OWN}', funded.stores.accounts.account

    def then_weighed(name):
        found = read(name)
        monkeypatch.undo()
        assert funded.call('PATCH', path, ADMIN, json={'weight': 4.0}).status_code == 200
        return found

    monkeypatch.setattr(funded.stores.accounts, 'account', then_weighed)
    renamed = funded.call('PATCH', path, MANAGER, json={'name': 'ours'}).json['account']
    assert (renamed['name'], renamed['weight']) == ('ours', 4.0)
    assert funded.call('GET', path, MANAGER).json['account'] == renamed


def test_pages_follow_each_other_to_the_end(funded):
    """Each link leads to the next page; together they hold every line once, newest first."""
    for i in range(7):
        transfer(funded, MANAGER, OWN, OTHER, i + 1)
    path, seen = f'/v1/accounts/{OWN}/statement?limit=3', []
    while path:
        page = funded.call('GET', path, READER).json
        assert len(page['postings']) <= 3
        seen += [line['amount'] for line in page['postings']]
        links = page.get('postings_links')
        path = links[0]['href'].removeprefix('http://localhost') if links else ''
    assert seen == [7, 6, 5, 4, 3, 2, 1, 1000]
    names = funded.call('GET', '/v1/accounts?all_projects=true&limit=2', ADMIN).json
    assert [one['id'] for one in names['accounts']] == ['bank', 'escrow']
    assert 'marker=escrow' in names['accounts_links'][0]['href']
    assert 'all_projects=true' in names['accounts_links'][0]['href']


def test_accounts_of_others_are_as_good_as_not_there(funded):
    """Another project's account and one that does not exist are answered alike."""
    for name in (OTHER, 'project:nobody', 'bank'):
        for path in (f'/v1/accounts/{name}', f'/v1/accounts/{name}/statement'):
            assert code(funded.call('GET', path, READER)) == (404, 'market.account.not_found')
    assert code(funded.call('GET', f'/v1/accounts?project_id={BOB}', READER))[0] == 403
    assert code(funded.call('GET', '/v1/accounts?all_projects=true', READER))[0] == 403
    assert code(funded.call('GET', f'/v1/accounts/{OWN}')) == (401, 'market.token.missing')


def test_one_key_in_many_threads_moves_once(funded):
    """Clients that give up waiting and ask again at the same time: one is told 201, the others 200."""

    def ask(_):
        client = Client(funded.application, Flask.response_class)
        return client.post(
            '/v1/transfers',
            headers={'X-Auth-Token': MANAGER, 'Idempotency-Key': 'lunch'},
            json={'from': OWN, 'to': OTHER, 'amount': 300},
        ).status_code

    with ThreadPoolExecutor(8) as pool:
        found = sorted(pool.map(ask, range(16)))
    assert found == [200] * 15 + [201]
    assert (balance(funded, OWN), balance(funded, OTHER)) == (700, 800)


NEW = {HEADER: 'market latest'}


def test_a_budget_has_a_name_of_its_own(market):
    """From 1.17 on a second budget of a project with this name is refused, made or renamed."""
    made = market.call('POST', '/v1/budgets', MEMBER, json={'name': 'web'}, headers=NEW)
    first = made.json['budget']['id']
    again = market.call('POST', '/v1/budgets', MEMBER, json={'name': 'web'}, headers=NEW)
    assert code(again) == (409, 'market.budget.name_taken') and first in again.json['message']
    other = market.call('POST', '/v1/budgets', MEMBER, json={'name': 'db'}, headers=NEW)
    path = f'/v1/budgets/{other.json["budget"]["id"]}'
    renamed = market.call('PATCH', path, MEMBER, json={'name': 'web'}, headers=NEW)
    assert code(renamed) == (409, 'market.budget.name_taken')
    kept = market.call('PATCH', path, MEMBER, json={'name': 'db', 'renew_amount': 1}, headers=NEW)
    assert kept.status_code == 200, kept.json
    theirs = market.call('POST', '/v1/budgets', f'member@{BOB}', json={'name': 'web'}, headers=NEW)
    assert theirs.status_code == 201
    market.call('DELETE', f'/v1/budgets/{first}', MEMBER)
    assert market.call('PATCH', path, MEMBER, json={'name': 'web'}, headers=NEW).status_code == 200
    old = market.call('POST', '/v1/budgets', MEMBER, json={'name': 'web'})
    assert old.status_code == 201


@pytest.mark.parametrize('path', ['/v1/accounts', f'/v1/accounts/{OWN}'])
def test_a_project_has_its_account_before_its_first_server(market, path):
    """From 1.17 on it is opened when its own people ask, as the engine would; nobody opens another's."""
    assert market.stores.accounts.account(OWN) is None
    for token, headers in ((READER, {}), (f'reader@{BOB}', NEW), (ADMIN, NEW)):
        market.call('GET', path, token, headers=headers)
        assert market.stores.accounts.account(OWN) is None
    answer = market.call('GET', path, READER, headers=NEW)
    assert answer.status_code == 200
    found = market.stores.accounts.account(OWN)
    assert (found.project_id, found.balance, found.weight) == (ALICE, 0, None)
    assert market.call('GET', f'/v1/accounts/{OWN}', READER).json['account']['balance'] == 0
