# SPDX-License-Identifier: Apache-2.0
"""Prices, quotes, rounds, allocations, plans, heaviness and hosts through the API."""

import pytest
from sqlalchemy import delete, update

from nova_market.api.microversion import HEADER
from nova_market.db.market_tables import allocations, prices, round_documents, rounds
from tests.support.market.api import ALICE, BOB, DELETED, OF_ALICE, OF_BOB, OPERATOR
from tests.support.market.rounds import PERIOD, add_plan, add_round

pytestmark = pytest.mark.functional

READER, ADMIN, SERVICE = f'reader@{ALICE}', f'admin@{OPERATOR}', f'service@{OPERATOR}'


def code(response):
    return response.status_code, response.json['errors'][0]['code']


@pytest.fixture
def busy(market):
    """Four rounds, the newest at the wall clock's period; the price of CPU rises."""
    for back, price in ((3, 100.0), (2, 200.0), (1, 300.0), (0, 400.0)):
        add_round(market, PERIOD - back, price)
    return market


def test_before_the_first_round_everything_is_empty(market):
    """A new market has no prices, rounds, hosts; a quote says so."""
    for name in ('prices', 'prices/history', 'rounds', 'heaviness'):
        assert market.call('GET', f'/v1/{name}', READER).json == {name.split('/')[0]: []}
    assert market.call('GET', '/v1/hosts', ADMIN).json == {'hosts': []}
    answer = market.call('GET', '/v1/prices/quote?flavor=small', READER)
    assert code(answer) == (404, 'market.price.not_found')
    assert code(market.call('GET', '/v1/rounds/5', READER)) == (404, 'market.round.not_found')


def test_prices_now_and_in_a_window(busy):
    """The newest, one resource, and a window page by page, newest first; before 1.17 oldest first."""
    now = busy.call('GET', '/v1/prices', READER).json['prices']
    assert [(p['resource'], p['price'], p['at']) for p in now] == [
        ('cpu', 400.0, '2027-01-15T08:00:00Z'),
        ('memory', 0.5, '2027-01-15T08:00:00Z'),
    ]
    for version, periods in (('latest', (0, -1, -2, -3)), ('1.16', (-3, -2, -1, 0))):
        path, seen = '/v1/prices/history?limit=3', []
        while path:
            page = busy.call('GET', path, READER, headers={HEADER: f'market {version}'}).json
            seen += [(p['period'] - PERIOD, p['resource']) for p in page['prices']]
            path = page.get('prices_links', [{'href': ''}])[0]['href']
        assert seen == [(back, name) for back in periods for name in ('cpu', 'memory')]
    window = '?resource=cpu&since=2027-01-15T07:58:00Z&until=2027-01-15T08:59:00%2B01:00'
    found = busy.call('GET', f'/v1/prices/history{window}', READER).json['prices']
    assert [p['price'] for p in found] == [200.0, 300.0]


def test_a_quote_is_quantiles_of_past_prices(busy):
    """Low, median and high of what all servers would have cost for one period."""
    quote = busy.call('GET', '/v1/prices/quote?flavor=small&count=2&periods=10', READER).json[
        'quote'
    ]
    assert quote['median'] == 2 * (250 + 512)
    assert quote['low'] < quote['median'] < quote['high']
    assert (quote['total'], quote['seen_periods']) == (10 * quote['median'], 4)
    same = busy.call('GET', '/v1/prices/quote?cpu=1&memory_mib=1024&count=2', READER).json['quote']
    assert same['median'] == quote['median']


def test_a_quote_tells_the_present_price_and_how_it_came_about(busy):
    """From version 1.17 on: over which time, the cheapest and the dearest period, and the newest round."""
    newest = {HEADER: 'market latest'}
    path = '/v1/prices/quote?flavor=small&count=2'
    found = busy.call('GET', path, READER, headers=newest).json['quote']
    assert (found['least'], found['greatest']) == (2 * (100 + 512), 2 * (400 + 512))
    assert (found['present'], found['present_at']) == (found['greatest'], '2027-01-15T08:00:00Z')
    assert (found['first_at'], found['last_at']) == ('2027-01-15T07:57:00Z', found['present_at'])
    assert found['least'] <= found['low'] <= found['median'] <= found['high'] <= found['greatest']
    past = busy.call('GET', f'{path}&until=2027-01-15T07:58:00Z', READER, headers=newest)
    quote = past.json['quote']
    assert (quote['seen_periods'], quote['last_at']) == (2, '2027-01-15T07:58:00Z')
    assert quote['present'] == found['present']
    assert 'present' not in busy.call('GET', path, READER).json['quote']


def test_the_quantiles_of_a_quote_are_of_the_same_periods_as_its_extremes(market):
    """Where one resource is dear while the other is cheap, no period costs the sum of both highs."""
    for back, price in ((1, 100.0), (0, 612.0)):
        add_round(market, PERIOD - back, price)
    dear = update(prices).where(prices.c.period < PERIOD, prices.c.resource == 'memory')
    with market.database.engine.begin() as connection:
        connection.execute(dear.values(price=1.0))
    found = market.call('GET', '/v1/prices/quote?flavor=small', READER).json['quote']
    assert found['low'] == found['median'] == found['high'] == 100 + 1024 == 612 + 512


@pytest.mark.parametrize(
    ('query', 'expected'),
    [
        ('flavor=nothing', (404, 'market.flavor.not_found')),
        ('', (400, 'market.request.invalid')),
        ('flavor=small&cpu=1', (400, 'market.request.invalid')),
        ('flavor=small&count=0', (400, 'market.request.invalid')),
        ('flavor=small&count=x', (400, 'market.request.invalid')),
        ('flavor=small&count=1&count=2', (400, 'market.request.invalid')),
        ('flavor=small&colour=red', (400, 'market.request.invalid')),
        ('cpu=nan', (400, 'market.request.invalid')),
        ('flavor=small&since=2026-02-30T00:00:00Z', (400, 'market.request.invalid')),
        ('flavor=small&since=2029-01-01T00:00:00Z', (400, 'market.request.invalid')),
    ],
)
def test_a_wrong_query_is_refused(busy, query, expected):
    """Unknown names, repeated ones, values out of range, days that are not."""
    assert code(busy.call('GET', f'/v1/prices/quote?{query}', READER)) == expected


def test_a_tenant_sees_his_lines_of_a_round(busy):
    """Why his servers got what they got; no host, no other project, nothing of the engine."""
    answer = busy.call('GET', f'/v1/rounds/{PERIOD}', READER)
    shown = answer.json['round']
    assert [line['server_id'] for line in shown['explanation']] == [OF_ALICE]
    line = shown['explanation'][0]
    assert (line['host'], line['bid'], line['error']) == (None, [300, 20], 0.25)
    assert line['why'] == ['its host has less to give than the cloud as a whole']
    assert [one['id'] for one in shown['payers']] == [f'project:{ALICE}']
    assert (shown['leader'], shown['state']) == (None, 'planned')
    for hidden in (BOB, OF_BOB, 'host1', 'engine1', 'secret'):
        assert hidden not in answer.text


def test_held_prices_and_default_bids_come_with_version_3(busy):
    """A client of an older version does not get what it does not know."""
    path = f'/v1/rounds/{PERIOD}'
    old = busy.call('GET', path, READER, headers={HEADER: 'market 1.2'}).json['round']
    assert not {'held_prices', 'default_bids'} & old.keys()
    new = busy.call('GET', path, READER, headers={HEADER: 'market 1.3'}).json['round']
    assert [(one['resource'], one['free_price']) for one in new['held_prices']] == [('cpu', 400.0)]
    assert new['default_bids'] == {'cycle': 61, 'load': [1.5, 0.25]}


def test_an_admin_sees_the_whole_round(busy):
    """All servers, hosts and payers; the engine's own memory stays its own."""
    shown = busy.call('GET', f'/v1/rounds/{PERIOD}', ADMIN).json['round']
    assert [line['host'] for line in shown['explanation']] == ['host1', 'host1']
    assert (shown['hosts'][0]['name'], len(shown['payers'])) == ('host1', 2)
    assert 'memory' not in shown
    page = busy.call('GET', f'/v1/rounds/{PERIOD}?limit=1', ADMIN).json['round']
    assert [line['server_id'] for line in page['explanation']] == [OF_ALICE]
    rest = busy.call('GET', page['explanation_links'][0]['href'], ADMIN).json['round']
    assert [line['server_id'] for line in rest['explanation']] == [OF_BOB]


def test_a_project_has_nothing_read_but_its_part_of_a_round(busy, monkeypatch):
    """The whole document of a large cloud takes a second: only operators have it read."""
    expected = busy.call('GET', f'/v1/rounds/{PERIOD}', READER).json

    def refused(*_):
        raise AssertionError('the whole document was read')

    monkeypatch.setattr(busy.stores.history, 'round', refused)
    for period in (PERIOD, PERIOD - 1, PERIOD - 2, PERIOD - 3):
        shown = busy.call('GET', f'/v1/rounds/{period}', READER)
        assert shown.status_code == 200, shown.text
        assert [one['server_id'] for one in shown.json['round']['explanation']] == [OF_ALICE]
    assert busy.call('GET', f'/v1/rounds/{PERIOD}', READER).json == expected
    assert busy.call('GET', f'/v1/rounds/{PERIOD}', ADMIN).status_code == 500


def test_the_state_of_a_round_is_the_newest(busy):
    """A round that was shown before it was settled shows as settled afterwards."""
    assert busy.call('GET', f'/v1/rounds/{PERIOD}', READER).json['round']['state'] == 'planned'
    busy.stores.history.advance(PERIOD, 'planned', 'applied')
    assert busy.call('GET', f'/v1/rounds/{PERIOD}', READER).json['round']['state'] == 'applied'


@pytest.mark.parametrize('gone', [PERIOD - 3, PERIOD - 1])
def test_a_round_that_was_purged_is_no_round(busy, gone):
    """Also while its document is still kept by this process, and while an older round is still there."""
    assert busy.call('GET', f'/v1/rounds/{gone}', READER).status_code == 200

    def take_away(connection):
        for table in (round_documents, allocations, prices, rounds):
            connection.execute(delete(table).where(table.c.period == gone))

    busy.database.write(take_away)
    assert code(busy.call('GET', f'/v1/rounds/{gone}', READER)) == (404, 'market.round.not_found')


def test_allocations_of_a_round_and_of_a_server(busy):
    """A project's own, newest first for one server, page by page."""
    found = busy.call('GET', f'/v1/rounds/{PERIOD}/allocations', READER).json['allocations']
    assert [(a['server_id'], a['host']) for a in found] == [(OF_ALICE, None)]
    everything = f'/v1/rounds/{PERIOD}/allocations?all_projects=true'
    assert len(busy.call('GET', everything, ADMIN).json['allocations']) == 2
    assert code(busy.call('GET', everything, READER)) == (403, 'market.policy.forbidden')
    page = busy.call('GET', f'/v1/servers/{OF_ALICE}/allocations?limit=3', READER).json
    assert [a['period'] - PERIOD for a in page['allocations']] == [0, -1, -2]
    rest = busy.call('GET', page['allocations_links'][0]['href'], READER).json['allocations']
    assert [a['period'] - PERIOD for a in rest] == [-3]
    for server in (OF_BOB, DELETED):
        answer = busy.call('GET', f'/v1/servers/{server}/allocations', READER)
        assert code(answer) == (404, 'market.server.not_found')


def test_rounds_page_by_page(busy):
    """Newest first."""
    page = busy.call('GET', '/v1/rounds?limit=3', READER).json
    assert [one['period'] - PERIOD for one in page['rounds']] == [0, -1, -2]
    rest = busy.call('GET', page['rounds_links'][0]['href'], READER).json['rounds']
    assert [one['period'] - PERIOD for one in rest] == [-3]


def test_heaviness_is_the_projects_own(busy):
    """A reader sees his project's, a service any, an admin all."""
    own = busy.call('GET', '/v1/heaviness', READER).json['heaviness']
    assert own == [{'project_id': ALICE, 'period': PERIOD, 'heaviness': 0.5}]
    assert code(busy.call('GET', f'/v1/heaviness?project_id={BOB}', READER))[0] == 403
    theirs = busy.call('GET', f'/v1/heaviness?project_id={BOB}', SERVICE).json['heaviness']
    assert theirs[0]['heaviness'] == -0.25
    assert len(busy.call('GET', '/v1/heaviness?all_projects=true', ADMIN).json['heaviness']) == 2


def test_hosts_are_for_admins(busy):
    """As the newest round saw them."""
    assert busy.call('GET', '/v1/hosts', ADMIN).json['hosts'][0]['name'] == 'host1'
    assert code(busy.call('GET', '/v1/hosts', READER)) == (403, 'market.policy.forbidden')


def test_a_plan_is_approved_once(busy):
    """An admin approves; who rejects afterwards is told what it is."""
    add_plan(busy)
    add_plan(busy, 'plan-2', 1.8e9 + 1)
    page = busy.call('GET', '/v1/plans?limit=1', ADMIN).json
    assert [one['id'] for one in page['plans']] == ['plan-2']
    rest = busy.call('GET', page['plans_links'][0]['href'], ADMIN).json['plans']
    assert [one['id'] for one in rest] == ['plan-1']
    plan = busy.call('POST', '/v1/plans/plan-1/approve', ADMIN).json['plan']
    assert (plan['state'], plan['decided_by']) == ('approved', 'admin-user')
    assert plan['moves'][0]['reason'] == 'host1 is crowded'
    assert code(busy.call('POST', '/v1/plans/plan-1/reject', ADMIN)) == (409, 'market.plan.state')
    assert busy.call('POST', '/v1/plans/plan-2/reject', ADMIN, json={}).status_code == 200
    found = busy.call('GET', '/v1/plans?state=approved', ADMIN).json['plans']
    assert [one['id'] for one in found] == ['plan-1']
    assert code(busy.call('POST', '/v1/plans/none/approve', ADMIN)) == (
        404,
        'market.plan.not_found',
    )
    assert code(busy.call('GET', '/v1/plans', READER)) == (403, 'market.policy.forbidden')
