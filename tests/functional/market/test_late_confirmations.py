# SPDX-License-Identifier: Apache-2.0
"""What ran in a period is charged although its host's confirmation comes after the period: rule F2."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from nova_market.adapters.in_memory.enforcement import MemoryEnforcement
from nova_market.adapters.leadership import SoleLeader
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.currency import recharge
from nova_market.core.ledger.posting import BANK, ESCROW, Posting, Reason, account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.delivery import LATE
from nova_market.core.market.round_document import stored_postings
from nova_market.errors import DatabaseUnavailable
from tests.support.market_bed import CREDIT, SETTINGS, Market, bidding, host, server

pytestmark = pytest.mark.functional

RED, BLUE = account('project', 'red'), account('project', 'blue')


class Hosts(MemoryEnforcement):
    """strange: hosts that have confirmed nothing to this engine; since: host -> when it applies all."""

    def __init__(self):
        super().__init__(controls=('cpu',))
        self.strange, self.since = set(), {}

    def enforced(self, hosts):
        return super().enforced(host for host in hosts if host not in self.strange)

    def confirmed(self, period):
        found = super().confirmed(period)
        return {s: replace(one, since=self.since.get(one.host, 0.0)) for s, one in found.items()}


def market_on(base, **more):
    """Red on host a bids 4 credits, blue on host b 4, and each gets its host."""
    made = Market(
        base,
        hosts=[host('a'), host('b')],
        servers=[
            server('r', 'red', 'a', metadata=bidding(4), vcpus=8, mib=1024),
            server('b', 'blue', 'b', metadata=bidding(4), vcpus=8, mib=1024),
        ],
        settings=replace(SETTINGS, **more),
    )
    made.enforcement = Hosts()
    made.grant('red', 100)
    made.grant('blue', 100)
    take_over(made, 'first')
    return made


def take_over(market, name):
    """From now on this engine leads, on the hosts that the market has now."""
    market.engine = market.another(name, SoleLeader())
    market.engine.start()


@pytest.fixture
def market(database):
    return market_on(database)


def charged(market, period):
    """Payer -> what a period has charged it."""
    return {
        payer: amount / CREDIT
        for (payer, _), amount in market.stores.ledger.totals(period, Reason.CHARGE).items()
    }


def states(market):
    return [str(record.state) for record in reversed(market.stores.history.rounds())]


@pytest.mark.parametrize('periods', range(1, LATE + 1))
def test_a_period_that_is_confirmed_late_is_charged_once(market, periods):
    """Within three periods; until then what was held from its payer stays held, and nobody else waits."""
    first = market.engine.period()
    market.enforcement.unheard.add('a')
    market.run(1 + periods)
    assert charged(market, first) == {BLUE: 4.0}
    assert states(market)[0] == 'applied'
    (economy,) = market.stores.history.economy(first, first)
    assert economy.charged == 4 * CREDIT
    market.enforcement.unheard.clear()
    market.run(LATE)
    assert charged(market, first) == {RED: 4.0, BLUE: 4.0}
    assert states(market)[0] == 'settled'
    (economy,) = market.stores.history.economy(first, first)
    assert economy.charged == 8 * CREDIT
    market.engine.settle()
    done = 1 + periods + LATE
    found = market.balances()
    assert (found[RED], found[BLUE]) == ((100 - 4 * done) * CREDIT, (100 - 4 * done) * CREDIT)
    assert (found[ESCROW], found[BANK]) == (0, 8 * done * CREDIT)


def test_what_nobody_confirms_comes_back_when_allocations_have_expired(market):
    """F3: three periods after its own; a confirmation that comes then changes nothing any more."""
    first = market.engine.period()
    market.enforcement.unheard.add('a')
    market.run(LATE + 1)
    assert market.balances()[RED] == (100 - 4 * (LATE + 1)) * CREDIT, 'it is held until then'
    market.engine.tick()
    assert states(market)[0] == 'settled'
    assert charged(market, first) == {BLUE: 4.0}
    market.enforcement.unheard.clear()
    market.run(1)
    assert charged(market, first) == {BLUE: 4.0}


def test_an_engine_that_did_not_send_a_round_does_not_wait_for_it(market):
    """F1: it has no confirmations of it: what was stored until now counts."""
    first = market.engine.period()
    market.enforcement.unheard.add('a')
    market.run(2)
    assert states(market)[0] == 'applied'
    take_over(market, 'second')
    market.engine.tick()
    assert states(market)[0] == 'settled'
    market.enforcement.unheard.clear()
    market.run(3)
    assert charged(market, first) == {BLUE: 4.0}
    assert sum(market.balances().values()) == 0


def test_nobody_waits_for_a_host_that_never_confirms(market):
    """Nothing that confirms runs there; the credits of its payers are not kept for it."""
    market.enforcement.strange.add('a')
    market.enforcement.unheard.add('a')
    first = market.engine.period()
    market.run(2)
    assert states(market) == ['settled', 'planned']
    assert charged(market, first) == {BLUE: 4.0}
    market.enforcement.unheard.clear()
    market.run(1)
    (line,) = market.stores.history.allocations(first, project_id='red')
    assert (line.confirmed, charged(market, first)) == (False, {BLUE: 4.0}), 'it is too late'


def test_a_host_that_has_confirmed_to_an_engine_before_is_waited_for(market):
    """An engine that takes over has no message of it yet; the round that was stored last knows it."""
    market.run(1)
    market.enforcement = Hosts()
    market.enforcement.strange |= {'a', 'b'}
    market.enforcement.unheard.add('a')
    take_over(market, 'second')
    first = market.engine.period()
    market.run(2)
    assert charged(market, first) == {BLUE: 4.0}
    market.enforcement.unheard.clear()
    market.run(1)
    assert charged(market, first) == {RED: 4.0, BLUE: 4.0}


def test_who_was_settled_is_not_charged_when_others_are(market):
    """Nobody waits for the host of blue's server, so its credits come back; it confirms too late."""
    first = market.engine.period()
    market.enforcement.strange.add('b')
    market.enforcement.unheard |= {'a', 'b'}
    market.run(2)
    released = market.stores.ledger.totals(first, Reason.RELEASE)
    assert released == {(ESCROW, BLUE): 4 * CREDIT}
    market.enforcement.unheard.clear()
    market.run(1)
    assert charged(market, first) == {RED: 4.0}
    (line,) = market.stores.history.allocations(first, project_id='blue')
    assert not line.confirmed


def test_a_budget_that_was_closed_is_settled_once(market, caplog):
    """Its project took its place when it was settled; that is no warning each time others are."""
    web = account('budget', 'web')
    market.stores.accounts.open([Account(id=web, project_id='blue')])
    gift = Posting(key='t:0:1', reason=Reason.TRANSFER, debit=BLUE, credit=web, amount=4 * CREDIT)
    market.stores.ledger.post([gift])
    market.stores.bids.put(
        StoredBid(server_id='b', project_id='blue', payer=web, cpu=4 * CREDIT, memory=0)
    )
    market.enforcement.unheard.add('a')
    first = market.engine.period()
    market.engine.tick()
    market.stores.bids.remove(['b'])
    market.stores.accounts.close(web)
    market.run(LATE + 1)
    assert charged(market, first) == {BLUE: 4.0}
    assert not [one for one in caplog.records if one.levelname == 'WARNING']


@pytest.mark.parametrize('heard', [0, 1, 2, 3])
def test_what_was_in_force_only_after_its_period_is_not_charged(market, heard):
    """Whenever the engine learns of it: its host had the allocations when the period was over."""
    first = market.engine.period()
    market.enforcement.since['a'] = (first + 1) * SETTINGS.period
    market.enforcement.unheard.add('a')
    market.run(heard)
    market.enforcement.unheard.clear()
    market.run(LATE + 2 - heard)
    market.engine.tick()
    assert states(market)[0] == 'settled' and charged(market, first) == {BLUE: 4.0}


def test_a_period_that_is_confirmed_while_no_round_can_be_decided_is_charged(market):
    """The cloud is away for two periods when it is confirmed."""
    first = market.engine.period()
    market.enforcement.unheard.add('a')
    market.run(1)
    market.cloud.available = False
    market.run(1)
    market.enforcement.unheard.clear()
    market.run(1)
    assert charged(market, first) == {RED: 4.0, BLUE: 4.0}
    market.cloud.available = True
    market.run(1)
    assert states(market) == ['settled', 'planned']


def test_a_database_that_fails_while_a_late_round_is_settled_changes_nothing(market):
    """The turn is done again: each posting is made once."""
    first, economies = market.engine.period(), market.stores.rounds.charged
    market.enforcement.unheard.add('a')
    market.run(2)
    market.enforcement.unheard.clear()
    failures = iter([DatabaseUnavailable('gone')] * 2)

    def fail_twice(*values):
        for error in failures:
            raise error
        economies(*values)

    market.stores.rounds.charged = fail_twice
    market.run(2)
    assert charged(market, first) == {RED: 4.0, BLUE: 4.0}
    assert states(market)[:2] == ['settled'] * 2
    assert sum(market.balances().values()) == 0


def test_what_the_currency_could_not_post_is_not_posted_later(market):
    """M4: red has moved away what was to fill its budget, and the next round was decided with that."""
    web = account('budget', 'web')
    budget = Account(id=web, project_id='red', renew_amount=5 * CREDIT, renew_every=1)
    market.stores.accounts.open([budget])
    market.enforcement.unheard.add('a')
    first = market.engine.period()
    market.engine.tick()
    gift = Posting(key='t:0:1', reason=Reason.TRANSFER, debit=RED, credit=BLUE, amount=96 * CREDIT)
    market.stores.ledger.post([gift])
    market.run(1)
    market.engine.tick()
    market.grant('red', 100)
    market.run(1)
    (planned,) = stored_postings(market.stores.history.round(first).document)
    market.engine.tick()
    assert (planned.credit, planned.amount) == (web, 5 * CREDIT)
    assert market.stores.ledger.posted([planned.key]) == {}


def test_late_charges_go_back_like_others(database):
    """M3: also with a delay that is shorter than the wait."""
    market = market_on(
        database, currency=recharge, return_delay=1, total=200 * CREDIT, renew_every=100
    )
    market.enforcement.unheard.add('a')
    market.run(3)
    market.enforcement.unheard.clear()
    market.run(LATE + 4)
    market.engine.settle()
    found = market.balances()
    assert found[ESCROW] == 0 and sum(found.values()) == 0
    assert found[BANK] == 8 * CREDIT, 'the charges of the last period'


HALF = SETTINGS.period / 2
ON_TIME = 2 * (LATE + 1)
"""Half periods from the beginning of a period until its confirmations are too late."""

NEVER = 10**6
PAYER = {'a': RED, 'b': RED, 'c': BLUE}
EACH = Counter({RED: 8, BLUE: 4})
"""Credits that a period charges when all hosts confirm it."""

delays = st.lists(
    st.tuples(*[st.integers(0, ON_TIME - 1) | st.none()] * 3, st.sampled_from('aab-')),
    min_size=1,
    max_size=3,
)
"""For each period: half periods until a, b and c are heard, None: never; a host that applies it too late."""


class Delayed(MemoryEnforcement):
    """Hosts whose confirmations arrive at their times. arrival, since: (period, host) -> when"""

    def __init__(self, clock):
        super().__init__(controls=('cpu',))
        self._clock = clock
        self.arrival, self.since = {}, {}

    def confirmed(self, period):
        return {
            server: replace(one, since=self.since.get((period, one.host), 0.0))
            for server, one in super().confirmed(period).items()
            if self.arrival.get((period, one.host), 0.0) <= self._clock.wall()
        }


def test_what_a_period_charges_does_not_depend_on_when_hosts_confirm(database):
    """Each server once, however late and in whatever order hosts are heard, within three periods."""
    market = Market(
        database,
        hosts=[host(name) for name in 'abc'],
        servers=[
            server(f'{owner}-{name}', owner, name, metadata=bidding(4), vcpus=8, mib=1024)
            for owner, name in (('red', 'a'), ('red', 'b'), ('blue', 'c'))
        ],
        settings=replace(SETTINGS, renew_every=10**6),
    )
    market.enforcement = Delayed(market.clock)
    market.grant('red', 100_000)
    market.grant('blue', 100_000)
    take_over(market, 'first')
    spent = Counter()

    @settings(max_examples=10, phases=[Phase.generate])  # each example goes on from the one before
    @given(delays)
    def check(drawn):
        begin, due = market.engine.period(), {}
        for period, (*halves, slow) in enumerate(drawn, begin):
            due[period] = Counter()
            for name, half in zip('abc', halves, strict=True):
                # a host that has its allocations when the period is over can be heard only then
                late = name == slow and half is not None and half >= 2
                arrival = period * SETTINGS.period + HALF * (NEVER if half is None else half)
                market.enforcement.arrival[period, name] = arrival
                market.enforcement.since[period, name] = (period + late) * SETTINGS.period
                due[period][PAYER[name]] += 0 if half is None or late else 4
        for _ in range(2 * (len(drawn) + LATE + 1)):
            market.engine.tick()
            market.clock.advance(HALF)
        for period in range(begin, market.engine.period() - 1):
            wanted = due.get(period, EACH)
            assert Counter(charged(market, period)) == wanted
            spent.update(wanted)
        spent.update(EACH)  # of the round that goes on

    market.run(1)
    spent.update(EACH)
    check()
    market.engine.settle()
    found = market.balances()
    assert (found[ESCROW], sum(found.values())) == (0, 0)
    assert (found[RED], found[BLUE]) == tuple(
        (100_000 - spent[payer]) * CREDIT for payer in (RED, BLUE)
    )
