# SPDX-License-Identifier: Apache-2.0
"""M7: a project has the weight that an administrator has set, and a new one that of the operator's option."""

import logging
from dataclasses import replace

import pytest

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.currency import redistribute
from nova_market.core.ledger.posting import account
from tests.support.market_bed import CREDIT, SETTINGS, Market, server

pytestmark = pytest.mark.functional

RED, BLUE = account('project', 'red'), account('project', 'blue')
RECHARGE = replace(SETTINGS, total=100 * CREDIT, renew_every=4, return_delay=5)


def market_of(database, settings, *servers):
    made = Market(database, servers=list(servers), settings=settings)
    made.stores.accounts.open([Account(id=RED, project_id='red', weight=1.0)])
    return made


def has(market, project):
    """Credits, with what is held for rounds."""
    return market.balance(project) / CREDIT


def test_by_default_a_new_project_is_no_income(database, caplog):
    """Ten projects with a server each get nothing, red all; the log names them once."""
    caplog.set_level(logging.INFO)
    new = [server(f's{n}', f'new{n}', vcpus=1, mib=256) for n in range(9)]
    market = market_of(database, replace(RECHARGE, new_weight=0.0), server('r', vcpus=1), *new)
    market.run(9)
    assert [has(market, f'new{n}') for n in range(9)] == [0] * 9
    assert market.balances()[RED] + market.held()[RED] + market.balances()['bank'] == 100 * CREDIT
    told = [one.getMessage() for one in caplog.records if 'without a weight' in one.message]
    assert len(told) == 1 and 'new0, new1' in told[0]


def test_the_weight_of_the_option_counts_with_the_first_running_server(database):
    """A server that is stopped, or an account without servers, is no entitlement; afterwards it stays."""
    stopped = server('b', 'blue', vcpus=1, status='SHUTOFF')
    market = market_of(database, replace(RECHARGE, new_weight=3.0), server('r', vcpus=1), stopped)
    market.stores.accounts.open([Account(id=account('project', 'green'), project_id='green')])
    market.run(2)
    assert (has(market, 'blue'), has(market, 'green')) == (0, 0)
    market.cloud.put_server(replace(stopped, status='ACTIVE'))
    market.run(2)
    assert has(market, 'blue') > 74 and has(market, 'green') == 0, 'at once, from the others'
    market.cloud.put_server(stopped)
    market.run(12)
    assert has(market, 'blue') == 75
    market.settings = replace(market.settings, total=200 * CREDIT)
    market.rounds = market.runner(market.settings, market.stores)
    market.run(12, market.another('more', market.leader, rounds=market.rounds))
    assert has(market, 'blue') == 150, 'it keeps its weight, and not only what it has'


def test_what_an_administrator_has_set_goes_before(database):
    """A weight, also 0, with running servers or without."""
    market = market_of(database, replace(RECHARGE, new_weight=5.0), server('b', 'blue', vcpus=1))
    market.stores.accounts.open([Account(id=BLUE, project_id='blue')])
    market.stores.accounts.set(BLUE, {'weight': 0.0})
    market.run(3)
    assert (has(market, 'red'), has(market, 'blue')) == (100, 0)
    assert market.stores.accounts.account(BLUE).weight == 0.0


def test_income_is_divided_among_those_who_run_something(database):
    """`redistribute`: a project without weight and without a running server has no part."""
    settings = replace(SETTINGS, currency=redistribute, renew_every=1, new_weight=1.0)
    market = market_of(database, settings, server('b', 'blue', vcpus=1))
    for name in ('green', 'blue'):
        market.grant(name, 10)
    market.run(6)
    assert has(market, 'green') == 10 and has(market, 'red') > 0
