# SPDX-License-Identifier: Apache-2.0
"""The exchange over oslo.messaging in one process: hostile messages, no broker, bad options."""

import logging
import socket
import time

import oslo_messaging
import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.transport import oslo
from nova_market.adapters.transport.oslo import OsloTransport
from nova_market.adapters.transport.wire_format import MAX_FRAME, PlainFormat
from nova_market.errors import ConfigurationError
from nova_market.services.exchange import health
from tests.support.exchange.exchanges import Roll, put_together
from tests.support.exchange.oslo import configured, eventually
from tests.support.host_builders import report

pytestmark = [pytest.mark.functional, pytest.mark.clock]

TTL = 30.0


def encode(message):
    return PlainFormat().encode(message).decode()


OURS = health.__name__


def over(transport, host='a', clock=None, topology='broadcast', **parts):
    """An exchange of one host, not started."""
    return put_together(
        topology,
        host=host,
        metric='greediness',
        ttl=TTL,
        clock=clock or ManualClock(),
        transport=transport,
        membership=Roll(host),
        **parts,
    )


@pytest.fixture
def transport():
    with configured('fake://') as conf:
        made = oslo_messaging.get_rpc_transport(conf)
        yield made
        made.cleanup()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def exchange(transport, clock):
    """A started exchange of host a that hears itself."""
    made = over(
        OsloTransport(conf=transport.conf, host='a', ttl=TTL, transport=transport), clock=clock
    )
    made.start()
    numbers = iter(range(1000))

    def works():
        made.publish(report('a', incarnation=1, sequence=next(numbers)))
        return eventually(lambda: made.totals().age == 0.0, 0.5)

    assert eventually(works)
    yield made
    made.stop()


@pytest.fixture
def stranger(transport):
    """Anybody with the password: casts what it likes to all hosts."""
    client = oslo_messaging.get_rpc_client(
        transport, oslo_messaging.Target(topic=oslo.TOPIC, fanout=True)
    )
    return lambda text, **more: client.cast({}, 'tell', text=text, **more)


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('x' * (MAX_FRAME + 1), 'oversized'),
        ('not json', 'malformed'),
        ('[' * 50_000, 'malformed'),
        ('{"v":1,"host":"b","supply":[NaN]}', 'malformed'),
        (None, 'malformed'),
        (7, 'malformed'),
        ({'host': 'b'}, 'malformed'),
        ([[[[]]]], 'malformed'),
        (encode(report('b', metric='asset')), 'other_metric'),
        (encode(report('a', {'d': (1e9,)}, incarnation=2**62)), 'our_name'),
        (encode(report('a', incarnation=0)), 'stale'),
    ],
    ids=lambda v: f'{v!s:.25}',
)
def test_a_hostile_message_is_dropped_and_counted(exchange, stranger, text, reason):
    """By its reason; and the next good one is taken."""
    before = exchange.dropped.get(reason, 0)
    stranger(text)
    stranger(encode(report('c', {'e': (1.0,)})))
    assert eventually(lambda: exchange.totals().owners == ('e',))
    assert exchange.dropped[reason] == before + 1
    assert exchange.totals().hosts == 2


def test_unknown_arguments_and_methods_are_survived(exchange, stranger, transport):
    """A later version may say more; what is no method of ours is oslo.messaging's to refuse."""
    client = oslo_messaging.get_rpc_client(
        transport, oslo_messaging.Target(topic=oslo.TOPIC, fanout=True)
    )
    for method in ('_hear', '__init__', 'stop', 'x' * 1000):
        client.cast({}, method, text='{}')
    stranger(encode(report('c', {'e': (1.0,)})), colour='red')
    assert eventually(lambda: exchange.totals().owners == ('e',))


def test_a_drop_is_logged_once_per_reason(exchange, stranger, caplog):
    """A flood of garbage must not fill the log as well."""
    with caplog.at_level(logging.INFO, OURS):
        for _ in range(5):
            stranger('garbage\n\x1b[31m')
            stranger(encode(report('a', incarnation=99)))
        assert eventually(
            lambda: exchange.dropped.get('malformed') == 5 and exchange.dropped['our_name'] == 5
        )
    ours = [r.getMessage() for r in caplog.records if r.name == OURS]
    assert len(ours) == 2
    assert all(message.isprintable() for message in ours)
    assert any('another service use this name' in message for message in ours)


def test_nobody_else_can_make_the_transport_look_alive(exchange, stranger, clock):
    """Only a report that this host has sent tells that the transport works."""
    clock.advance(100.0)
    stranger(encode(report('a', incarnation=99)))
    assert eventually(lambda: exchange.dropped.get('our_name') == 1)
    assert exchange.totals().age == 100.0


def closed_port():
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def test_without_a_broker_nothing_waits(caplog):
    """Every call returns at once, this host still knows itself, and the log says it once."""
    clock = ManualClock()
    with configured(f'rabbit://market:geheim@127.0.0.1:{closed_port()}/') as conf:
        exchange = over(OsloTransport(conf=conf, host='a', ttl=TTL), clock=clock)
        began = time.monotonic()
        exchange.start()
        for number in range(200):
            exchange.publish(report('a', {'d': (1.0,)}, sequence=number))
        assert exchange.totals().owners == ('d',)
        assert time.monotonic() - began < 1.0
        assert exchange.totals().age > TTL
        assert eventually(lambda: exchange.totals() and 'the exchange is down' in caplog.text)
        clock.advance(60.0)
        exchange.publish(report('a', {'d': (2.0,)}, sequence=1000))
        assert exchange.totals().sums.tolist() == [[2.0]]
        began = time.monotonic()
        exchange.stop()
        assert time.monotonic() - began < oslo.STOP_SECONDS + 1.0
    assert sum('the exchange is down' in r.getMessage() for r in caplog.records) == 1
    assert 'geheim' not in caplog.text


def test_stop_without_start():
    """The service may be told to stop while it starts."""
    with configured('fake://') as conf:
        over(OsloTransport(conf=conf, host='a', ttl=TTL)).stop()


@pytest.mark.parametrize(
    'url', ['kafka://u:geheim@h:9092/', 'nonsense://u:geheim@h/', 'rabbit://u:geheim@h:port/', '::']
)
def test_a_transport_that_cannot_work_is_a_clear_error(url):
    """It names the option and what to do, and never the password."""
    with configured('fake://') as conf:
        conf.set_override('transport_url', url)
        with pytest.raises(ConfigurationError, match='transport_url') as caught:
            OsloTransport(conf=conf, host='a', ttl=TTL)
        assert 'geheim' not in str(caught.value)


def test_the_operator_has_the_last_word_on_queues():
    """Our defaults fill in for oslo.messaging's only where nothing is set."""
    with configured('rabbit://u:p@127.0.0.1:1/') as conf:
        oslo_messaging.get_rpc_transport(conf).cleanup()
        conf.set_override('rabbit_interval_max', 17, group='oslo_messaging_rabbit')
        try:
            OsloTransport(conf=conf, host='a', ttl=90.0)
            assert conf.oslo_messaging_rabbit.rabbit_transient_queues_ttl == 180
            assert conf.oslo_messaging_rabbit.rabbit_interval_max == 17
        finally:
            conf.clear_override('rabbit_interval_max', group='oslo_messaging_rabbit')
