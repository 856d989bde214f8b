# SPDX-License-Identifier: Apache-2.0
"""Accounts, grants, transfers, budgets and statements through the API."""

import pytest

from tests.fixtures.market_api import ALICE, BOB, OPERATOR, market  # noqa: F401

pytestmark = pytest.mark.functional

ADMIN = f'admin@{OPERATOR}'
MEMBER, MANAGER, READER = f'member@{ALICE}', f'manager@{ALICE}', f'reader@{ALICE}'
OWN, OTHER = f'project:{ALICE}', f'project:{BOB}'


def code(response):
    return response.status_code, response.json['errors'][0]['code']


@pytest.fixture
def funded(market):  # noqa: F811
    """Alice has 1,000 micro-credits, Bob 500."""
    for name, amount in ((OWN, 1000), (OTHER, 500)):
        answer = market.call('POST', f'/v1/accounts/{name}/grants', ADMIN, json={'amount': amount})
        assert answer.status_code == 201, answer.text
    return market


def transfer(market, token, source, target, amount, key=None):  # noqa: F811
    headers = {'Idempotency-Key': key} if key else {}
    return market.call(
        'POST', '/v1/transfers', token, headers=headers,
        json={'from': source, 'to': target, 'amount': amount},
    )  # fmt: skip


def balance(market, name):  # noqa: F811
    return market.call('GET', f'/v1/accounts/{name}', ADMIN).json['account']['balance']


def test_a_grant_opens_the_account_and_shows_in_the_statement(funded):
    """What was granted is there, and the statement says who gave it."""
    assert balance(funded, OWN) == 1000
    assert balance(funded, 'mint') == -1500
    lines = funded.call('GET', f'/v1/accounts/{OWN}/statement', READER).json['postings']
    assert [(line['debit'], line['change'], line['by']) for line in lines] == [
        ('mint', 1000, 'admin-user')
    ]
