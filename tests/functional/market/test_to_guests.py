# SPDX-License-Identifier: Apache-2.0
"""From a bid to a guest's CPU and back to a charge: engine, messages, agent and host, on one clock."""

from dataclasses import replace

import pytest

from nova_market.adapters.in_memory.host import Demand, InMemoryHost, steady
from nova_market.adapters.leadership import SoleLeader
from nova_market.adapters.state_file import JsonFile
from nova_market.adapters.transport.local import LocalHub, LocalTransport
from nova_market.adapters.transport.wire_format import PlainFormat
from nova_market.core.fairness.round import FairnessSettings
from nova_market.core.ledger.posting import account
from nova_market.core.market.bid import StoredBid
from nova_market.services.exchange.allocation_receiver import AllocationReceiver
from nova_market.services.exchange.allocation_sender import AllocationSender
from nova_market.services.fairness.agent import Agent
from nova_market.services.fairness.originals import OriginalValues
from nova_market.services.market.rounds import RoundRunner
from tests.support.exchange.exchanges import Roll, put_together
from tests.support.host_builders import MIB, guest, supply
from tests.support.market_bed import CREDIT, PERIOD, Market, bidding, host, server

pytestmark = pytest.mark.functional

ENGINES = ('engine1', 'engine2')
INTERVAL = PERIOD / 6
BUSY = steady(Demand(cpu=2.0, rss_bytes=64 * MIB))


class City:
    """One compute host of two cores with an agent, two busy servers, an engine and another one."""

    def __init__(self, market, path):
        self.market = market
        self.clock = market.clock
        self.path = path
        self.hub = LocalHub()
        self.host = InMemoryHost(self.clock, supply(cores=2.0))
        for name, owner in (('r', 'red'), ('b', 'blue')):
            self.host.add(guest(name, owner, vcpus=2), BUSY)
        self.agent = self.new_agent()
        self.engines = {name: self.new_engine(name) for name in ENGINES}

    def new_agent(self):
        line = AllocationReceiver(
            host='a',
            transport=LocalTransport(host='a', hub=self.hub),
            wire=PlainFormat(),
            clock=self.clock,
            engines=ENGINES,
        )
        settings = FairnessSettings(resources=('cpu',), policy='market')
        exchange = put_together(
            'broadcast',
            host='a',
            metric=settings.metric_name,
            ttl=settings.totals_ttl,
            clock=self.clock,
            transport=line,
            membership=Roll('a'),
        )
        made = Agent(
            host='a',
            driver=self.host,
            actuators=self.host.actuators(),
            controls=('cpu',),
            exchange=exchange,
            settings=settings,
            originals=OriginalValues(JsonFile(str(self.path / 'originals.json')), 'boot'),
            clock=self.clock,
            market=line,
        )
        made.start()
        return made

    def new_engine(self, name):
        enforcement = AllocationSender(
            name=name,
            transport=LocalTransport(host=name, hub=self.hub),
            wire=PlainFormat(),
            clock=self.clock,
            membership=Roll(),
        )
        market = self.market
        settings = replace(market.settings, name=name)
        rounds = RoundRunner(market.cloud, market.stores, enforcement, self.clock, settings)
        made = market.another(name, SoleLeader(), enforcement=enforcement, rounds=rounds)
        made.start()
        return made

    def run(self, periods, engine='engine1', host=True):
        """Ticks of the engine, and rounds of the host, every ten seconds."""
        for _ in range(round(periods * PERIOD / INTERVAL)):
            if engine:
                self.engines[engine].tick()
            if host:
                self.agent.round()
            self.clock.advance(INTERVAL)

    def cores(self):
        """What the guests get in ten seconds from now."""
        before = {s.guest.id: s.counters.cpu_time_ns for s in self.host.sample().guests}
        self.clock.advance(INTERVAL)
        return {
            s.guest.id: (s.counters.cpu_time_ns - before[s.guest.id]) / 1e9 / INTERVAL
            for s in self.host.sample().guests
        }

    def spent(self):
        return tuple(100 * CREDIT - self.market.balance(owner) for owner in ('red', 'blue'))


@pytest.fixture
def city(database, tmp_path):
    market = Market(
        database,
        hosts=[host('a', cores=2.0, mib=4096.0)],
        servers=[
            server('r', 'red', vcpus=2, mib=128, metadata=bidding(3)),
            server('b', 'blue', vcpus=2, mib=128, metadata=bidding(1)),
        ],
    )
    market.grant('red', 100)
    market.grant('blue', 100)
    return City(market, tmp_path)


def test_a_bid_is_felt_and_charged(city):
    """3 : 1 in credits is 3 : 1 in CPU; a raised bid is felt within two periods."""
    city.run(3)
    assert city.cores() == pytest.approx({'r': 1.5, 'b': 0.5}, rel=0.01)
    assert city.spent() == (6 * CREDIT, 2 * CREDIT)
    city.market.stores.bids.put(
        StoredBid(
            server_id='b',
            project_id='blue',
            payer=account('project', 'blue'),
            cpu=9 * CREDIT,
            memory=0,
        )
    )
    city.run(2)
    assert city.cores() == pytest.approx({'r': 0.5, 'b': 1.5}, rel=0.01)


def test_rounds_show_who_is_heavy(city):
    """As the host has computed it: red, who pays for more, uses more than its part of the cloud."""
    city.run(4)
    rounds = city.market.stores.history
    heaviness = rounds.round(rounds.rounds(limit=1)[0].period).document['heaviness']
    assert heaviness == pytest.approx(city.agent.round().plan.owner_heaviness, rel=0.05)
    assert heaviness['red'] > heaviness['blue']


def test_a_host_that_does_not_apply_is_not_paid_for(city):
    """Its guests keep what they had; when it confirms again they are charged again, not for before."""
    city.run(2, host=False)
    city.run(1)
    assert city.spent() == (0, 0)
    assert city.cores() == pytest.approx({'r': 1.5, 'b': 0.5}, rel=0.01)
    city.run(0.5)
    assert city.spent() == (3 * CREDIT, 1 * CREDIT)


def test_a_host_that_refuses_is_not_paid_for(city):
    city.host.refusals['cpu'] = 'device busy'
    city.run(3)
    assert city.spent() == (0, 0)


@pytest.mark.parametrize(
    'specs',
    [{'hw:cpu_policy': 'dedicated'}, {'hw:cpu_policy': 'mixed'}, {'hw:cpu_realtime': 'yes'}],
)
def test_a_server_with_cpus_of_its_own_takes_no_part(database, specs):
    """The host would never confirm it: its weight means nothing."""
    market = Market(
        database,
        servers=[server('pinned', extra_specs=specs), server('b', 'blue', metadata=bidding(1))],
    )
    market.grant('blue', 100)
    market.run(2)
    assert set(market.cores()) == {'b'}


def test_servers_run_on_without_a_market(city):
    """Nobody leads: weights fade to their base. Another engine takes over: they are back at once."""
    city.run(2)
    city.run(8, engine='')
    assert city.cores() == pytest.approx({'r': 1.0, 'b': 1.0}, rel=0.01)
    city.run(2, engine='engine2')
    assert city.cores() == pytest.approx({'r': 1.5, 'b': 0.5}, rel=0.01)
    assert sum(city.market.balances().values()) == 0


def test_a_standby_takes_over_before_anything_fades(city):
    """Within two periods, as F1 allows; and it settles what the other one began."""
    city.run(2.5)
    city.run(1.5, engine='')
    assert city.cores() == pytest.approx({'r': 1.5, 'b': 0.5}, rel=0.01)
    city.run(2, engine='engine2')
    assert city.cores() == pytest.approx({'r': 1.5, 'b': 0.5}, rel=0.01)
    red, blue = city.spent()
    assert red == 3 * blue > 0
