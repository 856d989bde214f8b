# SPDX-License-Identifier: Apache-2.0
"""Who may allocate, over transports that prove the sender and over one that does not; hostile messages."""

import contextlib
import json
import logging

import oslo_messaging
import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.transport.local import LocalHub, LocalTransport
from nova_market.adapters.transport.oslo import OsloTransport
from nova_market.adapters.transport.wire_format import CompactFormat, PlainFormat
from nova_market.adapters.transport.zmq.transport import ZmqTransport
from nova_market.core.exchange.allocation_messages import (
    AllocationMessage,
    Confirmation,
)
from nova_market.core.exchange.codec import to_values
from nova_market.core.market.inventory import Allocation
from nova_market.core.usage.use import MinuteUse, ServerUse
from nova_market.services.exchange.allocation_receiver import AllocationReceiver
from nova_market.services.exchange.allocation_sender import KEPT, RETRANSMIT_AFTER, AllocationSender
from tests.support.exchange.exchanges import Roll, hosts_of, put_together, sums
from tests.support.exchange.oslo import configured, eventually
from tests.support.exchange.zmq_town import Town
from tests.support.host_builders import report

pytestmark = pytest.mark.functional

ENGINE = 'engine1'
PLAIN = PlainFormat()


def message(clock, **changes):
    values = {
        'engine': ENGINE,
        'host': 'a',
        'period': 7,
        'expires': clock.wall() + 180.0,
        'allocations': (Allocation(server_id='s1', cores=0.5, memory_mib=64.0),),
    }
    return AllocationMessage(**(values | changes))


def written(message, **changes):
    return json.dumps(to_values(message) | changes).encode()


class Street:
    """Host a with an exchange and a line to the market, an engine, and anybody else, who is known by name."""

    def __init__(self):
        self.clock = ManualClock()
        self.used = []
        self.hub = LocalHub()
        self.line = AllocationReceiver(
            host='a',
            transport=LocalTransport(host='a', hub=self.hub),
            wire=PLAIN,
            clock=self.clock,
            engines=[ENGINE, 'engine2'],
        )
        self.exchange = put_together(
            'broadcast',
            host='a',
            metric='greediness',
            ttl=30.0,
            clock=self.clock,
            transport=self.line,
            membership=Roll('a'),
        )
        self.exchange.start()
        self.engine = AllocationSender(
            name=ENGINE,
            transport=LocalTransport(host=ENGINE, hub=self.hub),
            wire=PLAIN,
            clock=self.clock,
            membership=Roll(),
            used=lambda host, use: self.used.append((host, use)),
        )
        self.engine.start()

    def says(self, sender, frame, to='a'):
        self.hub.carry(sender, to, frame)

    @property
    def granted(self):
        return self.line.look()


@pytest.fixture
def street():
    return Street()


@pytest.mark.parametrize(
    ('sender', 'changes', 'reason'),
    [
        ('b', {'engine': 'b'}, 'unknown_engine'),
        ('b', {}, 'forged'),
        ('engine2', {}, 'forged'),
        (ENGINE, {'host': 'b'}, 'misdirected'),
        (ENGINE, {'expires': 0.0}, 'expired'),
    ],
    ids=['not an engine', 'a host as engine', 'engine as another', 'for another', 'too late'],
)
def test_who_is_not_believed(street, caplog, sender, changes, reason):
    """Nothing is granted; it is counted, and logged once."""
    for _ in range(2):
        street.says(sender, written(message(street.clock, **changes)))
    assert street.granted.strength == 0.0
    assert street.line.dropped == {reason: 2}
    assert caplog.text.count(f'dropped as {reason}') == 1


@pytest.mark.parametrize(
    'changes',
    [
        {'servers': {'s1': [float(10**300), 1]}},
        {'servers': {'s1': 'all'}},
        {'servers': None},
        {'period': '7'},
        {'engine': 7},
        {'v': None},
    ],
    ids=str,
)
def test_a_message_that_breaks_the_schema(street, changes):
    """It is dropped as such, does not reach the topology, and what was granted stays."""
    street.says(ENGINE, written(message(street.clock)))
    street.says(ENGINE, written(message(street.clock, period=8), **changes))
    assert street.line.dropped == {'malformed': 1}
    assert street.exchange.dropped == {'malformed': 1}
    assert street.granted.period == 7


def test_the_topology_gets_what_is_not_the_market_s(street):
    """Also when an owner's name looks like a message of the market, and when it is garbage."""
    sly = report('b', {'market.allocate': (1.0,)})
    other = put_together(
        'broadcast',
        host='b',
        metric='greediness',
        ttl=30.0,
        clock=street.clock,
        transport=LocalTransport(host='b', hub=street.hub),
        membership=Roll('b'),
    )
    other.start()
    other.publish(sly)
    assert sums(street.exchange) == {'market.allocate': 1.0}
    street.says('b', b'market. garbage')
    assert street.exchange.dropped == {'malformed': 1}


def test_a_host_confirms_for_itself_only(street):
    """What it was told about, in periods that it was told about, under its own name."""
    now = street.clock.wall() + 180.0
    given = {
        'a': [Allocation(server_id='s1', cores=1.0, memory_mib=1.0)],
        'b': [Allocation(server_id='s2', cores=1.0, memory_mib=1.0)],
    }
    street.engine.send(7, now, given)

    def confirm(sender, host='a', period=7, engine=ENGINE, servers=('s1', 's2', 'x')):
        word = Confirmation(host=host, engine=engine, period=period, servers=servers)
        street.says(sender, written(word), to=ENGINE)

    confirm('a', host='b')
    confirm('a', period=6)
    confirm('a', engine='engine2')
    confirm('c', host='c')
    assert hosts_of(street.engine, 7) == {}
    assert street.engine.dropped == {'forged': 1, 'unasked': 2, 'misdirected': 1}
    confirm('a')
    assert hosts_of(street.engine, 7) == {'s1': 'a'}
    for period in range(8, 8 + KEPT):
        street.engine.send(period, now, given)
    confirm('a', period=7)
    assert hosts_of(street.engine, 7) == {}


def test_a_confirmation_states_since_when_the_allocation_is_in_force(street):
    """F2: also if the first messages get lost, and server by server."""
    began = street.clock.wall()
    given = [Allocation(server_id=one, cores=1.0, memory_mib=1.0) for one in ('s1', 's2')]
    street.engine.send(7, began + 240.0, {'a': given})
    granted = street.granted
    street.hub.leave(ENGINE)
    street.line.confirm(granted, ['s1'], {})
    street.clock.advance(70.0)
    street.engine.start()
    street.line.confirm(granted, ['s1', 's2'], {})
    found = street.engine.confirmed(7)
    assert {server: one.since - began for server, one in found.items()} == {'s1': 0.0, 's2': 70.0}
    street.engine.send(8, began + 300.0, {'a': given})
    street.line.confirm(street.granted, ['s1'], {})
    assert street.engine.confirmed(8)['s1'].since == began + 70.0, 'another allocation'


def test_the_earliest_time_that_a_host_has_stated_counts(street):
    """Its service may have been restarted. A host that states none, or one to come, is taken to mean now."""
    began = street.clock.wall()
    street.engine.send(7, began + 240.0, {'a': message(street.clock).allocations})
    found = []
    to_come, later, earlier = ((int(began) + n,) for n in (10_000, 20, 5))
    for since in (to_come, None, later, earlier, None):
        street.clock.advance(10.0)
        word = Confirmation(
            host='a', engine=ENGINE, period=7, servers=('s1',), since=since, enforced=(str(since),)
        )
        street.says('a', written(word), to=ENGINE)
        one = street.engine.confirmed(7)['s1']
        found.append((one.since - began, one.enforced))
    assert found == [(10.0, {str(to_come)})] * 3 + [(5.0, {str(earlier)})] * 2


def test_only_the_newest_period_is_sent_again(street):
    """Of an older one a host takes nothing; its confirmations are kept all the same."""
    sent = []
    street.hub.join('b', lambda sender, frame: sent.append(frame))
    expires, given = street.clock.wall() + 1000.0, message(street.clock).allocations
    for period in (7, 8):
        street.engine.send(period, expires, {'b': given})
    street.clock.advance(RETRANSMIT_AFTER)
    street.engine.confirmed(7)
    assert len(sent) == 2
    street.engine.confirmed(8)
    assert len(sent) == 3 and sent[2] == sent[1]


@pytest.mark.parametrize('value', [float('nan'), 1e300, 'much', [1.0], None])
def test_a_heaviness_that_is_none_is_refused(street, value):
    """With the whole confirmation: who writes that can't be believed in anything."""
    now = street.clock.wall() + 180.0
    street.engine.send(7, now, {'a': message(street.clock).allocations})
    word = Confirmation(host='a', engine=ENGINE, period=7, servers=('s1',))
    values = to_values(word) | {'heaviness': {'dora': value}}
    street.says('a', json.dumps(values).encode(), to=ENGINE)
    assert hosts_of(street.engine, 7) == {}
    assert street.engine.heaviness({'a': {'dora'}}) == {}
    assert street.engine.dropped == {'malformed': 1}


def test_a_message_that_got_lost_is_sent_again(street):
    """To hosts that have something to confirm and do not, ever more rarely, until it expires."""
    began = street.clock.monotonic()
    sent = {'a': [], 'b': [], 'c': []}
    for host in sent:
        street.hub.join(
            host,
            lambda sender, frame, host=host: sent[host].append(street.clock.monotonic() - began),
        )
    given = message(street.clock).allocations
    street.engine.send(7, street.clock.wall() + 180.0, {'a': given, 'b': given, 'c': []})
    word = Confirmation(host='b', engine=ENGINE, period=7, servers=('s1',))
    street.says('b', written(word), to=ENGINE)
    for _ in range(300):
        street.engine.confirmed(7)
        street.clock.advance(1.0)
    assert sent == {
        'a': [
            0.0,
            RETRANSMIT_AFTER,
            3 * RETRANSMIT_AFTER,
            7 * RETRANSMIT_AFTER,
            15 * RETRANSMIT_AFTER,
        ],
        'b': [0.0],
        'c': [0.0],
    }


def test_an_engine_takes_over(street):
    """The next leader sends the same period again, and is confirmed to."""
    street.engine.send(7, street.clock.wall() + 180.0, {'a': message(street.clock).allocations})
    other = AllocationSender(
        name='engine2',
        transport=LocalTransport(host='engine2', hub=street.hub),
        wire=PLAIN,
        clock=street.clock,
        membership=Roll(),
    )
    other.start()
    other.send(7, street.clock.wall() + 180.0, {'a': message(street.clock).allocations})
    street.line.confirm(street.granted, ['s1'], {})
    assert hosts_of(other, 7) == {'s1': 'a'}
    assert hosts_of(street.engine, 7) == {}


def test_what_servers_used_comes_with_a_confirmation(street):
    """U1: from a host that was asked; from another one it does not count."""
    minute = MinuteUse(at=60, servers={'s1': ServerUse(seconds=60, core_ms=500)})
    street.engine.send(7, street.clock.wall() + 180.0, {'a': message(street.clock).allocations})
    street.line.confirm(street.granted, ['s1'], {}, None, minute)
    street.line.confirm(street.granted, ['s1'], {})
    assert street.used == [('a', minute)]
    forged = Confirmation(host='a', engine=ENGINE, period=7, servers=('s1',), use=minute)
    LocalTransport(host='b', hub=street.hub).send(ENGINE, written(forged))
    unasked = Confirmation(host='b', engine=ENGINE, period=7, servers=('s1',), use=minute)
    LocalTransport(host='b', hub=street.hub).send(ENGINE, written(unasked))
    assert street.used == [('a', minute)]
    assert street.engine.dropped == {'forged': 1, 'unasked': 1}


def test_what_cannot_be_sent_is_sent_to_nobody(street, caplog):
    """A number that is none keeps one host from its message, not the others."""
    bad = Allocation(server_id='s1', cores=float('nan'), memory_mib=1.0)
    street.engine.send(
        7, street.clock.wall() + 180.0, {'b': [bad], 'a': message(street.clock).allocations}
    )
    assert street.granted.period == 7
    assert 'Host b is sent no allocations' in caplog.text


def test_news_wake_the_host(street):
    """So that a raised bid is felt before the next round would come."""
    woken = []
    street.line.subscribe(woken.append)
    street.says('b', written(message(street.clock, engine='b')))
    street.says(ENGINE, written(message(street.clock)))
    assert woken == ['allocations of period 7']


@pytest.fixture
def town(tmp_path):
    with contextlib.ExitStack() as stack:
        yield Town(tmp_path, stack)


def test_over_zmq_the_key_is_the_name(town):
    """A host with a key of its own is no engine; the engine is answered without having an address."""
    clock = ManualClock()
    town.introduce('a', 'b', ENGINE)
    for one in ('a', 'b', ENGINE):
        town.start(one)
        town.hosts[one].stop()
    roll = Roll()
    line = AllocationReceiver(
        host='a',
        transport=town_transport(town, 'a'),
        wire=CompactFormat(),
        clock=clock,
        engines=[ENGINE],
    )
    line.start(lambda sender, frame: None)
    engine = AllocationSender(
        name=ENGINE,
        transport=town_transport(town, ENGINE),
        wire=CompactFormat(),
        clock=clock,
        membership=roll,
    )
    engine.start()
    del town.addresses[ENGINE]
    thief = town_transport(town, 'b')
    thief.start(lambda sender, frame: None)
    try:
        forged = CompactFormat().encode(message(clock, period=99))

        def refused():
            thief.send('a', forged)
            return eventually(lambda: line.dropped.get('forged'), 0.3)

        assert eventually(refused)
        assert line.look().period == -1

        def confirmed():
            engine.send(7, clock.wall() + 180.0, {'a': message(clock).allocations})
            if eventually(lambda: line.look().period == 7, 0.3):
                line.confirm(line.look(), ['s1'], {})
            return eventually(lambda: hosts_of(engine, 7) == {'s1': 'a'}, 0.3)

        assert eventually(confirmed)
    finally:
        for one in (thief, engine, line):
            one.stop()


def town_transport(town, host):

    return ZmqTransport(host, town.addresses[host], lambda: town.addresses, town.keys(host))


def test_over_oslo_the_name_is_what_the_message_says(caplog):
    """The broker's accounts decide who can write; names that are not engines are refused all the same."""
    clock = ManualClock()
    caplog.set_level(logging.WARNING)
    with configured('fake://') as conf, contextlib.ExitStack() as stack:
        shared = oslo_messaging.get_rpc_transport(conf)
        stack.callback(shared.cleanup)
        made = [
            OsloTransport(conf=conf, host=one, ttl=60.0, transport=shared) for one in ('a', ENGINE)
        ]
        line = AllocationReceiver(
            host='a', transport=made[0], wire=PLAIN, clock=clock, engines=[ENGINE]
        )
        line.start(lambda sender, frame: None)
        engine = AllocationSender(
            name=ENGINE, transport=made[1], wire=PLAIN, clock=clock, membership=Roll()
        )
        engine.start()
        stack.callback(line.stop)
        stack.callback(engine.stop)

        def confirmed():
            engine.send(7, clock.wall() + 180.0, {'a': message(clock).allocations})
            if eventually(lambda: line.look().period == 7, 0.5):
                line.confirm(line.look(), ['s1'], {})
            return eventually(lambda: hosts_of(engine, 7) == {'s1': 'a'}, 0.5)

        assert eventually(confirmed)
        made[1].send('a', written(message(clock, engine='b', period=8)))
        assert eventually(lambda: line.dropped.get('unknown_engine') == 1)
        assert line.look().period == 7
