# SPDX-License-Identifier: Apache-2.0
"""M3, L6: what leases cost comes back after the delay, to the credit, like what servers cost."""

from dataclasses import replace
from random import Random

import pytest

from nova_market.core.lease.life import LifeSettings, deleted, next_step
from nova_market.core.lease.record import LeaseState
from nova_market.core.ledger.posting import BANK, ESCROW, account
from nova_market.db.leases import DatabaseLeases
from tests.support.lease_records import hold, lease, quota
from tests.support.market_bed import CREDIT, PERIOD, SETTINGS, Market, bidding, server

pytestmark = pytest.mark.functional

RED, BLUE = account('project', 'red'), account('project', 'blue')
DELAY = 3
LIFE = LifeSettings(charge_period=PERIOD * 0.75, refund=0.5)


@pytest.fixture
def market(database):
    """Blue has a server that bids five credits; what is paid comes back after three periods."""
    servers = [server('b', 'blue', metadata=bidding(5))]
    made = Market(database, servers=servers, settings=replace(SETTINGS, return_delay=DELAY))
    for project in ('red', 'blue'):
        made.grant(project, 100)
    return made


def booked(market, name, project, periods, cost=20):
    """A lease from now on, for so many periods and credits."""
    hours = periods * PERIOD / 3600
    cost *= CREDIT
    one = lease(name, project, start=market.clock.wall(), hours=hours, cost=cost)
    leases = DatabaseLeases(market.database, market.clock.wall)
    turn, _ = leases.calendar()
    return leases, leases.book(one, turn, [hold(one, cost)], [], quota())


def charged(market, leases, one):
    """One pass of the service of leases; the lease as it is then."""
    step = next_step(one, market.clock.wall(), {'h0'}, LIFE)
    return leases.change([step])[0] if step else one


def test_what_a_lease_cost_comes_back_after_the_delay(market):
    """Each charge with those of its period; nothing of it stays in the bank."""
    market.run(2)
    leases, one = booked(market, 'l', 'red', periods=4)
    seen = []
    for _ in range(9):
        one = charged(market, leases, one)
        market.run()
        seen.append(market.balances()[RED] // CREDIT)
    assert one.state is LeaseState.ENDED and one.charged == 20 * CREDIT
    assert seen == [80, 80, 80, 80, 80, 83, 87, 95, 100]
    assert market.balances()[BANK] < CREDIT, 'of blue, whose server goes on'


def test_it_is_on_its_way_back_for_the_bids_of_its_payer(market):
    """B3: the wealth of a project has its charges that have not returned, those of leases too."""
    market.run(2)
    leases, one = booked(market, 'l', 'red', periods=1)
    one = charged(market, leases, one)
    market.clock.advance(PERIOD)
    assert charged(market, leases, one).charged == 20 * CREDIT
    market.run(3)
    assert market.decided[-1].inputs.past.carried.coming['red'] == 20 * CREDIT


def test_charges_before_a_market_are_of_no_period(market):
    """Leases without a market: the bank keeps them, and nothing refuses them."""
    leases, one = booked(market, 'l', 'red', periods=1)
    one = charged(market, leases, one)
    market.clock.advance(PERIOD)
    assert charged(market, leases, one).state is LeaseState.ENDED
    assert market.stores.ledger.statement(BANK)[0].posting.key.startswith('charge:0:lease/')


@pytest.mark.parametrize('seed', range(8))
def test_returns_conserve_credits(market, seed):
    """Whenever leases are charged or deleted, and whenever engines sleep: all comes back, and no more."""
    chance = Random(seed)
    market.run()
    leases, live = None, []
    for name in 'abcd':
        leases, one = booked(market, name, chance.choice(('red', 'blue')), chance.randint(1, 9))
        live.append(one)
    for _ in range(40):
        if chance.random() < 0.8:
            market.engine.tick()
        live = [charged(market, leases, one) for one in live]
        if chance.random() < 0.05:
            chosen = chance.choice([one for one in live if not one.over] or [None])
            live = [
                leases.change([deleted(one, market.clock.wall(), LIFE, 'u')])[0]
                if one is chosen
                else one
                for one in live
            ]
        market.clock.advance(chance.choice((5, 20, PERIOD)))
        assert market.stores.ledger.discrepancies() == []
    market.cloud.remove('b')
    market.run(12)
    live = [charged(market, leases, one) for one in live]
    market.run(DELAY + 4)
    assert all(one.over for one in live)
    found = market.balances()
    assert (found[RED], found[BLUE]) == (100 * CREDIT, 100 * CREDIT)
    assert (found[BANK], found[ESCROW]) == (0, 0)
