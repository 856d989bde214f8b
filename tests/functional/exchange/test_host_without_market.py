# SPDX-License-Identifier: Apache-2.0
"""A host whose policy is `fairness` in a cloud with a market engine, over every transport and topology."""

import contextlib
import logging

import oslo_messaging
import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.transport.local import LocalHub, LocalTransport
from nova_market.adapters.transport.oslo import OsloTransport
from nova_market.adapters.transport.wire_format import FORMATS
from nova_market.adapters.transport.zmq.transport import ZmqTransport
from nova_market.core.market.inventory import Allocation
from nova_market.services.exchange.allocation_sender import AllocationSender
from tests.support.exchange.exchanges import Roll, put_together, sums
from tests.support.exchange.oslo import configured, eventually
from tests.support.host_builders import report

pytestmark = [pytest.mark.functional, pytest.mark.clock]

ENGINE = 'engine1'
HOST = 'a'


def local(stack, roll):
    hub = LocalHub()
    return lambda name: LocalTransport(host=name, hub=hub)


def oslo(stack, roll):
    conf = stack.enter_context(configured('fake://'))
    shared = oslo_messaging.get_rpc_transport(conf)
    stack.callback(shared.cleanup)
    return lambda name: OsloTransport(conf=conf, host=name, ttl=60.0, transport=shared)


def zmq(stack, roll):
    return lambda name: ZmqTransport(name, 'tcp://127.0.0.1:*', roll.members, None)


@pytest.mark.parametrize('topology', ['broadcast', 'aggregate'])
@pytest.mark.parametrize('wire', sorted(FORMATS))
@pytest.mark.parametrize('network', [local, oslo, zmq], ids=lambda made: made.__name__)
def test_allocations_are_ignored_and_are_no_dropped_reports(network, wire, topology, caplog):
    """The host counts them apart from what it drops, logs them once, and its exchange goes on."""
    caplog.set_level(logging.INFO)
    clock, roll = ManualClock(), Roll()
    with contextlib.ExitStack() as stack:
        made = network(stack, roll)
        parts = {HOST: made(HOST), ENGINE: made(ENGINE)}
        exchange = put_together(
            topology,
            wire=wire,
            host=HOST,
            metric='greediness',
            ttl=30.0,
            clock=clock,
            transport=parts[HOST],
            membership=roll,
        )
        engine = AllocationSender(
            name=ENGINE,
            transport=parts[ENGINE],
            wire=FORMATS[wire](),
            clock=clock,
            membership=Roll(),
        )
        for one in (exchange, engine):
            one.start()
            stack.callback(one.stop)
        roll.hosts |= {name: getattr(one, 'endpoint', '') for name, one in parts.items()}
        allocations = {HOST: [Allocation(server_id='s1', cores=0.5, memory_mib=64.0)]}
        periods = iter(range(100))

        def two_have_come():
            engine.send(next(periods), clock.wall() + 180.0, allocations)
            return eventually(lambda: exchange.unused_allocations >= 2, 0.3)

        assert eventually(two_have_come)
        exchange.publish(report(HOST, {'d': (1.0,)}))
        assert sums(exchange) == {'d': 1.0}
        assert exchange.dropped == {}
    assert caplog.text.count('ignores them because its [fairness]policy has no market') == 1
    assert 'is dropped' not in caplog.text
