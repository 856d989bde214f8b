# SPDX-License-Identifier: Apache-2.0
"""What a round will charge is held from its decision on: credits that are moved meanwhile change nothing.

Rules M1, M2 and F2 of doc/source/specs/market.rst.
"""

from dataclasses import replace
from itertools import count

import pytest

from nova_market.adapters.leadership import SoleLeader
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.currency import recharge
from nova_market.core.ledger.posting import BANK, ESCROW, Posting, Reason, account
from nova_market.core.market.bid import StoredBid
from nova_market.errors import BalanceTooLow
from nova_market.services.market.rounds import RoundRunner
from tests.support.market_bed import CREDIT, SETTINGS, Market, bidding, server

pytestmark = pytest.mark.functional

RED, BLUE, WEB = account('project', 'red'), account('project', 'blue'), account('budget', 'web')
TICKS = 6
"""Of a period."""

keys = count()


def market_on(base, **more):
    made = Market(
        base,
        servers=[
            server('r', 'red', metadata=bidding(50), mib=1024),
            server('b', 'blue', metadata=bidding(5), mib=1024),
        ],
        settings=replace(SETTINGS, **more),
    )
    made.grant('red', 100)
    made.grant('blue', 100)
    made.stores.accounts.open([Account(id=WEB, project_id='red', name='web')])
    return made


@pytest.fixture
def market(database):
    """Red bids 50 credits, blue 5, on one host of 4 cores; red has a budget with nothing in it."""
    return market_on(database)


def move(market, source, target, amount=None):
    """All it has, or an amount."""
    amount = market.balances()[source] if amount is None else amount
    if amount:
        key = f'transfer:0:{next(keys)}'
        posting = Posting(
            key=key, reason=Reason.TRANSFER, debit=source, credit=target, amount=amount
        )
        market.stores.ledger.post([posting])


def settled(market):
    """An engine that stops when its rounds are over."""
    market.engine.settle()
    return market.balances()


def test_who_moves_his_credits_away_each_period_pays(market):
    """To a budget after the decision, and back before the next one: he gets what he pays for."""
    for _ in range(10):
        market.engine.tick()
        move(market, RED, WEB)
        for _ in range(TICKS):
            market.engine.tick()
            market.clock.advance(SETTINGS.period / TICKS)
        move(market, WEB, RED)
    found = settled(market)
    paid = sum(
        one.charge_cpu + one.charge_memory
        for record in market.stores.history.rounds()
        for one in market.stores.history.allocations(record.period, project_id='red')
    )
    assert paid >= 99 * CREDIT
    assert found[RED] + found[WEB] == 100 * CREDIT - paid
    assert found[ESCROW] == 0
    assert market.cores()['r'] < 0.1


def test_what_is_held_cannot_be_moved(market):
    """The transfer is refused."""
    market.engine.tick()
    assert market.balances()[RED] == 50 * CREDIT
    with pytest.raises(BalanceTooLow, match='has 50 credits left'):
        move(market, RED, WEB, 51 * CREDIT)
    newest = market.stores.ledger.statement(RED)[0]
    assert (newest.posting.reason, newest.change) == (Reason.HOLD, -50 * CREDIT)


def test_a_statement_has_hold_release_and_a_charge_for_each_server(market):
    """Every line's change adds up; holds are released in full."""
    market.run()
    found = settled(market)
    lines = [
        (line.posting.key.split(':', 2)[::2], line.change)
        for line in reversed(market.stores.ledger.statement(RED))
    ]
    assert lines[1:] == [
        (['hold', RED], -50 * CREDIT),
        (['release', RED], 50 * CREDIT),
        (['charge', 'r'], -50 * CREDIT),
    ]
    assert (found[RED], found[ESCROW], found[BANK]) == (50 * CREDIT, 0, 55 * CREDIT)


def test_what_is_not_confirmed_comes_back(market):
    """F2: a host that applies nothing costs nothing, and escrow is empty."""
    market.enforcement.silent.add('a')
    market.run()
    found = settled(market)
    assert (found[RED], found[BLUE], found[ESCROW]) == (100 * CREDIT, 100 * CREDIT, 0)


def test_an_undone_round_gives_back_what_it_held(market):
    """Decided, never sent: the next engine releases everything."""
    market.rounds.decide(market.engine.period())
    assert market.balances()[ESCROW] == 55 * CREDIT
    market.clock.advance(SETTINGS.period)
    found = settled(market)
    assert (found[RED], found[BLUE], found[ESCROW]) == (100 * CREDIT, 100 * CREDIT, 0)


def test_two_engines_hold_and_release_once(market):
    """Both decide, both settle."""
    second = market.another('second', SoleLeader())
    for _ in range(2 * TICKS):
        market.engine.tick()
        second.tick()
        market.clock.advance(SETTINGS.period / TICKS)
    second.settle()
    found = settled(market)
    assert (found[RED], found[BLUE], found[ESCROW]) == (0, 90 * CREDIT, 0)


class Leaking:
    """A round store before whose `begin` the tenant moves credits away, as if he knew the moment."""

    def __init__(self, store, leak):
        self._store, self._leak = store, leak

    def __getattr__(self, name):
        return getattr(self._store, name)

    def begin(self, *arguments):
        self._leak()
        return self._store.begin(*arguments)


def test_moved_away_while_the_round_is_decided(market, caplog):
    """Less is held than is due: his servers get that much less, he pays that much, and the log names him."""
    leak = Leaking(market.stores.rounds, lambda: move(market, RED, WEB, 90 * CREDIT))
    stores = replace(market.stores, rounds=leak)
    parts = (market.cloud, stores, market.enforcement, market.clock, market.settings)
    rounds = RoundRunner(*parts)
    decided = rounds.decide(market.engine.period())
    rounds.send(decided.stored, decided.plan.allocated)
    assert market.cores()['r'] == pytest.approx(4 * 50 / 55 * 10 / 50)
    assert market.cores()['b'] == pytest.approx(4 * 5 / 55)
    assert 'project:red has moved credits away' in caplog.text
    move(market, WEB, RED)
    market.run()
    found = settled(market)
    assert (found[RED], found[ESCROW], found[BANK]) == (90 * CREDIT, 0, 15 * CREDIT)


def budget_pays(market):
    """Red's server is paid by its budget, which has just enough for a period."""
    market.stores.bids.put(
        StoredBid(server_id='r', project_id='red', payer=WEB, cpu=50 * CREDIT, memory=0)
    )
    move(market, RED, WEB, 50 * CREDIT)


def test_a_budget_that_is_closed_while_it_pays(market):
    """All of it is held, so it is empty and can be deleted: its project pays then."""
    budget_pays(market)
    market.engine.tick()
    market.stores.accounts.close(WEB)
    market.run()
    found = settled(market)
    assert (found[RED], found[ESCROW], found[BANK]) == (50 * CREDIT, 0, 55 * CREDIT)


def test_what_a_closed_budget_paid_returns_to_its_project(database):
    """M3: charges go back to who paid them, also when the budget has been deleted since."""
    market = market_on(database, currency=recharge, return_delay=3, renew_every=100)
    budget_pays(market)
    market.run()
    for name in ('r', 'b'):
        market.cloud.remove(name)
    market.run()
    market.stores.accounts.close(WEB)
    market.run(3)
    found = settled(market)
    assert (found[RED], found[BLUE], found[BANK]) == (100 * CREDIT, 100 * CREDIT, 0)
