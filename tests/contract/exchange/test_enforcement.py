# SPDX-License-Identifier: Apache-2.0
"""What every ports.Enforcement promises: in memory, and by messages on every transport.

Hosts look once per round, as nova-fairness does, and confirm all that they are granted.
"""

import contextlib

import oslo_messaging
import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.enforcement import MemoryEnforcement
from nova_market.adapters.transport.local import LocalHub, LocalTransport
from nova_market.adapters.transport.oslo import OsloTransport
from nova_market.adapters.transport.wire_format import FORMATS
from nova_market.adapters.transport.zmq.transport import ZmqTransport
from nova_market.core.market.delivery import LATE
from nova_market.core.market.inventory import Allocation
from nova_market.services.exchange.allocation_receiver import AllocationReceiver
from nova_market.services.exchange.allocation_sender import RETRANSMIT_AFTER, AllocationSender
from tests.support.exchange.exchanges import Roll, hosts_of
from tests.support.exchange.oslo import configured, eventually

ENGINE = 'engine1'
LIFE = 180.0
ROUNDS = 100
HEAVY = {'dora': 0.5, 'emil': -0.25}


def given(**cores):
    return [Allocation(server_id=s, cores=n, memory_mib=64.0) for s, n in cores.items()]


class InMemory:
    """Hosts that apply at once."""

    def __init__(self):
        self.clock = ManualClock()
        self.enforcement = MemoryEnforcement()
        self.enforcement.heavy = dict(HEAVY)

    def host(self, name):
        """Every host is there."""

    def silence(self, name):
        self.enforcement.silent.add(name)

    def control(self, name, *resources):
        self.enforcement.own[name] = frozenset(resources)

    def cores(self, name):
        return {one.server_id: one.cores for one in self.enforcement.applied.get(name, ())}

    def within(self, condition):
        return condition()

    def stop(self):
        self.enforcement.stop()


class ByMessages:
    """Hosts at the other end of a transport."""

    def __init__(self, make_transport, wire):
        self.clock = ManualClock()
        self.roll = Roll()
        self.lines = {}
        self._make = make_transport
        self._wire = wire
        self._silent = set()
        self._controls = {}
        transport = make_transport(ENGINE, self.roll)
        self.enforcement = AllocationSender(
            name=ENGINE,
            transport=transport,
            wire=FORMATS[wire](),
            clock=self.clock,
            membership=self.roll,
        )
        self.enforcement.start()
        # without keys no connection says whose it is, so hosts must know where to answer
        self.roll.hosts[ENGINE] = getattr(transport, 'endpoint', '')

    def host(self, name):
        transport = self._make(name, self.roll)
        line = AllocationReceiver(
            host=name,
            transport=transport,
            wire=FORMATS[self._wire](),
            clock=self.clock,
            engines=[ENGINE],
        )
        line.start(lambda sender, frame: None)
        self.roll.hosts[name] = getattr(transport, 'endpoint', '')
        self.lines[name] = line

    def silence(self, name):
        self._silent.add(name)

    def control(self, name, *resources):
        self._controls[name] = resources

    def cores(self, name):
        granted = self.lines[name].look()
        return {server: one.cores for server, one in granted.allocations.items()}

    def round(self):
        for name, line in self.lines.items():
            granted = line.look()
            if granted.in_force and name not in self._silent:
                controls = self._controls.get(name)
                line.confirm(granted, list(granted.allocations), HEAVY, controls)

    def within(self, condition):
        """Frames may be lost while a transport begins to work; the engine says them again."""
        for _ in range(ROUNDS):
            self.round()
            if eventually(condition, 0.25):
                return True
            self.clock.advance(RETRANSMIT_AFTER / 10)
        return False

    def stop(self):
        for line in self.lines.values():
            line.stop()
        self.enforcement.stop()


def memory(stack, request):
    return InMemory()


def local(stack, request):
    hub = LocalHub()
    return ByMessages(lambda host, roll: LocalTransport(host=host, hub=hub), 'compact')


def fake(stack, request):
    conf = stack.enter_context(configured('fake://'))
    transport = oslo_messaging.get_rpc_transport(conf)
    stack.callback(transport.cleanup)
    make = lambda host, roll: OsloTransport(conf=conf, host=host, ttl=60, transport=transport)  # noqa: E731
    return ByMessages(make, 'plain')


def rabbit(stack, request):
    conf = stack.enter_context(configured(request.getfixturevalue('rabbitmq').url))
    return ByMessages(lambda host, roll: OsloTransport(conf=conf, host=host, ttl=60), 'plain')


def zmq(stack, request):
    make = lambda host, roll: ZmqTransport(host, 'tcp://127.0.0.1:*', roll.members, None)  # noqa: E731
    return ByMessages(make, 'compact')


@pytest.fixture(
    params=[
        memory,
        local,
        pytest.param(fake, marks=pytest.mark.clock),
        pytest.param(zmq, marks=pytest.mark.clock),
        pytest.param(rabbit, marks=pytest.mark.integration('rabbitmq-server', 'epmd')),
    ],
    ids=lambda make: make.__name__,
)
def world(request):
    with contextlib.ExitStack() as stack:
        made = request.param(stack, request)
        stack.callback(made.stop)
        for name in 'ab':
            made.host(name)
        yield made


def send(world, period, **allocations):
    world.enforcement.send(period, world.clock.wall() + LIFE, allocations)


def confirmed(world, period, **wanted):
    """Does it become so?"""
    return world.within(lambda: hosts_of(world.enforcement, period) == wanted)


def test_each_host_applies_and_confirms_its_own(world):
    send(world, 7, a=given(s1=0.5, s2=1.5), b=given(s3=0.25))
    assert confirmed(world, 7, s1='a', s2='a', s3='b')
    assert world.cores('a') == {'s1': 0.5, 's2': 1.5}
    assert world.cores('b') == {'s3': 0.25}


def test_the_next_period_begins_unconfirmed(world):
    send(world, 7, a=given(s1=0.5))
    assert confirmed(world, 7, s1='a')
    world.silence('a')
    send(world, 8, a=given(s1=0.75))
    assert hosts_of(world.enforcement, 8) == {}
    assert hosts_of(world.enforcement, 9) == {}


def test_what_was_confirmed_of_the_last_periods_is_kept(world):
    """F2: until they cannot be confirmed any more; it was in force before it was confirmed."""
    for period in range(7, 8 + LATE):
        send(world, period, a=given(s1=0.5))
        assert confirmed(world, period, s1='a')
    first = world.enforcement.confirmed(7)['s1']
    assert (first.host, 'cpu' in first.enforced) == ('a', True)
    assert first.since <= world.clock.wall()
    send(world, 8 + LATE, a=given(s1=0.5))
    assert world.enforcement.confirmed(7) == {}


def test_a_host_that_is_silent_confirms_nothing(world):
    """And states nothing."""
    world.silence('b')
    send(world, 7, a=given(s1=0.5), b=given(s3=0.25))
    assert confirmed(world, 7, s1='a')
    assert confirmed(world, 7, s1='a')
    assert set(world.enforcement.enforced(['a', 'b'])) == {'a'}


def test_a_period_may_be_sent_again(world):
    """By a leader that completes it: the same again, and what was confirmed stays so."""
    expires = world.clock.wall() + LIFE
    world.enforcement.send(7, expires, {'a': given(s1=0.5)})
    assert confirmed(world, 7, s1='a')
    world.enforcement.send(7, expires, {'a': given(s1=0.5)})
    assert hosts_of(world.enforcement, 7) == {'s1': 'a'}


def test_a_server_that_moves(world):
    """It is confirmed by the host it is on."""
    send(world, 7, a=given(s1=0.5), b=given(s3=0.25))
    assert confirmed(world, 7, s1='a', s3='b')
    send(world, 8, a=[], b=given(s1=0.5, s3=0.25))
    assert confirmed(world, 8, s1='b', s3='b')
    assert world.cores('b') == {'s1': 0.5, 's3': 0.25}
    assert world.cores('a') == {}


def test_nothing_to_say(world):
    world.enforcement.send(7, world.clock.wall() + LIFE, {})
    assert hosts_of(world.enforcement, 7) == {}


def test_hosts_say_how_heavy_their_owners_are(world):
    send(world, 7, a=given(s1=0.5))
    assert confirmed(world, 7, s1='a')
    assert dict(world.enforcement.heaviness({'a': {'dora', 'emil'}})) == HEAVY


def test_a_host_is_believed_of_the_owners_of_its_servers_only(world):
    """Whatever else it names."""
    send(world, 7, a=given(s1=0.5), b=given(s2=0.5))
    assert confirmed(world, 7, s1='a', s2='b')
    assert dict(world.enforcement.heaviness({'a': {'dora'}, 'b': set()})) == {'dora': HEAVY['dora']}


def enforced(world, host, *wanted):
    """Does it become so?"""
    return world.within(
        lambda: dict(world.enforcement.enforced(['a', 'b'])).get(host) == frozenset(wanted)
    )


def test_hosts_say_what_they_enforce(world):
    """Each its own; the newest statement counts, also in the next period, and of a host without servers."""
    world.control('a', 'cpu', 'memory')
    world.control('b')
    send(world, 7, a=given(s1=0.5), b=[])
    assert enforced(world, 'a', 'cpu', 'memory')
    assert enforced(world, 'b')
    world.control('a', 'cpu')
    assert enforced(world, 'a', 'cpu')
    send(world, 8, a=given(s1=0.5), b=[])
    world.control('b', 'cpu')
    assert enforced(world, 'b', 'cpu')
    assert world.enforcement.enforced(['c', 'a'])['a'] == {'cpu'}
