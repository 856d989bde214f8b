# SPDX-License-Identifier: Apache-2.0
"""How many requests are served of whom: rule Q1 of doc/source/specs/market.rst."""

import json
import re

import pytest
from oslo_context.context import RequestContext
from prometheus_client.parser import text_string_to_metric_families

from nova_market.api import costs
from nova_market.api.errors import ApiError
from nova_market.api.openapi import description
from nova_market.api.refusal_count import RefusalCount
from nova_market.api.request_limits import FEWEST_SWEPT, PAYERS, RequestLimits
from nova_market.api.request_rates import RequestRates
from nova_market.api.routes import ROUTES
from nova_market.api.token_bucket import Rate
from nova_market.db.refusals import DatabaseRefusals
from nova_market.errors import DatabaseUnavailable
from tests.support.market.api import ALICE, BOB, OPERATOR, make_market

pytestmark = pytest.mark.functional

MEMBER, READER, OF_BOB = f'member@{ALICE}', f'reader@{ALICE}', f'member@{BOB}'
WORKER = '00000000-0000-4000-8000-0000000000ff'
TEN = RequestRates(
    requests=Rate(per_second=1.0, burst=10.0),
    worker=Rate(per_second=1.0, burst=2.0),
    reports=Rate(per_second=1.0, burst=1.0),
)
FREE = {'start_date': '2030-01-01T00:00:00', 'end_date': '2030-01-02T00:00:00'}


@pytest.fixture
def limited(database):
    """Ten short reads at once, and one in each second."""
    return make_market(database, rates=TEN, metrics_token='tell-me')


def use_up(market, token, count=10):
    """All that the bucket of a token has."""
    for _ in range(count):
        assert market.call('GET', '/v1/prices', token).status_code == 200


def lease(market, token, project):
    """The status of a call for a lease of Blazar."""
    body = {'context': {'project_id': project}, 'lease': FREE}
    return market.call('POST', '/v1/blazar/check-create', token, json=body).status_code


def too_often(answer):
    """The error of a refusal."""
    assert answer.status_code == 429, answer.text
    (error,) = answer.json['errors']
    assert answer.headers['Retry-After'] == str(error['retry_after'])
    return error


def refused_requests(market):
    """What /metrics has, by kind and project."""
    answer = market.call('GET', '/metrics', headers={'Authorization': 'Bearer tell-me'})
    return {
        (sample.labels['kind'], sample.labels['project']): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.name == 'nova_market_api_refused_requests_total'
    }


def test_each_route_has_its_cost():
    """A new route is refused here until somebody has thought of its cost; no route is named twice."""
    names = [one.name for one in ROUTES]
    listed = [name for text in costs.NAMES.values() for name in text.split()]
    assert sorted(listed) == sorted(names)
    assert {*PAYERS, *costs.COUNTED} <= set(names)
    assert costs.cost_of('a_new_one') == costs.WORK
    paths = description()['paths']
    for route in ROUTES:
        operation = paths[route.path][route.method.lower()]
        assert operation['x-cost'] == costs.COSTS[route.name]
        assert 'Retry-After' in operation['responses']['429']['headers']


def test_each_route_of_a_token_takes_from_the_bucket(database):
    """All routes but those that everybody may ask; the others take from that of whom they name."""
    for route in ROUTES:
        market = make_market(database, rates=TEN)
        if route.public or route.name in PAYERS:
            continue
        use_up(market, MEMBER)
        path = re.sub(r'\{(\w+)\}', '00000000-0000-4000-8000-0000000000ff', route.path)
        headers = {'OpenStack-API-Version': 'market latest'}
        answer = market.call(route.method, path, READER, headers=headers, data=b'no json')
        assert too_often(answer)['code'] == 'market.request.too_often', route.name


def test_a_project_that_asks_too_often_is_refused_and_others_are_not(limited):
    """Whoever of the project asks; with the limit, and when to come again; then it is served."""
    use_up(limited, MEMBER)
    error = too_often(limited.call('GET', '/v1/prices', READER))
    assert error['detail'] == (
        f"project '{ALICE}' may send what costs 1 in a second and 10 at once "
        '([api]request_rate and request_burst), and this request costs 1: send it again in 1 s'
    )
    use_up(limited, OF_BOB)
    limited.wall.now += 1
    use_up(limited, MEMBER, 1)
    assert limited.call('GET', '/v1/prices', READER).status_code == 429
    limited.wall.now += 100
    use_up(limited, MEMBER)
    assert limited.call('GET', '/v1/prices', READER).status_code == 429


def test_what_costs_more_takes_more(limited):
    """A transfer as much as five reads; what costs more than a full bucket is served from a full one."""
    body = {'from': f'project:{ALICE}', 'to': f'project:{BOB}', 'amount': 1}
    assert limited.call('POST', '/v1/transfers', MEMBER, json=body).status_code == 404
    use_up(limited, MEMBER, 5)
    error = too_often(limited.call('POST', '/v1/transfers', MEMBER, json=body))
    assert error['retry_after'] == 5
    limited.wall.now += 10
    ask = {'queue': 'x', 'time_limit': 60, 'resources': {'cores': 1, 'memory_mib': 1}}
    assert limited.call('POST', '/v1/offers', MEMBER, json=ask).status_code < 429
    assert limited.call('GET', '/v1/prices', MEMBER).status_code == 429


def test_long_bodies_cost_more_before_they_are_read(limited):
    """Each 8 KiB as much as a read; one of unknown length as much as the longest."""
    data = b'x' * 3 * costs.BODY
    assert limited.call('POST', '/v1/transfers', MEMBER, data=data).status_code == 400
    use_up(limited, MEMBER, 2)
    assert limited.call('GET', '/v1/prices', MEMBER).status_code == 429
    chunked = {'Transfer-Encoding': 'chunked'}
    answer = limited.call('POST', '/v1/transfers', OF_BOB, headers=chunked, data=b'x')
    assert answer.status_code == 400
    assert limited.call('GET', '/v1/prices', OF_BOB).status_code == 429


@pytest.mark.parametrize(
    ('route', 'body', 'cost'),
    [
        ('job_create', {'jobs': [{'array': 100}, {'array': [1, 5]}, {}]}, 10),
        ('bag_add', {'tasks': [{}] * 25}, 2),
        ('bag_create', {'tasks': [{}] * 9}, 0),
        ('lease_create', {'nodes': 10_000}, 1000),
        ('lease_create', {'hosts': ['a'] * 20}, 2),
        ('offer_create', {'kind': 'server', 'server': {'count': 840}}, 84),
        ('offer_create', {'kind': 'lease', 'lease': {'nodes': 40}}, 4),
        ('transfer_create', {'amount': 10**6}, 0),
    ],
)
def test_many_jobs_tasks_and_nodes_cost_more(route, body, cost):
    """Ten of them as much as a read."""
    assert costs.cost_of_elements(route, body) == cost


def test_an_array_of_jobs_costs_by_its_length(limited):
    """It is counted when its form is known, before anything of it is looked up."""
    entry = {'queue': 'x', 'script': '#!/bin/sh\n', 'time_limit': 60, 'flavor': 'small'}
    jobs = {'jobs': [{**entry, 'array': 50}]}
    assert limited.call('POST', '/v1/jobs', MEMBER, json=jobs).status_code == 400
    assert limited.call('GET', '/v1/prices', MEMBER).status_code == 429


def test_who_acts_for_no_project_has_a_bucket_of_his_own(limited):
    """A token of the whole cloud, and a service: what one has used up is not another's."""
    for token in ('admin@', f'service@{OPERATOR}'):
        for _ in range(10):
            assert limited.call('GET', '/v1/prices', token).status_code in {200, 403}
        error = too_often(limited.call('GET', '/v1/prices', token))
        assert error['detail'].startswith(f"user '{token.partition('@')[0]}-user' may send")
    use_up(limited, f'admin@{OPERATOR}')


def test_a_call_of_blazar_costs_the_project_of_its_lease(limited):
    """One project that leases without end does not keep others from leasing."""
    blazar = f'blazar@{OPERATOR}'
    assert [lease(limited, blazar, ALICE) for _ in range(3)] == [204, 204, 429]
    assert lease(limited, blazar, BOB) == 204
    assert limited.call('GET', '/v1/prices', MEMBER).status_code == 429


def test_who_may_not_call_for_blazar_pays_himself(limited):
    """Nobody uses up what another project has by naming it."""
    assert [lease(limited, OF_BOB, ALICE) for _ in range(3)] == [403, 403, 429]
    use_up(limited, MEMBER)


def test_a_worker_that_sends_too_much_is_refused_by_its_credential(limited):
    """Who does not have it uses up nothing of the worker's: the agent tries again after 429 (JW2)."""

    def message(credential):
        body = {'credential': credential}
        return limited.call('POST', f'/v1/worker/{WORKER}/next', json=body)

    assert [message('wrong').status_code for _ in range(3)] == [401, 401, 429]
    assert message('right').status_code == 401
    limited.wall.now += 1
    assert message('wrong').status_code == 401
    error = too_often(message('wrong'))
    assert '[api]worker_rate and worker_burst' in error['detail']
    assert 'wrong' not in error['detail']


def test_refusals_are_counted_over_all_processes(limited):
    """For the operator, by project; the two processes write to one table, some seconds later."""
    other = make_market(limited.database, rates=TEN, wall=limited.wall, metrics_token='tell-me')
    for market in (limited, other):
        use_up(market, MEMBER)
        for _ in range(3):
            too_often(market.call('GET', '/v1/prices', MEMBER))
    limited.wall.now += 10
    for market in (limited, other):
        market.call('GET', '/v1', '')
    assert refused_requests(limited) == refused_requests(other) == {('project', ALICE): 6}


def test_refusals_are_kept_while_the_database_is_away(limited, monkeypatch):
    """They are counted when it is back, and nobody's request fails for them."""
    use_up(limited, MEMBER)

    def away(*_):
        raise DatabaseUnavailable('away')

    with monkeypatch.context() as broken:
        broken.setattr(limited.stores.refusals, 'add', away)
        too_often(limited.call('GET', '/v1/prices', MEMBER))
    limited.wall.now += 10
    assert limited.call('GET', '/v1', '').status_code == 200
    assert refused_requests(limited) == {('project', ALICE): 1}


def test_a_request_that_finds_no_database_waits_for_it_once(limited, monkeypatch):
    """What was counted is written with another request, so that the thread is free (Q4)."""
    use_up(limited, MEMBER)
    for _ in range(2):  # the first is written at once, the second after a pause
        too_often(limited.call('GET', '/v1/prices', MEMBER))
    limited.wall.now += 10
    tries = []

    def away(*_):
        tries.append(1)
        raise DatabaseUnavailable('away')

    monkeypatch.setattr(limited.stores.refusals, 'add', away)
    monkeypatch.setattr(limited.stores.accounts, 'list', away)
    assert limited.call('GET', '/v1/accounts', MEMBER).status_code == 503
    assert len(tries) == 1


def test_what_takes_longer_than_it_has_paid_is_paid_afterwards(database):
    """The request is served; up to a full bucket is owed, and the next ones wait for it."""
    rates = RequestRates(requests=Rate(per_second=1.0, burst=10.0), unit=0.002)
    now, used = [100.0], [0.0]
    refusals = RefusalCount(DatabaseRefusals(database), lambda: now[0])
    limits = RequestLimits(rates, refusals, lambda: now[0], lambda: used[0])
    whose = RequestContext(project_id='a', roles=['member'])

    def ask(seconds):
        charge = limits.request('price_show')
        try:
            charge.before_body(whose, 0)
            used[0] += seconds
        finally:
            charge.settle()

    ask(0.002)
    ask(0.016)
    ask(7.0)
    with pytest.raises(ApiError) as refused:
        ask(0.0)
    assert refused.value.more == {'retry_after': 11}
    now[0] += 11
    ask(0.0)
    with pytest.raises(ApiError):
        ask(0.0)


def test_each_request_pays_for_the_time_that_it_has_taken(database):
    """Whatever it was thought to cost: of a processor that costs much the first request owes it all."""
    rates = RequestRates(requests=Rate(per_second=1.0, burst=10.0), unit=1e-9)
    market = make_market(database, rates=rates)
    use_up(market, MEMBER, 1)
    too_often(market.call('GET', '/v1/prices', MEMBER))


def test_without_a_rate_nobody_is_limited(database):
    """What [api]request_rate = 0 makes."""
    market = make_market(database, rates=RequestRates())
    use_up(market, MEMBER, 50)


def test_full_buckets_are_forgotten():
    """However many projects there were, those remain that asked lately."""
    now = [0.0]
    limits = RequestLimits(TEN, None, lambda: now[0])
    for number in range(3 * FEWEST_SWEPT):
        whose = RequestContext(project_id=f'{number}', roles=['member'])
        limits.request('price_show').before_body(whose, 0)
        now[0] += 0.01
    assert len(limits) <= FEWEST_SWEPT + 1


def test_the_documentation_has_the_costs():
    """The table of users has what each kind of request costs."""
    with open('doc/source/api/index.rst', encoding='utf-8') as file:
        page = file.read()
    for cost in (costs.READ, costs.PAGE, costs.CHANGE, costs.WORK):
        assert re.search(rf'^ +\* - {cost}$', page, re.MULTILINE), cost
    assert json.dumps(costs.BODY // 1024) + ' KiB' in page
