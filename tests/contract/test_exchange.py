# SPDX-License-Identifier: Apache-2.0
"""What every ports.Exchange promises, on the one in memory and on oslo.messaging.

The transports deliver when they like, so what another host should see is waited for, with a limit; what it
should not see any more is moved by a manual clock.
"""

import contextlib

import oslo_messaging
import pytest

from nova_market.adapters.clock import ManualClock
from nova_market.adapters.local_exchange import LocalExchange, LocalHub
from nova_market.adapters.messaging import OsloExchange
from tests.builders import report
from tests.fixtures.oslo import configured, eventually
from tests.fixtures.rabbitmq import rabbitmq  # noqa: F401

TTL = 30.0


class World:
    """Exchanges of some hosts on one transport and one clock."""

    def __init__(self, make):
        self.clock = ManualClock()
        self.exchanges = []
        self._make = make

    def join(self, host, metric='greediness'):
        """A started exchange whose own reports come back."""
        exchange = self._make(host=host, metric=metric, ttl=TTL, clock=self.clock)
        self.exchanges.append(exchange)
        exchange.start()
        number = 0

        def works():
            # what is sent before anybody listens is lost, so say it again
            nonlocal number
            number += 1
            exchange.publish(report(host, incarnation=0, sequence=number, metric=metric))
            return eventually(lambda: exchange.totals().age == 0.0, 0.5)

        assert eventually(works)
        return exchange


def local(stack):
    hub = LocalHub()
    return lambda **arguments: LocalExchange(hub=hub, **arguments)


def fake(stack):
    conf = stack.enter_context(configured('fake://'))
    transport = oslo_messaging.get_rpc_transport(conf)
    stack.callback(transport.cleanup)
    return lambda **arguments: OsloExchange(conf=conf, transport=transport, **arguments)


def rabbit(stack, url):
    conf = stack.enter_context(configured(url))
    return lambda **arguments: OsloExchange(conf=conf, **arguments)


@pytest.fixture(
    params=[
        'local',
        'fake',
        pytest.param('rabbit', marks=pytest.mark.integration('rabbitmq-server', 'epmd')),
    ]
)
def world(request):
    with contextlib.ExitStack() as stack:
        if request.param == 'rabbit':
            make = rabbit(stack, request.getfixturevalue('rabbitmq').url)
        else:
            make = {'local': local, 'fake': fake}[request.param](stack)
        world = World(make)
        # what joined is stopped before its transport is closed
        stack.callback(lambda: [exchange.stop() for exchange in world.exchanges])
        yield world


def sums(exchange):
    totals = exchange.totals()
    return dict(zip(totals.owners, totals.sums[:, 0].tolist(), strict=True))


def test_sums_of_two_hosts(world):
    """Each host sees the sums over both, and the resources of both."""
    a, b = world.join('a'), world.join('b')
    a.publish(report('a', {'d': (0.25,), 'e': (1.0,)}))
    b.publish(report('b', {'d': (0.5,)}))
    for exchange in (a, b):
        assert eventually(lambda e=exchange: sums(e) == {'d': 0.75, 'e': 1.0})
        totals = exchange.totals()
        assert totals.hosts == 2
        assert totals.supply.tolist() == [2.0] * 6
        assert totals.load.tolist() == [1.0] * 6
        assert totals.virtual.tolist() == [4.0] * 6
        assert exchange.dropped == {}


def test_own_report_is_seen_at_once(world):
    """The round that publishes decides with its own newest numbers, whatever the transport does."""
    a = world.join('a')
    a.publish(report('a', {'d': (3.0,)}))
    assert sums(a) == {'d': 3.0}


def test_last_report_wins(world):
    """A report replaces the one before; one that arrives late replaces nothing."""
    a, b = world.join('a'), world.join('b')
    a.publish(report('a', {'d': (1.0,)}, sequence=1))
    assert eventually(lambda: sums(b) == {'d': 1.0})
    a.publish(report('a', {'e': (2.0,)}, sequence=3))
    assert eventually(lambda: sums(b) == {'e': 2.0})
    before = b.dropped.get('stale', 0)
    a.publish(report('a', {'d': (9.0,)}, sequence=2))
    assert eventually(lambda: b.totals() and b.dropped.get('stale', 0) > before)
    assert sums(b) == {'e': 2.0}


def test_an_empty_host_counts(world):
    """A host without guests still has resources to offer, and holds up nobody."""
    a, b = world.join('a'), world.join('b')
    a.publish(report('a', {'d': (1.0,)}))
    b.publish(report('b', {}, load=(0.0,) * 6, virtual=(0.0,) * 6))
    assert eventually(lambda: a.totals().hosts == 2 and sums(a) == {'d': 1.0})
    assert a.totals().supply.tolist() == [2.0] * 6


def test_a_dead_host_is_forgotten(world):
    """After three intervals of silence, not before; the others go on."""
    a, b = world.join('a'), world.join('b')
    a.publish(report('a', {'d': (1.0,)}))
    b.publish(report('b', {'e': (1.0,)}))
    assert eventually(lambda: sums(b) == {'d': 1.0, 'e': 1.0})
    world.clock.advance(TTL - 1.0)
    b.publish(report('b', {'e': (2.0,)}, sequence=2))
    assert sums(b) == {'d': 1.0, 'e': 2.0}
    world.clock.advance(1.0)
    assert sums(b) == {'e': 2.0}
    assert b.totals().hosts == 1


def test_a_restarted_host_whose_clock_jumped_back(world):
    """Its older-looking reports are taken once the old ones have died."""
    a, b = world.join('a'), world.join('b')
    a.publish(report('a', {'d': (1.0,)}, incarnation=1000))
    assert eventually(lambda: sums(b) == {'d': 1.0})
    before = b.dropped.get('stale', 0)
    a.publish(report('a', {'d': (2.0,)}, incarnation=900))
    assert eventually(lambda: b.totals() and b.dropped.get('stale', 0) > before)
    world.clock.advance(TTL)
    a.publish(report('a', {'d': (3.0,)}, incarnation=900, sequence=2))
    assert eventually(lambda: sums(b) == {'d': 3.0})


def test_a_host_that_leaves_is_forgotten_at_once(world):
    """A stopped service does not count for three more intervals."""
    a, b = world.join('a'), world.join('b')
    a.publish(report('a', {'d': (1.0,)}))
    assert eventually(lambda: sums(b) == {'d': 1.0})
    a.stop()
    assert eventually(lambda: sums(b) == {})
    assert b.totals().hosts == 1


def test_reports_of_another_metric_do_not_count(world):
    """Numbers of different metrics can't be added up; it is seen that they came."""
    a, b = world.join('a'), world.join('b', metric='asset')
    a.publish(report('a', {'d': (1.0,)}))
    b.publish(report('b', {'d': (100.0,)}, metric='asset'))
    assert eventually(lambda: a.totals() and a.dropped.get('other_metric'))
    assert sums(a) == {'d': 1.0}
    assert a.totals().hosts == 1


def test_quotas_reach_the_others(world):
    """One host with credentials is enough for all."""
    a, b = world.join('a'), world.join('b')
    a.publish(report('a', {}, quotas={'d': (10, 2048), 'e': (-1, -1)}))
    b.publish(report('b', {'d': (1.0,)}))
    assert eventually(lambda: b.totals().quotas == {'d': (10, 2048), 'e': (-1, -1)})


def test_wide_partial_sums(world):
    """Metrics that need a number per resource (drf) get them all."""
    a, b = world.join('a'), world.join('b')
    a.publish(report('a', {'d': (1.0, 2.0, 3.0)}))
    b.publish(report('b', {'d': (0.5, 0.25, 0.125)}))
    assert eventually(lambda: a.totals().sums.tolist() == [[1.5, 2.25, 3.125]])
