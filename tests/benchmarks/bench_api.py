# SPDX-License-Identifier: Apache-2.0
"""Requests per second of the API with policy and keystonemiddleware's token cache on.

A ratio to the floor: the same application server answering `GET /`, which needs no token, no policy and
no database. In process, one thread, SQLite, 1,000 bids of 100 projects; CPU seconds of
this process, in which the small Nova that is asked for a server's owner runs as well.
"""

import time

import pytest
from flask import Flask
from oslo_context.context import RequestContext
from werkzeug.test import Client

from nova_market.api.request_limits import RequestLimits
from nova_market.api.request_rates import RequestRates
from nova_market.api.token_bucket import Rate
from nova_market.cmd import api as command
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import account
from nova_market.core.market.bid import StoredBid
from tests.support.market.api import OF_ALICE
from tests.support.market.api_server import PEOPLE
from tests.support.market.applications import APP, CREDENTIAL, add_app
from tests.support.market.deployed_api import configured
from tests.support.market.rounds import add_round

pytestmark = pytest.mark.benchmark

COUNT = 100
BID = {'cpu': 3, 'memory': 2}


def rate(client, method, path, token, **more):
    """Requests per CPU second."""
    headers = {'X-Auth-Token': token} if token else {}
    client.open(path, method=method, headers=headers, **more)
    began = time.process_time()
    for _ in range(COUNT):
        answer = client.open(path, method=method, headers=headers, **more)
    assert answer.status_code == 200, answer.text
    return COUNT / (time.process_time() - began)


def reports(client, report):
    """Reports per CPU second; each is a commit."""
    headers = {'OpenStack-API-Version': 'market 1.2', 'X-App-Credential': CREDENTIAL}
    began = time.process_time()
    for _ in range(COUNT):
        answer = client.post(f'/v1/apps/{APP}/reports', headers=headers, **report)
        assert answer.status_code == 204, answer.text
    return COUNT / (time.process_time() - began)


def test_requests_per_second(file, market_service):
    """A short read costs a few times what a request costs at all; a page of 1,000 bids its length."""
    stores = market_service.market.stores
    projects = [account('project', f'{n:032d}') for n in range(100)]
    stores.accounts.open([Account(id=p, project_id=p.partition(':')[2]) for p in projects])
    for number in range(1000):
        payer = projects[number % 100]
        stores.bids.put(
            StoredBid(
                server_id=f'{number:08d}-0000-4000-8000-00000000000a', payer=payer,
                project_id=payer.partition(':')[2], cpu=1, memory=1,
            )
        )  # fmt: skip
    add_round(market_service.market)
    conf = configured(file, response_validation='warn', report_interval=0, request_rate=0)
    client = Client(command.build(conf), Flask.response_class)
    alice, root = PEOPLE['alice'].token, PEOPLE['root'].token
    floor = rate(client, 'GET', '/', '')
    print(f'\nGET / (floor): {floor:.0f} requests per second')
    cases = [
        ('prices', 'GET', '/v1/prices', alice, {}),
        ('one account', 'GET', f'/v1/accounts/{market_service.project("alice")}', alice, {}),
        ('set a bid (asks Nova)', 'PUT', f'/v1/bids/{OF_ALICE}', alice, {'json': BID}),
        ('page of 1,000 bids', 'GET', '/v1/bids?all_projects=true', root, {}),
    ]
    found = {}
    for name, method, path, token, more in cases:
        found[name] = rate(client, method, path, token, **more)
        print(
            f'{name}: {found[name]:.0f} requests per second, {floor / found[name]:.1f} x the floor'
        )
    add_app(market_service.market)
    report = {'json': {'progress': {'total': 100, 'done': 1}}}
    found['report'] = reports(client, report)
    print(
        f'a report of an application: {found["report"]:.0f} per second, '
        f'{floor / found["report"]:.1f} x the floor'
    )
    asked = market_service.requests.count('GET /identity/v3/auth/tokens')
    print(f'Keystone was asked {asked} times')
    assert asked <= 2
    assert floor / found['prices'] < 20


def test_the_cost_of_the_limit(file, market_service):
    """A look into the bucket costs a small part of the shortest request, however many projects ask."""
    client = Client(command.build(configured(file)), Flask.response_class)
    floor = 1 / rate(client, 'GET', '/', '')
    limits = RequestLimits(
        RequestRates(requests=Rate(per_second=100.0, burst=3000.0)), None, time.monotonic
    )
    contexts = [RequestContext(project_id=f'{n:032d}', roles=['member']) for n in range(10_000)]
    for context in contexts:
        limits.request('price_show').before_body(context, 0)
    began = time.process_time()
    for context in contexts:
        limits.request('price_show').before_body(context, 0)
    one = (time.process_time() - began) / len(contexts)
    print(f'\none look into a bucket: {one * 1e6:.1f} us, {one / floor:.4f} x the floor')
    assert one < floor / 10
