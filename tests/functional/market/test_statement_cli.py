# SPDX-License-Identifier: Apache-2.0
"""Statements as tenants read them: chosen, summed, with names beside ids."""

import time
from types import SimpleNamespace

import pytest

from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import Posting, Reason, posting_key
from nova_market.osc.v1.columns import shown as shown_cells
from nova_market.osc.v1.names import named
from tests.support.market.api import ALICE, DELETED, OF_ALICE
from tests.support.market.shell import granted, shown

pytestmark = pytest.mark.functional

DAY = 86_400.0


@pytest.fixture
def charged(market_service, connect, run):
    """Alice's server and one that is deleted were charged three days ago, the first one now too."""
    now, market = time.time(), market_service.market
    market.wall.now = now - 3 * DAY
    own = granted(market_service, connect, 'alice', 100)
    budget = shown(run, 'alice', 'budget', 'create', 'nightly')['id']
    shown(run, 'alice', 'account', 'transfer', 'nightly', '10')
    for at, period, server, payer in (
        (now - 3 * DAY, 7, OF_ALICE, own),
        (now - 3 * DAY, 7, DELETED, budget),
        (now, 8, OF_ALICE, own),
    ):
        market.wall.now = at
        key = posting_key(Reason.CHARGE, period, server)
        one = Posting(key=key, reason=Reason.CHARGE, debit=payer, credit='bank', amount=2 * MICRO)
        market.stores.ledger.post([one])
    market_service.requests.clear()
    return market_service


def test_lines_are_chosen_by_server_and_by_time_as_people_say_it(charged, run):
    """An hour ago, a date, a server by its name."""
    assert len(shown(run, 'alice', 'statement', 'show')) == 4
    (line,) = shown(run, 'alice', 'statement', 'show', '--since', '1h')
    assert (line['Reason'], line['Server'], line['Change']) == ('charge', OF_ALICE, -2 * MICRO)
    assert len(shown(run, 'alice', 'statement', 'show', '--server', 'web-1')) == 2
    (old,) = shown(run, 'alice', 'statement', 'show', '--server', 'web-1', '--until', 'yesterday')
    assert old['Number'] < line['Number']


def test_a_mistyped_time_is_refused_before_anything_is_asked(charged, run):
    """The option, its value, and what can be typed."""
    status, _, err = run('alice', 'statement', 'show', '--since', 'yesterdy')
    assert status != 0
    assert "argument --since: 'yesterdy' is no time: give one such as 1h (ago), yesterday" in err
    assert not any('/market' in one for one in charged.requests)


def test_sums_are_shown_by_server_application_and_day(charged, run):
    """Of the project with its budgets, or of one of them."""
    show = ('statement', 'show', '--since', '7d', '--group-by')
    by_server = shown(run, 'alice', *show, 'server')
    assert {line['Server']: line['Charged'] // MICRO for line in by_server} == {
        None: 0, OF_ALICE: 4, DELETED: 2,
    }  # fmt: skip
    by_app = shown(run, 'alice', *show, 'app')
    assert [(line['Application'], line['Charged'] // MICRO) for line in by_app] == [
        ('nightly', 2), ('astronomy', 4),
    ]  # fmt: skip
    by_day = shown(run, 'alice', *show, 'day', '--limit', '1')
    assert [(line['Charged'] // MICRO, line['Postings']) for line in by_day] == [(2, 1)]
    assert len(shown(run, 'alice', *show, 'day', 'nightly')) == 1


def test_an_application_and_an_account_are_not_both_given(charged, run):
    """The application's budget is the account."""
    status, _, err = run('alice', 'statement', 'show', 'nightly', '--app', OF_ALICE)
    assert status == 1 and 'give an account or --app, not both' in err


def test_a_table_has_names_beside_ids_at_the_cost_of_one_list_each(charged, run):
    """A server that is deleted keeps its id alone; what programs read has ids and costs nothing."""
    status, out, _ = run('alice', 'statement', 'show', '-c', 'Server', '-c', 'From', '-c', 'To')
    assert status == 0
    assert (
        f'web-1 ({OF_ALICE})' in out and 'nightly (budget:' in out and 'astronomy (project:' in out
    )
    asked = [one for one in charged.requests if one.startswith('GET')]
    assert sum(one.endswith('/servers') for one in asked) == 1
    assert sum(one.endswith('/budgets') for one in asked) == 1
    assert not any('/projects' in one for one in asked), 'the token names its project'
    charged.requests.clear()
    shown(run, 'alice', 'statement', 'show')
    assert not any(one.endswith(('/servers', '/budgets')) for one in charged.requests)


def test_an_administrator_reads_the_names_of_all_projects(charged, run):
    """By one list of them; who may not list them reads ids."""
    status, out, _ = run('root', 'account', 'list', '--all-projects')
    assert status == 0 and 'astronomy (' in out and 'biology (' in out
    assert sum(one.endswith('/projects') for one in charged.requests) == 1


def test_users_have_names_where_they_may_be_listed(charged, run):
    """By one list of them; who may not list them reads ids."""
    shown(run, 'alice', 'notice', 'set', '--mail', 'a@example.org', '--events', 'lease.*')
    charged.requests.clear()
    _, out, _ = run('root', 'notice', 'list', '--all-projects', '-c', 'User')
    assert '| member (member-user) |' in out
    assert sum(one.endswith('/users') for one in charged.requests) == 1
    _, out, _ = run('alice', 'notice', 'list', '-c', 'User')
    assert '| member-user |' in out
    _, out, _ = run('root', 'statement', 'show', f'project:{ALICE}', '--long', '-c', 'By')
    assert 'member (member-user)' in out


def test_ones_own_user_and_project_are_known_by_the_token(charged, connect):
    """Nothing is listed for them."""
    columns = named(connect('alice'), [('User', 'user_id', None), ('Project', 'project_id', None)])
    charged.requests.clear()
    _, cells = shown_cells(columns, SimpleNamespace(user_id='alice', project_id=ALICE))
    assert [str(one) for one in cells] == ['Alice (alice)', f'astronomy ({ALICE})']
    assert not [one for one in charged.requests if one.endswith(('/users', '/projects'))]
