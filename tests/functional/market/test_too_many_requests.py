# SPDX-License-Identifier: Apache-2.0
"""Clients of ours wait when they have sent too many requests, and send the refused one again (Q1)."""

import time

import pytest

from nova_market.api.request_rates import RequestRates
from nova_market.api.token_bucket import Rate
from tests.support.market.api import make_market
from tests.support.market.api_server import serving_market

pytestmark = [pytest.mark.functional, pytest.mark.clock]


@pytest.fixture
def market_service(database):
    """One list at once, and the next one after five seconds."""
    rates = RequestRates(requests=Rate(per_second=0.8, burst=4.0))
    yield from serving_market(make_market(database, rates=rates, wall=time.time), database)


def test_the_sdk_sends_a_refused_request_again(market_service, connect):
    """Each change is made once, and the caller sees no refusal."""
    market, target = connect('root').market, market_service.project('alice')
    assert [market.grant(target, 1).balance for _ in range(2)] == [1, 2]
    sent = market_service.requests.count(f'POST /market/v1/accounts/{target}/grants')
    assert sent > 2, 'none was refused: the test shows nothing'


def test_a_command_waits_too(market_service, connect, run):
    """Though a program of the same project has used up the bucket."""
    list(connect('alice').market.accounts())
    status, _, errors = run('alice', 'account', 'list')
    assert status == 0, errors
    assert market_service.requests.count('GET /market/v1/accounts') > 2, 'none was refused'
