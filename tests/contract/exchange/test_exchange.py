# SPDX-License-Identifier: Apache-2.0
"""What every ports.Exchange promises: both topologies, on every transport.

Hosts publish once per interval of a manual clock, as they do in production; the transports deliver when they
like. So what another host should see is looked for round after round, with a limit, and how long it may
take is counted in intervals.
"""

import contextlib
import dataclasses

import oslo_messaging
import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.transport.local import LocalHub, LocalTransport
from nova_market.adapters.transport.oslo import OsloTransport
from nova_market.adapters.transport.zmq.transport import ZmqTransport
from tests.support.exchange.exchanges import Roll, put_together, sums
from tests.support.exchange.oslo import configured, eventually
from tests.support.host_builders import report

INTERVAL = 10.0
TTL = 3 * INTERVAL
ROUNDS = 12
"""A host hears of another one within two rounds, if both work; brokers need some time to begin."""

MOMENT = 0.25
"""Real seconds in which a round's messages have been delivered, on most machines."""


class World:
    """Exchanges of some hosts on one kind of transport and one clock."""

    def __init__(self, topology, make_transport, roll):
        self.clock = ManualClock()
        self.exchanges = {}
        self._topology = topology
        self._make = make_transport
        self._roll = roll
        self._reports = {}
        self._sequence = 0

    def join(self, host, metric='greediness', **reported):
        """A host that publishes from now on, in each round."""
        transport = self._make(host, self._roll)
        exchange = put_together(
            self._topology,
            host=host,
            metric=metric,
            ttl=TTL,
            clock=self.clock,
            transport=transport,
            membership=self._roll,
        )
        exchange.start()
        self._roll.join(host, getattr(transport, 'endpoint', ''))
        self.exchanges[host] = exchange
        self.says(host, metric=metric, **reported)
        return exchange

    def says(self, host, owners=None, **changes):
        """From now on."""
        self._reports[host] = report(host, owners, **changes)

    def falls_silent(self, host):
        """As a host that is cut off; it does not tell."""
        del self._reports[host]

    def stop(self, host):
        del self._reports[host]
        self._roll.leave(host)
        self.exchanges.pop(host).stop()

    def round(self):
        """Everybody publishes once, and an interval passes."""
        self._sequence += 1
        for host, reported in self._reports.items():
            self.exchanges[host].publish(dataclasses.replace(reported, sequence=self._sequence))

    def within(self, rounds, condition):
        """Does it come true in so many rounds? Age 0 means that nothing is under way any more."""
        for _ in range(rounds):
            self.round()
            if eventually(condition, MOMENT):
                return True
            self.clock.advance(INTERVAL)
        return False

    def settled(self, *wanted):
        """All of (host, condition on its totals), and everybody's totals are young."""

        def condition():
            young = all(self.exchanges[h].totals().age <= INTERVAL for h in self._reports)
            return young and all(check(self.exchanges[host]) for host, check in wanted)

        return self.within(ROUNDS, condition)


class Listed(Roll):
    """The hosts that have joined."""

    def __init__(self):
        super().__init__()

    def join(self, host, address):
        self.hosts[host] = address

    def leave(self, host):
        del self.hosts[host]


def local(stack, request):
    hub = LocalHub()
    return lambda host, roll: LocalTransport(host=host, hub=hub)


def fake(stack, request):
    conf = stack.enter_context(configured('fake://'))
    transport = oslo_messaging.get_rpc_transport(conf)
    stack.callback(transport.cleanup)
    return lambda host, roll: OsloTransport(conf=conf, host=host, ttl=TTL, transport=transport)


def rabbit(stack, request):
    conf = stack.enter_context(configured(request.getfixturevalue('rabbitmq').url))
    return lambda host, roll: OsloTransport(conf=conf, host=host, ttl=TTL)


def zmq(stack, request):
    return lambda host, roll: ZmqTransport(host, 'tcp://127.0.0.1:*', roll.members, None)


@pytest.fixture(params=['broadcast', 'aggregate'])
def topology(request):
    return request.param


@pytest.fixture(
    params=[
        local,
        pytest.param(fake, marks=pytest.mark.clock),
        pytest.param(zmq, marks=pytest.mark.clock),
        pytest.param(rabbit, marks=pytest.mark.integration('rabbitmq-server', 'epmd')),
    ],
    ids=lambda make: make.__name__,
)
def world(request, topology):
    with contextlib.ExitStack() as stack:
        world = World(topology, request.param(stack, request), Listed())
        # what joined is stopped before its transport is closed
        stack.callback(lambda: [exchange.stop() for exchange in world.exchanges.values()])
        yield world


def knows(**owners):
    return lambda exchange: sums(exchange) == pytest.approx(owners)


def test_sums_of_two_hosts(world):
    """Each host sees the sums over both for its own owners, and the resources of both."""
    a = world.join('a', owners={'d': (0.25,), 'e': (1.0,)})
    b = world.join('b', owners={'d': (0.5,), 'e': (0.0,)})
    both = knows(d=0.75, e=1.0)
    assert world.settled(('a', both), ('b', both))
    for exchange in (a, b):
        totals = exchange.totals()
        assert totals.hosts == 2
        assert totals.owner_count == 2
        assert totals.supply.tolist() == pytest.approx([2.0] * 6)
        assert totals.load.tolist() == pytest.approx([1.0] * 6)
        assert totals.virtual.tolist() == pytest.approx([4.0] * 6)
        assert exchange.dropped == {}


def test_owners_that_live_elsewhere_count(world):
    """A host needs to know how many owners the cloud has, also of those without VMs on it."""
    a = world.join('a', owners={'d': (1.0,)})
    world.join('b', owners={'e': (1.0,), 'f': (2.0,)})
    assert world.settled(('a', lambda a: a.totals().owner_count == 3))
    assert sums(a)['d'] == 1.0


def test_own_report_is_seen_at_once(world):
    """The round that publishes decides with its own newest numbers, whatever the transport does."""
    a = world.join('a', owners={'d': (1.0,)})
    world.join('b', owners={'d': (5.0,)})
    assert world.settled(('a', knows(d=6.0)))
    a.publish(report('a', {'d': (3.0,), 'new': (7.0,)}, sequence=10_000))
    assert sums(a) == pytest.approx({'d': 8.0, 'new': 7.0})


def test_last_report_wins(world):
    """A report replaces the one before: values, owners that come, owners that go."""
    world.join('a', owners={'d': (1.0,), 'e': (1.0,)})
    world.join('b', owners={'d': (1.0,), 'e': (1.0,), 'f': (1.0,)})
    assert world.settled(('b', knows(d=2.0, e=2.0, f=1.0)))
    world.says('a', {'e': (3.0,), 'f': (0.5,)})
    assert world.within(3, lambda: knows(d=1.0, e=4.0, f=1.5)(world.exchanges['b']))


def test_a_change_is_seen_within_two_intervals(world):
    """Round 1 tells it, round 2 is told it: the weights of the others change in the round after."""
    world.join('a', owners={'d': (1.0,)})
    b = world.join('b', owners={'d': (1.0,)})
    assert world.settled(('a', knows(d=2.0)), ('b', knows(d=2.0)))
    world.says('a', {'d': (4.0,)})
    assert world.within(2, lambda: knows(d=5.0)(b))


def test_an_empty_host_counts(world):
    """A host without guests still has resources to offer, and holds up nobody."""
    a = world.join('a', owners={'d': (1.0,)})
    world.join('b', owners={}, load=(0.0,) * 6, virtual=(0.0,) * 6)
    assert world.settled(('a', lambda a: a.totals().hosts == 2 and sums(a) == {'d': 1.0}))
    assert a.totals().supply.tolist() == [2.0] * 6


def test_a_dead_host_is_forgotten(world):
    """After three intervals of silence, not before; the others go on, whoever has added up."""
    for one in 'abc':
        world.join(one, owners={'d': (1.0,)})
    three = knows(d=3.0)
    assert world.settled(*((one, three) for one in 'abc'))
    world.falls_silent('a')
    world.clock.advance(INTERVAL)
    world.round()
    assert eventually(lambda: three(world.exchanges['b']))
    rest = [world.exchanges[one] for one in 'bc']
    assert world.within(7, lambda: all(knows(d=2.0)(e) and e.totals().hosts == 2 for e in rest))


def test_a_host_that_leaves_is_forgotten_soon(world):
    """A stopped service does not count for three more intervals."""
    for one in 'abc':
        world.join(one, owners={'d': (1.0,)})
    assert world.settled(*((one, knows(d=3.0)) for one in 'abc'))
    world.stop('a')
    rest = [world.exchanges[one] for one in 'bc']
    assert world.within(3, lambda: all(knows(d=2.0)(e) and e.totals().hosts == 2 for e in rest))


def test_a_host_that_comes_later(world):
    """Without a restart of the others, whoever adds up from then on."""
    world.join('a', owners={'d': (1.0,)})
    assert world.settled(('a', knows(d=1.0)))
    for number, late in enumerate(['b', 'c', 'e', 'f'], start=2):
        world.join(late, owners={'d': (1.0,)})
        everybody = [(one, knows(d=float(number))) for one in world.exchanges]
        assert world.settled(*everybody)


def test_a_restarted_host(world):
    """It knows nothing and is told all; its reports count from its first round."""
    world.join('a', owners={'d': (1.0,)})
    world.join('b', owners={'d': (1.0,)})
    assert world.settled(('a', knows(d=2.0)), ('b', knows(d=2.0)))
    world.stop('b')
    world.join('b', owners={'d': (5.0,)}, incarnation=2)
    assert world.settled(('a', knows(d=6.0)), ('b', knows(d=6.0)))


def test_reports_of_another_metric_do_not_count(world):
    """Numbers of different metrics can't be added up; it is seen that they came."""
    world.join('a', owners={'d': (1.0,)})
    world.join('b', metric='asset', owners={'d': (100.0,)})

    def refused():
        return any(e.dropped.get('other_metric') for e in world.exchanges.values())

    assert world.within(ROUNDS, refused)
    assert sums(world.exchanges['a']) == {'d': 1.0}
    assert sums(world.exchanges['b']) == {'d': 100.0}


def test_quotas_reach_the_others(world):
    """One host with credentials is enough for all."""
    world.join('a', owners={'d': (1.0,)}, quotas={'d': (10, 2048), 'e': (-1, -1)})
    world.join('b', owners={'d': (1.0,), 'e': (1.0,)})
    wanted = {'d': (10, 2048), 'e': (-1, -1)}
    assert world.settled(('b', lambda b: b.totals().quotas == wanted))


def test_wide_partial_sums(world):
    """Metrics that need a number per resource (drf) get them all."""
    world.join('a', owners={'d': (1.0, 2.0, 3.0)})
    world.join('b', owners={'d': (0.5, 0.25, 0.125)})
    wanted = [[1.5, 2.25, 3.125]]
    assert world.settled(('a', lambda a: a.totals().sums.tolist() == wanted))
