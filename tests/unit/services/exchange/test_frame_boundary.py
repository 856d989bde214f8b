# SPDX-License-Identifier: Apache-2.0
"""R2: a frame whose taking fails costs that frame, at hosts and at the engine; it is logged once."""

import logging

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.transport.local import LocalHub, LocalTransport
from nova_market.adapters.transport.wire_format import FORMATS
from nova_market.core.market.inventory import Allocation
from nova_market.core.usage.use import MinuteUse
from nova_market.services.exchange.allocation_receiver import AllocationReceiver
from nova_market.services.exchange.allocation_sender import AllocationSender
from nova_market.services.exchange.frames import HostFrames
from nova_market.services.exchange.health import UNHANDLED, DropCounter, UnusedAllocations
from tests.support.exchange.exchanges import Roll
from tests.support.host_builders import report
from tests.support.usage_builders import DAY_BEGIN, use


@pytest.fixture(params=sorted(FORMATS))
def wire(request):
    return FORMATS[request.param]()


def lines(caplog):
    return [one for one in caplog.records if one.levelno >= logging.WARNING]


def test_a_topology_that_fails_with_one_message_takes_the_next_one(wire, caplog):
    kept = []

    def keep(message):
        if message.host == 'bad':
            raise ZeroDivisionError('no load')
        kept.append(message.host)
        return ''

    drops = DropCounter('here')
    frames = HostFrames(wire, drops, UnusedAllocations(), keep)
    for name in ('a', 'bad', 'b', 'bad', 'c'):
        frames.take(None, wire.encode(report(name, {'d': (1.0,)})))
    assert kept == ['a', 'b', 'c']
    assert drops.counts({}) == {UNHANDLED: 2}
    (line,) = lines(caplog)
    assert line.exc_info and 'ZeroDivisionError: no load' in line.getMessage()


class Engine:
    """With hosts a and b, which confirm what they get; `used` fails for a."""

    def __init__(self, wire):
        self.clock, hub = ManualClock(wall=DAY_BEGIN), LocalHub()
        self.used = []
        self.sender = AllocationSender(
            name='engine', transport=LocalTransport(host='engine', hub=hub), wire=wire,
            clock=self.clock, membership=Roll('a', 'b'), used=self._take,
        )  # fmt: skip
        self.sender.start()
        self.hosts = {
            name: AllocationReceiver(
                host=name, transport=LocalTransport(host=name, hub=hub), wire=wire,
                clock=self.clock, engines=['engine'],
            )
            for name in 'ab'
        }  # fmt: skip
        for one in self.hosts.values():
            one.start(lambda sender, frame: None)

    def _take(self, host, minute):
        if host == 'a':
            raise OverflowError('too much')
        self.used.append(host)


def test_the_engine_takes_what_others_confirm(wire, caplog):
    engine = Engine(wire)
    given = {name: [Allocation(server_id=f's{name}', cores=1.0, memory_mib=1.0)] for name in 'ab'}
    engine.sender.send(1, engine.clock.wall() + 60, given)
    for name, host in engine.hosts.items():
        minute = MinuteUse(at=DAY_BEGIN, servers={f's{name}': use()})
        host.confirm(host.look(), [f's{name}'], {}, use=minute)
    assert engine.used == ['b']
    assert engine.sender.confirmed(1).keys() == {'sa', 'sb'}
    assert engine.sender.dropped == {UNHANDLED: 1} and len(lines(caplog)) == 1


def test_a_host_whose_subscriber_fails_goes_on_with_what_it_got(wire, caplog):
    engine = Engine(wire)

    def wake(reason):
        raise RuntimeError('no round')

    host = engine.hosts['a']
    host.subscribe(wake)
    for period in (1, 2):
        given = {'a': [Allocation(server_id='s', cores=float(period), memory_mib=1.0)]}
        engine.sender.send(period, engine.clock.wall() + 60, given)
    assert host.look().period == 2
    assert host.dropped == {UNHANDLED: 2} and len(lines(caplog)) == 1
