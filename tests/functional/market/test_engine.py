# SPDX-License-Identifier: Apache-2.0
"""The engine on a real database, a cloud in memory and hosts in memory: rounds, charges, failures."""

import logging
from dataclasses import replace

import pytest

from nova_market.adapters.in_memory.enforcement import MemoryEnforcement
from nova_market.adapters.leadership import SoleLeader
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.currency import recharge, redistribute
from nova_market.core.ledger.posting import BANK, ESCROW, MINT, Reason, account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.carried_state import carried_state
from nova_market.core.market.inventory import Allocation
from nova_market.core.market.record import RoundState
from nova_market.core.resource import HostName
from nova_market.errors import CloudUnavailable, DatabaseUnavailable
from nova_market.services.market.inputs import MAX_SHOWN
from tests.support.market_bed import CREDIT, PERIOD, SETTINGS, Market, bidding, host, server

pytestmark = pytest.mark.functional

RED, BLUE = account('project', 'red'), account('project', 'blue')


@pytest.fixture
def market(database):
    """Two projects, three servers on one host of 4 cores; red bids 3 and 1 credits, blue 2."""
    made = Market(
        database,
        servers=[
            server('r1', 'red', metadata=bidding(3), vcpus=4, mib=1024),
            server('r2', 'red', metadata=bidding(1), vcpus=4, mib=1024),
            server('b1', 'blue', metadata=bidding(2), vcpus=4, mib=1024),
        ],
    )
    made.grant('red', 100)
    made.grant('blue', 100)
    return made


def states(market):
    return [str(record.state) for record in reversed(market.stores.history.rounds())]


def test_bids_become_cores_and_charges(market):
    """Eq. (1): 4 cores are divided 3 : 1 : 2; who gets all that it bid for pays the bid."""
    market.run(2)
    assert market.cores() == pytest.approx({'r1': 2.0, 'r2': 2 / 3, 'b1': 4 / 3})
    assert states(market) == ['settled', 'planned']
    assert (market.balance('red'), market.balance('blue')) == (96 * CREDIT, 98 * CREDIT)
    assert sum(market.balances().values()) == 0


def test_each_round_records_the_economy(market):
    """P4: where the credits are, what was charged, what prices did, and what each project could buy."""
    market.run(3)
    first, second, third = market.stores.history.economy(0, 10**9)
    assert (first.projects, first.bank, first.escrow) == (200 * CREDIT, 0, 0)
    assert (first.charged, second.charged, third.charged) == (6 * CREDIT, 6 * CREDIT, None)
    # the bank's income goes back with each renewal; the first one was with the first round
    assert second.projects + second.bank == third.projects + third.bank == 200 * CREDIT
    assert (first.price_index, third.price_index) == (pytest.approx(100.0), pytest.approx(100.0))
    assert third.base_rounds == 3
    red = market.stores.history.powers(third.period, third.period, 'red')
    # half of what the bank has will come back
    assert [one.wealth for one in red] == [market.balance('red') + third.bank // 2]


def test_the_index_follows_prices(market):
    """Everybody bids twice as much: against the mean of the rounds so far."""
    market.run(2)
    for name, bid in (('r1', 6), ('r2', 2), ('b1', 4)):
        market.cloud.put_server(
            replace(next(s for s in market.cloud.servers() if s.id == name), metadata=bidding(bid))
        )
    market.run()
    newest = market.stores.history.economy(0, 10**9)[-1]
    assert newest.price_index == pytest.approx(100 * 2 / (4 / 3), rel=1e-6)


def test_what_was_not_carried_out_is_not_charged(market):
    """No host confirms: the round is undone, and its economy says so."""
    market.enforcement.silent.add(HostName('a'))
    market.run(2)
    assert [one.charged for one in market.stores.history.economy(0, 10**9)] == [0, None]


def test_the_round_explains_itself(market):
    """A4: inputs, where a bid came from, reasons, and allocations with error and charge."""
    market.run()
    period = market.clock.wall() // PERIOD - 1
    found = market.stores.history.round(period)
    line = next(line for line in found.document['servers'] if line['id'] == 'r1')
    assert line['source'] == ['server', 'server']
    assert line['bid'] == [3 * CREDIT, 0]
    assert [h['capacity'] for h in found.document['hosts']] == [[4.0, 8192.0]]
    assert {p['id']: p['due'] for p in found.document['payers']} == {
        RED: 4 * CREDIT, BLUE: 2 * CREDIT,
    }  # fmt: skip
    prices = market.stores.history.prices(period, period)
    assert {p.resource: (p.price, p.allocated) for p in prices}['cpu'] == pytest.approx(
        (1.5 * CREDIT, 4.0)
    )


def test_a_bid_of_the_tenant_goes_before_metadata(market):
    """B1: the stored bid counts in the next round, each change at once."""
    market.run()
    market.stores.bids.put(
        StoredBid(server_id='b1', project_id='blue', payer=BLUE, cpu=12 * CREDIT, memory=0)
    )
    market.run()
    assert market.cores() == pytest.approx({'r1': 0.75, 'r2': 0.25, 'b1': 3.0})


def test_a_bid_of_another_project_does_not_count(market):
    """Nobody spends for somebody else's server, nor with somebody else's money."""
    market.stores.bids.put(
        StoredBid(server_id='b1', project_id='red', payer=RED, cpu=12 * CREDIT, memory=0)
    )
    market.stores.bids.put(
        StoredBid(server_id='r1', project_id='red', payer=BLUE, cpu=3 * CREDIT, memory=0)
    )
    market.run(2)
    assert market.cores() == pytest.approx({'r1': 2.0, 'r2': 2 / 3, 'b1': 4 / 3})
    assert (market.balance('red'), market.balance('blue')) == (96 * CREDIT, 98 * CREDIT)


def test_flavor_and_hint_and_typo(market):
    """B1: hints, then extra specs; what is no number is a note in the round, not a failure."""
    market.cloud.put_server(server('h', 'blue', hints=bidding(4), extra_specs=bidding(1), mib=1024))
    market.cloud.put_server(
        server('f', 'blue', metadata={'market:bid_cpu': 'lots'}, extra_specs=bidding(2), mib=1024)
    )
    market.run()
    document = market.decided[-1].stored.document
    lines = {line['id']: line for line in document['servers']}
    assert (lines['h']['bid'][0], lines['h']['source'][0]) == (4 * CREDIT, 'server')
    assert (lines['f']['bid'][0], lines['f']['source'][0]) == (2 * CREDIT, 'flavor')
    assert 'lots' in lines['f']['note']


def test_limits_of_a_server(market):
    """a_max is the flavor's, or the lower value of extra specs, metadata and bid."""
    market.cloud.put_server(
        server('r1', 'red', metadata=bidding(3) | {'market:max_cpu': '0.5'}, mib=1024)
    )
    market.run()
    assert market.cores()['r1'] == 0.5


def test_who_cannot_pay_is_scaled_down_and_notified_once(database):
    """B2, F4: its servers run on with less; M4: one notice, not one a round."""
    market = Market(
        database,
        servers=[
            server('r', 'red', metadata=bidding(6), mib=1024),
            server('b', 'blue', metadata=bidding(2), mib=1024),
        ],
        settings=replace(SETTINGS, notice=3),
    )
    market.grant('red', 14)
    market.grant('blue', 1000)
    market.run(5)
    events = [(event, project) for event, project, _ in market.notices.sent]
    assert events == [('market.credit.low', 'red'), ('market.bid.scaled', 'red')]
    assert market.balance('red') <= 1
    assert market.cores() == pytest.approx({'r': 0.0, 'b': 4.0}, abs=1e-5)
    assert [s.id for s in market.cloud.servers()] == ['b', 'r']


def test_what_is_not_confirmed_is_not_charged(market):
    """F2: a host whose service is away keeps what it has, and nobody pays for that period."""
    market.enforcement.silent.add('a')
    market.run(2)
    assert (market.balance('red'), market.balance('blue')) == (100 * CREDIT, 100 * CREDIT)
    market.enforcement.silent.clear()
    market.run(2)
    assert market.balance('blue') == 98 * CREDIT


def test_a_host_that_does_not_answer_takes_no_part(market):
    """F2: its servers keep their last allocation; the price is made without it."""
    market.run()
    market.cloud.put_host(host(answering=False))
    market.run(2)
    assert market.cores() == pytest.approx({'r1': 2.0, 'r2': 2 / 3, 'b1': 4 / 3})
    assert market.balance('blue') == 98 * CREDIT
    assert 'does not answer' in market.decided[-1].stored.document['servers'][0]['reasons'][-1]


@pytest.mark.parametrize(
    ('status', 'cores'),
    [
        ('ERROR', 0.0), ('PAUSED', 0.0), ('REBUILD', 0.0), ('SUSPENDED', 0.0), ('UNKNOWN', 0.0),
        ('SHUTOFF', None), ('BUILD', None),
    ],
)  # fmt: skip
def test_a_server_that_is_halted_when_a_round_is_decided_gets_nothing_of_it(market, status, cores):
    """F6: it is not charged, and its host is sent that. A server that begins anew is not sent (A5)."""
    for name, state in (('r1', status), ('b1', 'PAUSED')):
        (one,) = (each for each in market.cloud.servers() if each.id == name)
        market.cloud.put_server(replace(one, status=state))
    market.run(2)
    assert market.cores().get('r1') == cores
    assert (market.cores()['r2'], market.cores()['b1']) == (4.0, 0.0)
    assert market.balance('blue') == 100 * CREDIT
    first = market.stores.history.allocations(market.decided[0].inputs.period)
    assert [(one.server_id, one.confirmed) for one in first] == [('r2', True)]
    assert states(market) == ['settled', 'planned']


def test_a_host_that_confirms_what_it_was_not_sent(market):
    """A server that has moved within the period is told by the next round, and charged from then on."""
    market.enforcement.silent.add(HostName('a'))
    market.engine.tick()
    there = [Allocation(server_id='b1', cores=1.0, memory_mib=0.0)]
    market.enforcement.send(market.engine.period(), 0.0, {HostName('b'): there})
    market.run(2)
    assert market.balance('blue') == 100 * CREDIT


def test_without_credits_everybody_runs_on(database):
    """A cloud where nobody has been granted anything: accounts are opened, allocations are nothing."""
    market = Market(database, servers=[server('r'), server('b', 'blue')])
    market.run(2)
    assert market.balances() == {BANK: 0, ESCROW: 0, MINT: 0, RED: 0, BLUE: 0}
    assert market.cores() == {'r': 0.0, 'b': 0.0}


def test_default_bids_follow_the_price(database):
    """B1: who says nothing bids the price times a_max, at first the reserve price, and gets it."""
    market = Market(database, servers=[server('r', vcpus=2)])
    market.grant('red', 1)
    market.run(2)
    assert market.cores() == {'r': 2.0}
    price = SETTINGS.reserve
    assert market.balance('red') == CREDIT - 2 * price[0] - 4096 * price[1]


def test_new_projects_without_a_weight_are_named(database, caplog):
    """The first ones, and how many more there are."""
    caplog.set_level(logging.INFO)
    found = [server(f's{n}', f'p{n:02}') for n in range(MAX_SHOWN + 2)]
    Market(database, servers=found, settings=replace(SETTINGS, new_weight=0.0)).run()
    (line,) = [one for one in caplog.messages if 'new projects' in one]
    assert 'p00, p01, ' in line and line.endswith(f'p{MAX_SHOWN - 1} and 2 more')


@pytest.mark.parametrize('error', [CloudUnavailable('gone'), DatabaseUnavailable('gone')])
def test_an_outage_is_logged_once(market, error, caplog):
    """F3: rounds are skipped, and go on by themselves."""
    rounds, decide = market.rounds, market.rounds.decide

    def fail(period):
        raise error

    rounds.decide = fail
    market.run(3)
    assert len([r for r in caplog.records if 'skipped' in r.message]) == 1
    assert market.engine.outage == 'gone'
    rounds.decide = decide
    market.run()
    assert market.engine.outage == ''
    assert states(market) == ['planned']


def test_a_round_that_nobody_has_sent_is_undone(market):
    """F1: its engine died before the hosts heard of it."""
    market.rounds.decide(market.engine.period())
    market.clock.advance(PERIOD)
    market.run(2, market.another('second', SoleLeader()))
    assert states(market) == ['undone', 'settled', 'planned']
    assert market.balance('blue') == 98 * CREDIT


def test_a_standby_goes_on_with_the_round_of_this_period(market):
    """F1: the hosts are told what the first leader had decided, not something new."""
    market.engine.tick()
    market.leader.leads = False
    market.engine.tick()
    second = market.another('second', SoleLeader())
    market.run(2, second)
    assert states(market) == ['settled', 'planned']
    leaders = [record.leader for record in market.stores.history.rounds()]
    assert leaders == ['second', 'engine']
    assert market.balance('blue') == 98 * CREDIT


def test_two_that_both_think_they_lead(market):
    """The first that stores a round decides it, and nobody pays twice."""
    second = market.another('second', SoleLeader())
    for _ in range(24):
        market.engine.tick()
        second.tick()
        market.clock.advance(PERIOD / 6)
    assert states(market) == ['settled'] * 3 + ['planned']
    assert (market.balance('red'), market.balance('blue')) == (88 * CREDIT, 94 * CREDIT)


def test_the_clock_steps_back(market):
    """Rounds of periods that were settled stay as they are, and nothing is charged again."""
    market.run(3)
    before = market.balances()
    market.clock.set_wall(market.clock.wall() - 2 * PERIOD)
    market.run()
    assert market.balances() == before
    market.run(3)
    assert sum(market.balances().values()) == 0


def test_recharge_gives_by_weight_and_returns(database):
    """M3: the total by weight once, and charges come back after the delay: the issued sum stands still."""
    market = Market(
        database,
        servers=[
            server('r', 'red', metadata=bidding(1), mib=1024),
            server('b', 'blue', metadata=bidding(3), mib=1024),
        ],
        settings=replace(
            SETTINGS, currency=recharge, total=100 * CREDIT, renew_every=2, return_delay=2
        ),
    )
    market.stores.accounts.open([Account(id=RED, project_id='red', weight=4.0)])
    market.run(12)
    found = market.balances()
    assert found[MINT] == -100 * CREDIT
    assert found[RED] + found[BLUE] + found[BANK] + found[ESCROW] == 100 * CREDIT
    assert found[BANK] == 2 * 4 * CREDIT
    assert carried_state(market.decided[-1].stored.document).entitled == {
        'red': 80 * CREDIT, 'blue': 20 * CREDIT,
    }  # fmt: skip


def test_redistribute_splits_the_income(database):
    """M3, RR-7837: what servers paid goes to all projects by weight; nothing is minted."""
    market = Market(
        database,
        servers=[server(name, 'red', metadata=bidding(1), mib=1024) for name in ('r', 's')],
        settings=replace(SETTINGS, currency=redistribute, renew_every=1),
    )
    market.grant('red', 10)
    market.grant('blue', 0.000001)
    market.stores.accounts.set(BLUE, {'weight': 1.0})
    market.run(4)
    found = market.balances()
    assert found[MINT] == -(10 * CREDIT + 1)
    assert found[BLUE] > CREDIT
    assert sum(found.values()) == 0


def test_budgets_are_filled_and_pay(market):
    """M4: an automatic budget is filled up to its target and pays for the servers that name it."""
    budget = account('budget', 'web')
    market.stores.accounts.open(
        [Account(id=budget, project_id='red', renew_amount=5 * CREDIT, renew_every=1)]
    )
    market.stores.bids.put(
        StoredBid(server_id='r1', project_id='red', payer=budget, cpu=3 * CREDIT, memory=0)
    )
    market.run(4)
    lines = market.stores.ledger.statement(budget)
    assert {line.posting.reason for line in lines} == {
        Reason.BUDGET, Reason.CHARGE, Reason.HOLD, Reason.RELEASE,
    }  # fmt: skip
    assert sum(market.balances().values()) == 0
    assert market.balances()[budget] + market.held()[budget] == 5 * CREDIT


def test_rounds_go_on_where_the_last_engine_ended(market):
    """P2, F2: prices, demand and allocations are in the database, not in the engine."""
    market.run(2)
    market.cloud.put_host(host('b', answering=False))
    market.engine = market.another('new', SoleLeader())
    market.run()
    decided = market.decided[-1]
    assert decided.inputs.past.price[0] == pytest.approx(1.5 * CREDIT)
    assert decided.inputs.past.demand[0] == pytest.approx(4.0)
    assert decided.inputs.past.allocated['r1'][0] == pytest.approx(2.0)


def test_an_undone_round_is_not_gone_on_from(market):
    """What was never carried out is no last price."""
    market.rounds.decide(market.engine.period())
    market.clock.advance(PERIOD)
    market.run()
    assert market.decided[-1].inputs.past.period == 0
    assert [r.state for r in market.stores.history.rounds()][-1] == RoundState.UNDONE


def newest(market):
    """The document of the newest round, and its prices by resource."""
    record = market.stores.history.rounds(limit=1)[0]
    prices = market.stores.history.prices(record.period, record.period)
    return market.stores.history.round(record.period), {one.resource: one for one in prices}


@pytest.fixture
def remembering(database):
    """As `market`, and everybody bids for memory too, of which there is too little for all."""
    made = Market(
        database,
        hosts=[host(mib=2048.0)],
        servers=[
            server('r1', 'red', metadata=bidding(2, 1), vcpus=4, mib=2048),
            server('b1', 'blue', metadata=bidding(2, 1), vcpus=4, mib=2048),
        ],
    )
    made.grant('red', 100)
    made.grant('blue', 100)
    return made


def test_memory_that_hosts_do_not_control_is_not_charged(remembering):
    """B5: it has no price, each server has its flavor's, and only CPU is paid for."""
    remembering.enforcement.controls = frozenset({'cpu'})
    remembering.run(2)
    record, prices = newest(remembering)
    assert set(prices) == {'cpu'}
    assert record.document['hosts'][0]['enforced'] == ['cpu']
    lines = remembering.stores.history.allocations(record.period)
    assert [(one.actual_memory_mib, one.ideal_memory_mib) for one in lines] == [
        (2048.0, 2048.0)
    ] * 2
    assert [(one.charge_memory, one.error) for one in lines] == [(0, 0.0)] * 2
    assert all('memory is not sold' in line['reasons'][-1] for line in record.document['servers'])
    assert [one['bids'] for one in record.document['payers']] == [2 * CREDIT] * 2
    assert remembering.balance('red') == 98 * CREDIT


def test_memory_is_sold_as_soon_as_hosts_control_it(remembering):
    """And not any more when they do not: what was not controlled in its period is not charged."""
    remembering.run(2)
    assert set(newest(remembering)[1]) == {'cpu', 'memory'}
    assert remembering.balance('red') == 97 * CREDIT
    # the third round is decided when hosts control memory, and carried out when they do not
    third, send = remembering.engine.period(), remembering.enforcement.send

    def send_to_changed_hosts(*message):
        remembering.enforcement.controls = frozenset({'cpu'})
        send(*message)

    remembering.enforcement.send = send_to_changed_hosts
    remembering.run(2)
    assert {one.charge_memory for one in remembering.stores.history.allocations(third)} == {0}
    assert remembering.balance('red') == (97 - 3 - 2) * CREDIT


def test_a_new_leader_knows_what_hosts_enforce(remembering):
    """From the round that was stored last, until hosts report to it."""
    remembering.enforcement.controls = frozenset({'cpu', 'memory'})
    remembering.run(1)
    remembering.enforcement = Unheard()
    successor = remembering.another('second', SoleLeader())
    successor.start()
    remembering.run(1, successor)
    assert remembering.decided[-1].inputs.snapshot.sells.all()


class Unheard(MemoryEnforcement):
    """Hosts of which this engine has heard nothing."""

    def enforced(self, hosts):
        return {}
