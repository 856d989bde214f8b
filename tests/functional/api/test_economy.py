# SPDX-License-Identifier: Apache-2.0
"""The economy and purchasing power through the API (P4)."""

import pytest

from tests.support.market.api import ALICE, BOB, OPERATOR
from tests.support.market.rounds import PERIOD, add_round

pytestmark = pytest.mark.functional

READER, BOBS, ADMIN = f'reader@{ALICE}', f'reader@{BOB}', f'admin@{OPERATOR}'


@pytest.fixture
def busy(market):
    """Four rounds up to the wall clock's period; the newest is not settled."""
    for back, charged, index in (
        (3, 100, 100.0),
        (2, 200, 110.0),
        (1, 300, None),
        (0, None, 150.0),
    ):
        add_round(market, PERIOD - back, 400.0, charged=charged, price_index=index)
    return market


def get(market, path, caller=READER):
    # links to next pages are addresses
    return market.call('GET', f'/v1/{path.rpartition("/v1/")[2]}', caller)


BEFORE = {'OpenStack-API-Version': 'market 1.16'}


def code(response):
    return response.status_code, response.json['errors'][0]['code']


def test_the_newest_economy_with_the_velocity_of_a_day(busy):
    """A tenth, two and three of the credits were charged; memory is not in the basket, so it is left out."""
    found = get(busy, 'economy').json['economy']
    assert (found['period'], found['at']) == (PERIOD, '2027-01-15T08:00:00Z')
    assert (found['issued'], found['circulating'], found['bank']) == (1000, 850, 150)
    assert (found['velocity'], found['seen_periods']) == (pytest.approx(0.2), 3)
    assert (found['charged'], found['price_index']) == (None, 150.0)
    assert found['base'] == {
        'rounds': 1440, 'complete': True, 'level': 100.0, 'cpu': 11520.0, 'memory_mib': 0.0,
    }  # fmt: skip
    assert found['left_out'] == [
        {'resource': 'memory', 'why': 'nothing of it was sold in the base window'}
    ]


def test_a_window_of_it(busy):
    """`until` is the round that is shown, `since` the first one of the velocity."""
    window = 'since=2027-01-15T07:57:00Z&until=2027-01-15T07:58:30Z'
    found = get(busy, f'economy?{window}').json['economy']
    assert (found['period'], found['velocity']) == (PERIOD - 2, pytest.approx(0.15))


def test_its_history_has_pages(busy):
    """Oldest first, each period once; an index that there was none of is null."""
    path, seen = 'economy/history?limit=3', []
    while path:
        page = get(busy, path).json
        seen += [(one['period'] - PERIOD, one['price_index']) for one in page['periods']]
        path = page.get('periods_links', [{'href': ''}])[0]['href']
    newest_first = [(0, 150.0), (-1, None), (-2, 110.0), (-3, 100.0)]
    assert seen == newest_first
    old = busy.call('GET', '/v1/economy/history?limit=2', READER, headers=BEFORE).json
    link = old['periods_links'][0]['href']
    old['periods'] += busy.call('GET', link, READER, headers=BEFORE).json['periods']
    assert [one['price_index'] for one in old['periods']] == [
        index for _, index in reversed(newest_first)
    ]


def test_a_project_sees_its_own_purchasing_power(busy):
    """And that of no other; an administrator sees all, or one by its id."""
    (own,) = get(busy, 'purchasing-power').json['purchasing_power']
    assert own == {
        'period': PERIOD, 'at': '2027-01-15T08:00:00Z', 'project_id': ALICE, 'wealth': 610,
        'spend': 10, 'cores': 0.05, 'part': 0.005, 'real': 10.0,
    }  # fmt: skip
    (bobs,) = get(busy, 'purchasing-power', BOBS).json['purchasing_power']
    assert (bobs['project_id'], bobs['cores']) == (BOB, None)
    assert code(get(busy, f'purchasing-power?project_id={BOB}')) == (403, 'market.policy.forbidden')
    assert code(get(busy, 'purchasing-power/history?all_projects=true'))[0] == 403
    both = get(busy, 'purchasing-power?all_projects=true', ADMIN).json['purchasing_power']
    assert [one['project_id'] for one in both] == sorted([ALICE, BOB])
    (one,) = get(busy, f'purchasing-power?project_id={BOB}', ADMIN).json['purchasing_power']
    assert one['project_id'] == BOB


@pytest.mark.parametrize('name', ['purchasing-power', 'purchasing-power/history'])
def test_purchasing_power_has_pages(busy, name):
    """Each line once, however pages are cut."""
    path, seen = f'{name}?all_projects=true&limit=1', []
    while path:
        page = get(busy, path, ADMIN).json
        seen += [(one['period'] - PERIOD, one['project_id']) for one in page['purchasing_power']]
        path = page.get('purchasing_power_links', [{'href': ''}])[0]['href']
    periods = (0, -1, -2, -3) if name.endswith('history') else (0,)
    assert seen == [(period, project) for period in periods for project in sorted([ALICE, BOB])]


def test_before_version_17_a_history_is_oldest_first(busy):
    """Its pages go on from the oldest."""
    path, seen = '/v1/purchasing-power/history?all_projects=true&limit=3', []
    while path:
        page = busy.call('GET', path, ADMIN, headers=BEFORE).json
        seen += [(one['period'] - PERIOD, one['project_id']) for one in page['purchasing_power']]
        path = page.get('purchasing_power_links', [{'href': ''}])[0]['href']
    assert seen == [(back, name) for back in (-3, -2, -1, 0) for name in sorted([ALICE, BOB])]


def test_before_the_first_round_there_is_no_economy(market):
    """One says so, lists are empty."""
    assert code(get(market, 'economy')) == (404, 'market.economy.not_found')
    assert get(market, 'economy/history').json == {'periods': []}
    for name in ('purchasing-power', 'purchasing-power/history'):
        assert get(market, name).json == {'purchasing_power': []}


@pytest.mark.parametrize(
    'path',
    [
        'economy?since=yesterday',
        'economy?since=2029-01-01T00:00:00Z',
        'economy?period=5',
        'economy/history?limit=0',
        'economy/history?marker=x',
        'purchasing-power?project_id=%27%3B',
        'purchasing-power?marker=a:b',
        'purchasing-power/history?marker=5',
        'purchasing-power/history?since=2027-01-02T00:00:00Z&until=2027-01-01T00:00:00Z',
    ],
)
def test_nonsense_is_refused(busy, path):
    """With 400 and the value."""
    assert code(get(busy, path)) == (400, 'market.request.invalid')


def test_versions_before_do_not_have_it(busy):
    """404, with the version that has it."""
    for name in ('economy', 'economy/history', 'purchasing-power', 'purchasing-power/history'):
        old = busy.call(
            'GET', f'/v1/{name}', READER, headers={'OpenStack-API-Version': 'market 1.2'}
        )
        assert (old.status_code, 'from version 1.3 on' in old.json['message']) == (404, True)
