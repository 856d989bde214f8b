# SPDX-License-Identifier: Apache-2.0
"""The API beside a running engine: bids go in by the one, allocations and charges come from the other.

Every response is held to its schema (response_validation = error), so what the engine stores and what the
API publishes can't drift apart unseen.
"""

import pytest

from tests.support.market.api import ALICE, BOB, OF_ALICE, OF_BOB, OPERATOR, make_market
from tests.support.market_bed import PERIOD
from tests.support.market_bed import Market as Bed
from tests.support.market_bed import server as cloud_server

pytestmark = pytest.mark.functional

TENANT, OTHER, ADMIN = f'manager@{ALICE}', f'manager@{BOB}', f'admin@{OPERATOR}'
OWN = f'project:{ALICE}'


@pytest.fixture
def both(database):
    """Two servers on one host of four cores, each of which could use all of it; each project has credits."""
    bed = Bed(database, servers=[cloud_server(OF_ALICE, ALICE), cloud_server(OF_BOB, BOB)])
    api = make_market(database)
    for project in (ALICE, BOB):
        path = f'/v1/accounts/project:{project}/grants'
        assert api.call('POST', path, ADMIN, json={'amount': 10**9}).status_code == 201
    for name, token in ((OF_ALICE, TENANT), (OF_BOB, OTHER)):
        put(api, name, token, 1_000_000)
    return bed, api


def put(api, name, token, cpu):
    answer = api.call('PUT', f'/v1/bids/{name}', token, json={'cpu': cpu, 'memory': 1000})
    assert answer.status_code == 200, answer.text


def newest(api, token, server_id):
    api.wall.now += PERIOD
    found = api.call('GET', f'/v1/servers/{server_id}/allocations?limit=1', token).json
    return found['allocations'][0]


def test_a_raised_bid_shows_within_two_periods(both):
    """Equal bids share equally; three times the bid is three times the share."""
    bed, api = both
    bed.run(2)
    assert newest(api, TENANT, OF_ALICE)['actual_cpu'] == pytest.approx(2.0)
    put(api, OF_ALICE, TENANT, 3_000_000)
    bed.run(2)
    assert newest(api, TENANT, OF_ALICE)['actual_cpu'] == pytest.approx(3.0)
    assert newest(api, OTHER, OF_BOB)['actual_cpu'] == pytest.approx(1.0)


def test_statement_prices_and_rounds_add_up_to_the_last_micro_credit(both):
    """What a project paid is what its allocations were charged, and what is left of its grant."""
    bed, api = both
    bed.run(4)
    rounds = api.call('GET', '/v1/rounds', TENANT).json['rounds']
    settled = [one['period'] for one in rounds if one['state'] == 'settled']
    assert len(settled) >= 2
    charged = 0
    for period in settled:
        shown = api.call('GET', f'/v1/rounds/{period}', TENANT).json['round']
        assert len(shown['prices']) == 2
        line = shown['explanation'][0]
        assert (line['server_id'], line['source'], line['confirmed']) == (
            OF_ALICE,
            ['tenant', 'tenant'],
            True,
        )
        charged += line['charge_cpu'] + line['charge_memory']
        assert BOB not in str(shown)
        whole = api.call('GET', f'/v1/rounds/{period}', ADMIN).json['round']
        assert {one['server_id'] for one in whole['explanation']} == {OF_ALICE, OF_BOB}
    postings = api.call('GET', f'/v1/accounts/{OWN}/statement', TENANT).json['postings']
    paid = -sum(one['change'] for one in postings if one['reason'] == 'charge')
    assert paid == charged > 0
    balance = api.call('GET', f'/v1/accounts/{OWN}', TENANT).json['account']['balance']
    assert balance == sum(one['change'] for one in postings) == postings[0]['balance']


def test_hosts_and_a_quote_come_from_real_rounds(both):
    """An admin sees the engine's hosts; prices in the window of the engine's clock make a quote."""
    bed, api = both
    bed.run(2)
    api.wall.now = bed.clock.wall()
    assert api.call('GET', '/v1/hosts', ADMIN).json['hosts'][0]['name'] == 'a'
    quote = api.call('GET', '/v1/prices/quote?flavor=small', TENANT).json['quote']
    assert quote['low'] <= quote['median'] <= quote['high']


def test_what_hosts_do_not_control_has_no_price(both):
    """B5: no price, no part in a quote; a round names it from 1.3 on, its hosts to administrators."""
    bed, api = both
    bed.enforcement.controls = frozenset({'cpu'})
    bed.run(2)
    api.wall.now = bed.clock.wall()
    prices = api.call('GET', '/v1/prices', TENANT).json['prices']
    assert [one['resource'] for one in prices] == ['cpu']
    quote = api.call('GET', '/v1/prices/quote?cpu=1&memory_mib=1024', TENANT).json['quote']
    assert quote['median'] == prices[0]['price'] and quote['seen_periods'] == 2
    path = f'/v1/rounds/{prices[0]["period"]}'
    later = {'OpenStack-API-Version': 'market 1.3'}
    whole = api.call('GET', path, ADMIN, headers=later).json['round']
    assert whole['not_sold'] == [{'resource': 'memory', 'everywhere': True, 'hosts': ['a']}]
    own = api.call('GET', path, TENANT, headers=later).json['round']
    assert own['not_sold'] == [{'resource': 'memory', 'everywhere': True, 'hosts': None}]
    assert own['explanation'][0]['charge_memory'] == 0
    assert 'memory is not sold there' in own['explanation'][0]['why'][-1]
    assert 'not_sold' not in api.call('GET', path, ADMIN).json['round']
