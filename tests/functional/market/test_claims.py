# SPDX-License-Identifier: Apache-2.0
"""M6: the hoarding tax and entitlements that shrink look at all that a project has, in escrow too."""

from dataclasses import replace

import pytest

from nova_market.core.lease.life import LifeSettings, deleted
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import BANK, MINT, Posting, Reason, account
from nova_market.core.market.bid import StoredBid
from nova_market.db.leases import DatabaseLeases
from nova_market.errors import BalanceTooLow
from tests.support.lease_records import HOUR, hold, lease, quota
from tests.support.market_bed import CREDIT, PERIOD, SETTINGS, Market, server

pytestmark = pytest.mark.functional

RED, WEB = account('project', 'red'), account('budget', 'web')
TAX = 100_000
"""Ten percent."""


@pytest.fixture
def market(database):
    """Red has a hundred credits and a budget with nothing in it; it is taxed every tenth period."""
    settings = replace(SETTINGS, tax_rate=TAX, renew_every=10, return_delay=5)
    made = Market(database, settings=settings)
    made.grant('red', 100)
    made.stores.accounts.open([Account(id=WEB, project_id='red', name='web')])
    return made


def transfer(market, debit, credit, amount, key='1'):
    posting = Posting(
        key=f'transfer:0:{key}', reason=Reason.TRANSFER, debit=debit, credit=credit, amount=amount
    )
    market.stores.ledger.post([posting])


def set_aside(market, amount):
    transfer(market, RED, WEB, amount * CREDIT)


def leased(market, amount, name='l'):
    """A lease from the day after tomorrow on, for so many credits."""
    cost = amount * CREDIT
    one = lease(name, 'red', start=market.clock.wall() + 48 * HOUR, cost=cost)
    leases = DatabaseLeases(market.database, market.clock.wall)
    turn, _ = leases.calendar()
    return leases, leases.book(one, turn, [hold(one, cost)], [], quota())


def deleted_at_once(market, leases, one):
    leases.change([deleted(one, market.clock.wall(), LifeSettings(refund=1.0), 'u')])


def has(market):
    """Credits of (the project, its budget, the bank)."""
    found = market.balances()
    return tuple(found[name] / CREDIT for name in (RED, WEB, BANK))


def test_a_budget_and_a_lease_hide_nothing_from_the_tax(market):
    """A tenth of a hundred, of which forty are in the account."""
    set_aside(market, 30)
    leased(market, 30)
    market.run(2)
    assert has(market) == (30, 30, 10)


def test_what_the_account_lacks_comes_from_budgets(market):
    """It has four left, and ten are due."""
    set_aside(market, 56)
    leased(market, 40)
    market.run(2)
    assert has(market) == (0, 50, 10)


def test_who_holds_all_of_it_at_the_renewal_pays_afterwards(market):
    """The lease is deleted between two renewals; the next round takes what is due."""
    leases, one = leased(market, 100)
    market.run(3)
    assert has(market) == (0, 0, 0)
    deleted_at_once(market, leases, one)
    market.run(2)
    assert has(market) == (90, 0, 10)
    market.run(4)
    assert has(market) == (90, 0, 10), 'once'


def test_credits_that_go_from_budget_to_budget_are_taxed(market):
    """All of it, after each decision, so that it is never where the decision has seen it."""
    other = account('budget', 'app')
    market.stores.accounts.open([Account(id=other, project_id='red', name='app')])
    set_aside(market, 100)
    here, there = WEB, other
    for n in range(20):
        market.engine.tick()
        have = market.balances()[here]
        transfer(market, here, there, have, key=f'shuffle-{n}')
        here, there = there, here
        market.clock.advance(PERIOD)
    found = market.balances()
    assert found[BANK] == 19 * CREDIT, 'ten of a hundred, and nine of ninety'
    assert found[RED] + found[WEB] + found[other] == 81 * CREDIT


def test_what_is_claimed_is_not_promised_again(market):
    """A lease over each decision and settlement hides it once; then the tax is taken before the next one."""
    leases, one = leased(market, 100)
    market.run(2)
    assert has(market) == (0, 0, 0)
    assert market.stores.accounts.account(RED).claimed == 10 * CREDIT
    deleted_at_once(market, leases, one)
    with pytest.raises(BalanceTooLow, match='operator claims 10 of them'):
        leased(market, 91, 'm')
    blue = account('project', 'blue')
    market.stores.accounts.open([Account(id=blue, project_id='blue')])
    with pytest.raises(BalanceTooLow, match='operator claims'):
        transfer(market, RED, blue, 91 * CREDIT)
    transfer(market, RED, WEB, 95 * CREDIT, 'own')
    with pytest.raises(BalanceTooLow, match='operator claims'):
        transfer(market, WEB, blue, 91 * CREDIT)
    leased(market, 3, 'm')
    market.run()
    assert has(market) == (0, 87, 10)
    assert market.stores.accounts.account(RED).claimed == 0


def test_servers_of_a_project_with_claims_on_it_bid_on(market):
    """A round holds for a period, and its settlement comes before the claims: nothing is hidden there."""
    market.cloud.put_server(server('r'))
    market.stores.bids.put(
        StoredBid(server_id='r', project_id='red', payer=WEB, cpu=2 * CREDIT, memory=0)
    )
    set_aside(market, 5)
    leased(market, 95)
    market.run()
    market.engine.tick()
    assert has(market) == (0, 0, 5)
    charged = sum(market.stores.ledger.totals(1000, Reason.CHARGE).values())
    due = (100 * CREDIT - charged) // 10
    assert charged and market.stores.accounts.account(RED).claimed == due - (5 * CREDIT - charged)


def test_an_entitlement_is_taken_back_from_what_is_set_aside(database):
    """Red had all of a hundred and has a quarter of it now: its budget gives what its account lacks."""
    settings = replace(SETTINGS, total=100 * CREDIT, renew_every=4, return_delay=5)
    market = Market(database, settings=settings)
    market.stores.accounts.open(
        [
            Account(id=RED, project_id='red', weight=1.0),
            Account(id=WEB, project_id='red', name='web'),
        ]
    )
    market.run(2)
    assert has(market) == (100, 0, 0)
    set_aside(market, 90)
    market.stores.accounts.open(
        [Account(id=account('project', 'blue'), project_id='blue', weight=3.0)]
    )
    market.run(6)
    assert has(market) == (0, 25, 0)
    assert market.balances()[MINT] == -100 * CREDIT, 'the total stays'
    assert market.stores.ledger.discrepancies() == []
