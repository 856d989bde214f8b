# SPDX-License-Identifier: Apache-2.0
"""Bids through the API (rule B1), and what is refused."""

import pytest

from tests.support.market.api import (
    ALICE,
    ALSO_OF_ALICE,
    BOB,
    DELETED,
    OF_ALICE,
    OF_BOB,
    OPERATOR,
)

pytestmark = pytest.mark.functional

MEMBER, READER, ADMIN = f'member@{ALICE}', f'reader@{ALICE}', f'admin@{OPERATOR}'
PATH = f'/v1/bids/{OF_ALICE}'


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
    assert market.call('GET', '/v1/bids', MEMBER).status_code == 200
