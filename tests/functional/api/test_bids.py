# SPDX-License-Identifier: Apache-2.0
"""Bids through the API (rule B1), and what is refused."""

import pytest

from nova_market.api.microversion import HEADER
from tests.support.market.api import (
    ALICE,
    ALSO_OF_ALICE,
    BOB,
    DELETED,
    OF_ALICE,
    OF_BOB,
    OPERATOR,
)
from tests.support.market.rounds import PERIOD, add_round

pytestmark = pytest.mark.functional

MEMBER, READER, ADMIN = f'member@{ALICE}', f'reader@{ALICE}', f'admin@{OPERATOR}'
PATH = f'/v1/bids/{OF_ALICE}'


NEW = {HEADER: 'market latest'}


def code(response):
    return response.status_code, response.json['errors'][0]['code']


def test_a_bid_is_set_shown_changed_listed_and_unset(market):
    """A bid stays until it is changed; each change has its generation."""
    made = market.call('PUT', PATH, MEMBER, json={'cpu': 300, 'memory': 0})
    assert made.status_code == 200, made.text
    assert made.json['bid'] == {
        'server_id': OF_ALICE, 'project_id': ALICE, 'payer': f'project:{ALICE}', 'cpu': 300,
        'memory': 0, 'max_cpu': None, 'max_memory_mib': None, 'source': 'tenant', 'generation': 1,
    }  # fmt: skip
    changed = market.call('PUT', PATH, MEMBER, json={'cpu': 9, 'memory': 1, 'max_cpu': 1.5})
    assert market.call('GET', PATH, READER).json == changed.json
    assert changed.json['bid']['generation'] == 2
    market.call('PUT', f'/v1/bids/{ALSO_OF_ALICE}', MEMBER, json={'cpu': 1, 'memory': 1})
    page = market.call('GET', '/v1/bids?limit=1', READER).json
    assert [one['server_id'] for one in page['bids']] == [OF_ALICE]
    rest = market.call('GET', page['bids_links'][0]['href'], READER).json
    assert [one['server_id'] for one in rest['bids']] == [ALSO_OF_ALICE]
    assert 'bids_links' not in rest
    assert market.call('DELETE', PATH, MEMBER).status_code == 204
    assert code(market.call('DELETE', PATH, MEMBER)) == (404, 'market.bid.not_found')


def test_a_bid_that_was_changed_meanwhile_is_not_overwritten(market):
    """Who names a generation replaces that one or nothing."""
    first = {'cpu': 1, 'memory': 1, 'generation': 0}
    assert market.call('PUT', PATH, MEMBER, json=first).status_code == 200
    assert code(market.call('PUT', PATH, MEMBER, json={**first, 'cpu': 2})) == (
        409,
        'market.bid.generation',
    )
    assert market.call('GET', PATH, MEMBER).json['bid']['cpu'] == 1


@pytest.mark.parametrize(
    'wrong',
    [
        {'cpu': -1}, {'cpu': 2**53 + 1}, {'cpu': 0.5}, {'cpu': '1'}, {'memory': True},
        {'max_cpu': 0}, {'max_cpu': -1}, {'max_cpu': 1e-303}, {'max_memory_mib': 0.5},
        {'max_memory_mib': 1e30}, {'payer': 'bank'}, {'generation': -1}, {'disk': 1}, {'cpu': None},
    ],
    ids=str,
)  # fmt: skip
def test_a_bid_out_of_range_is_refused(market, wrong):
    """A clear 400 that names the value, and nothing is stored."""
    answer = market.call('PUT', PATH, MEMBER, json={'cpu': 1, 'memory': 1, **wrong})
    assert code(answer) == (400, 'market.request.invalid')
    assert next(iter(wrong)) in answer.json['message']
    assert code(market.call('GET', PATH, MEMBER)) == (404, 'market.bid.not_found')


def test_nan_is_no_bid(market):
    """What Python's JSON would take is refused."""
    for text in ('{"cpu": NaN, "memory": 1}', '{"cpu": 1, "memory": 1e400}'):
        answer = market.call('PUT', PATH, MEMBER, data=text, content_type='application/json')
        assert code(answer) == (400, 'market.request.malformed')


@pytest.mark.parametrize('server', [OF_BOB, DELETED, 'no-uuid', '../x'])
def test_a_bid_for_anything_but_ones_own_server_is_refused(market, server):
    """Another's server, a deleted one and a wrong id are not found; Bob has no bid."""
    answer = market.call('PUT', f'/v1/bids/{server}', MEMBER, json={'cpu': 1, 'memory': 1})
    assert answer.status_code == 404
    assert market.call('GET', '/v1/bids?all_projects=true', ADMIN).json == {'bids': []}


def test_a_budget_of_the_same_project_may_pay(market):
    """Another project's account is not found, and a closed one neither."""
    made = market.call('POST', '/v1/budgets', MEMBER, json={'name': 'web'}).json['budget']['id']
    bid = {'cpu': 1, 'memory': 1, 'payer': made}
    assert market.call('PUT', PATH, MEMBER, json=bid).json['bid']['payer'] == made
    theirs = market.call('POST', '/v1/budgets', f'member@{BOB}', json={'name': 'web'}).json
    for payer in (theirs['budget']['id'], f'project:{BOB}', 'budget:nothing'):
        answer = market.call('PUT', PATH, MEMBER, json={**bid, 'payer': payer})
        assert code(answer) == (404, 'market.account.not_found')
    assert market.call('DELETE', f'/v1/budgets/{made}', MEMBER).status_code == 204
    assert code(market.call('PUT', PATH, MEMBER, json=bid)) == (404, 'market.account.not_found')


def test_an_admin_sets_a_bid_for_a_project(market):
    """The bid is the server's project's, and so is the payer."""
    bid = market.call('PUT', PATH, ADMIN, json={'cpu': 5, 'memory': 5}).json['bid']
    assert (bid['project_id'], bid['payer']) == (ALICE, f'project:{ALICE}')


def test_without_nova_no_bid_is_set(market):
    """Whose a server is can't be known: 503, and bids can still be read."""
    market.directory.available = False
    answer = market.call('PUT', PATH, MEMBER, json={'cpu': 1, 'memory': 1})
    assert code(answer) == (503, 'market.cloud.unavailable')
    assert '[openstack]timeout' in answer.json['errors'][0]['detail'], 'what an operator looks at'
    assert market.call('GET', '/v1/bids', MEMBER).status_code == 200


def test_a_bid_may_set_one_resource(market):
    """From 1.17 on; older versions need both, and see 0 for what is not set."""
    assert code(market.call('PUT', PATH, MEMBER, json={'cpu': 2})) == (
        400,
        'market.request.invalid',
    )
    made = market.call('PUT', PATH, MEMBER, json={'cpu': 2}, headers=NEW).json['bid']
    assert (made['cpu'], made['memory'], made['generation']) == (2, None, 1)
    assert market.call('GET', PATH, MEMBER).json['bid']['memory'] == 0
    assert market.call('GET', '/v1/bids', MEMBER, headers=NEW).json['bids'] == [made]


def test_a_bid_is_shown_with_what_is_in_force_and_whence(market):
    """Without a bid too: what the newest round counted, once one has seen the server."""
    none = market.call('GET', PATH, READER, headers=NEW).json['bid']
    assert (none['cpu'], none['memory'], none['source'], none['in_force']) == (
        None,
        None,
        'none',
        None,
    )
    add_round(market)
    found = market.call('GET', PATH, READER, headers=NEW).json['bid']['in_force']
    assert found == {
        'period': PERIOD, 'payer': f'project:{ALICE}', 'cpu': {'bid': 300, 'source': 'tenant'},
        'memory': {'bid': 20, 'source': 'flavor'},
    }  # fmt: skip
    assert (
        'in_force' not in market.call('PUT', PATH, MEMBER, json={'cpu': 1, 'memory': 1}).json['bid']
    )
    for server in (OF_BOB, DELETED):
        path = f'/v1/bids/{server}'
        assert code(market.call('GET', path, READER, headers=NEW)) == (
            404,
            'market.server.not_found',
        )


@pytest.mark.parametrize(
    ('body', 'detail'),
    [
        ({'max_cpu': 99}, 'max_cpu: 99 is more than the 4 vCPUs of the server: give at most 4'),
        ({'max_memory_mib': 5000}, 'max_memory_mib: 5000 is more than the 4096 MiB of the server'),
    ],
)
def test_a_limit_above_what_the_server_has_is_refused(market, body, detail):
    """With the value and the limit; older versions take it, and it limits nothing."""
    wanted = {'cpu': 1, 'memory': 1, **body}
    refused = market.call('PUT', PATH, MEMBER, json=wanted, headers=NEW)
    assert code(refused) == (400, 'market.bid.too_large') and detail in refused.json['message']
    assert market.call('PUT', PATH, MEMBER, json=wanted).status_code == 200


def suggestion(market, query, status=200):
    answer = market.call('GET', f'/v1/bids/suggestion?{query}', READER)
    assert answer.status_code == status, answer.json
    return answer.json['suggestion'] if status == 200 else answer.json['errors'][0]


def test_a_bid_is_suggested_for_cores_or_a_share(market):
    """By the prices of the newest round; what a server has itself is not counted as others'."""
    assert suggestion(market, 'cpu=1', 404)['code'] == 'market.price.not_found'
    add_round(market)
    found = suggestion(market, 'cpu=2')
    price = market.call('GET', '/v1/prices', READER).json['prices'][0]['price']
    # others have 8 of 10 cores: 2 of them cost b with b / (b + 8 p) = 2 / 10
    assert found['cpu']['bid'] == pytest.approx(2 * price, abs=1) and found['memory'] is None
    assert found['why'][0].startswith('cpu: ') and found['period'] == PERIOD
    own = suggestion(market, f'cpu=2&server_id={OF_ALICE}')
    assert own['cpu']['others'] == pytest.approx(found['cpu']['others'] - 2 * price)
    assert suggestion(market, 'share=0.25')['cpu']['amount'] == 2.5
    # all that the server can use: 4 cores, and more memory than this cloud has
    whole = suggestion(market, f'server_id={OF_ALICE}', 400)
    assert 'memory: 4096 MiB: the cloud sells 10' in whole['detail']


@pytest.mark.parametrize(
    ('query', 'status', 'detail'),
    [
        ('', 400, 'give either cpu and memory_mib'),
        ('cpu=1&share=0.1', 400, 'give either cpu and memory_mib'),
        ('cpu=10', 400, 'cpu: 10 cores: the cloud sells 10, and others bid'),
        (f'cpu=5&server_id={OF_ALICE}', 400, 'cpu: 5 is more than the 4 vCPUs of the server'),
        (f'cpu=1&server_id={OF_BOB}', 404, 'there is no server'),
        ('share=25', 400, 'share'),
    ],
)
def test_a_suggestion_that_cannot_be_made(market, query, status, detail):
    """With the value and the limit."""
    add_round(market)
    assert suggestion(market, query, status)['detail'].startswith(detail)
