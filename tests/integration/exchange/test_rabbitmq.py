# SPDX-License-Identifier: Apache-2.0
"""The exchange over a real RabbitMQ: two processes, an outage, garbage, and what stays in the broker."""

import contextlib
import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import amqp
import pytest

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.transport import oslo
from nova_market.adapters.transport.oslo import OsloTransport
from nova_market.services.exchange import health
from tests.support.exchange.exchanges import Roll, Rounds, put_together, sums
from tests.support.exchange.oslo import configured, eventually
from tests.support.host_builders import report

pytestmark = [
    pytest.mark.integration('rabbitmq-server', 'epmd'),
]

ROOT = Path(__file__).resolve().parents[3]
INTERVAL = 1.0
TTL = 3.0
OURS = health.__name__


class Peer:
    """Another host, in another process; `last` is what it has printed last."""

    def __init__(self, url, host, owner, value, members=()):
        arguments = [host, owner, str(value), str(INTERVAL), str(TTL), *members]
        self.last = {}
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'tests.support.exchange.oslo_peer', *arguments],
            cwd=ROOT,
            env={**os.environ, 'TRANSPORT_URL': url},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.last = json.loads(line)

    def leave(self):
        """End it as a service is stopped."""
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(15)

    def kill(self):
        """End it as a host that loses its power."""
        self.process.kill()
        self.process.wait(15)
        self._reader.join(5)
        self.process.stdout.close()
        with contextlib.suppress(OSError):
            self.process.stdin.close()


@pytest.fixture
def peers():
    """Makes peers, ends them all."""
    made = []

    def make(*arguments, **options):
        made.append(Peer(*arguments, **options))
        return made[-1]

    yield make
    for peer in made:
        peer.kill()


def over(conf, members=(), host='here'):
    """An exchange of this process, not started."""
    return put_together(
        'aggregate' if members else 'broadcast',
        host=host,
        metric='greediness',
        ttl=TTL,
        clock=SystemClock(),
        transport=OsloTransport(conf=conf, host=host, ttl=TTL, addressed=bool(members)),
        membership=Roll(*(members or [host])),
    )


EVERYBODY = ('here', 'there', 'third', 'newcomer')


@pytest.fixture
def members():
    """Of the exchanges that a test makes; none = broadcast."""
    return ()


both_topologies = pytest.mark.parametrize(
    'members', [(), EVERYBODY], ids=['broadcast', 'aggregate']
)


@pytest.fixture
def exchange(rabbitmq, members):
    with configured(rabbitmq.url) as conf:
        made = over(conf, members)
        made.start()
        yield made
        made.stop()


def rounds(exchange, owners=('d',)):
    """Host `here` publishes every interval."""
    reported = report('here', dict.fromkeys(owners, (1.0,)), incarnation=7)
    return Rounds(exchange, reported, INTERVAL, time.monotonic)


@both_topologies
def test_three_processes(rabbitmq, exchange, peers, members):
    """All see the sums over all; who leaves is out soon, who dies is out after the time to live."""
    there = peers(rabbitmq.url, 'there', 'd', 0.5, members)
    third = peers(rabbitmq.url, 'third', 'd', 2.0, members)
    with rounds(exchange):
        assert eventually(lambda: sums(exchange) == {'d': 3.5})
        assert eventually(lambda: there.last.get('owners') == {'d': 3.5})
        assert eventually(lambda: there.last['age'] <= TTL)
        third.leave()
        assert eventually(lambda: sums(exchange) == {'d': 1.5}, 3 * TTL)
        there.kill()
        assert sums(exchange) == {'d': 1.5}
        assert eventually(lambda: sums(exchange) == {'d': 1.0}, 4 * TTL)


@both_topologies
def test_a_broker_that_is_away_for_a_while(rabbitmq, exchange, peers, members, caplog):
    """No round waits, each host goes on alone, totals come back by themselves, and the log says it once."""
    there = peers(rabbitmq.url, 'there', 'd', 0.5, members)
    with caplog.at_level(logging.INFO, OURS), rounds(exchange) as publishing:
        assert eventually(lambda: sums(exchange) == {'d': 1.5})
        assert eventually(lambda: there.last.get('hosts') == 2)
        caplog.clear()
        rabbitmq.stop()
        try:
            assert eventually(lambda: exchange.totals().age > TTL)
            assert eventually(lambda: sums(exchange) == {'d': 1.0}, 2 * TTL)
            assert eventually(lambda: there.last['owners'] == {'d': 0.5})
            threading.Event().wait(3 * TTL)
        finally:
            rabbitmq.start()
        began = time.monotonic()
        assert eventually(lambda: sums(exchange) == {'d': 1.5}, 60.0)
        assert eventually(lambda: there.last['hosts'] == 2, 60.0)
        took = time.monotonic() - began
        assert eventually(lambda: exchange.totals().age < TTL)
        assert publishing.slowest < 1.0
    ours = [r.getMessage() for r in caplog.records if r.name == OURS]
    assert [('is down' in m, 'works again' in m) for m in ours] == [(True, False), (False, True)]
    assert rabbitmq.password not in caplog.text
    print(  # noqa: T201
        f'totals came back {took:.1f} s after the broker; slowest round {publishing.slowest:.4f} s'
    )


@pytest.mark.parametrize('members', [EVERYBODY], ids=['aggregate'])
def test_an_aggregator_that_is_killed(rabbitmq, exchange, peers, members):
    """Its shard moves within three intervals; meanwhile the last totals stay in force, and nothing dips."""
    made = {one: peers(rabbitmq.url, one, 'd', 1.0, members) for one in members if one != 'here'}
    with rounds(exchange) as publishing:
        # three processes begin at once
        assert eventually(lambda: sums(exchange) == {'d': 4.0}, 60.0)
        assert eventually(lambda: all(p.last.get('owners') == {'d': 4.0} for p in made.values()))
        (elected,) = exchange.aggregators
        assert elected != 'here', 'choose other names: this process must not be the aggregator'
        made[elected].kill()
        began = time.monotonic()
        publishing.seen.clear()
        assert eventually(lambda: exchange.aggregators != (elected,))
        took = time.monotonic() - began
        assert took < 3 * INTERVAL + 0.5
        others = [peer for one, peer in made.items() if one != elected]
        assert eventually(
            lambda: (
                sums(exchange) == {'d': 3.0}
                and all(peer.last['owners'] == {'d': 3.0} for peer in others)
            )
        )
        assert {reported['d'] for reported in publishing.seen} <= {4.0, 3.0}
        assert exchange.totals().age <= TTL
    print(f'another aggregator was asked {took:.1f} s after the first was killed')  # noqa: T201


def test_started_before_the_broker(rabbitmq, caplog):
    """A host that boots first finds the broker when it comes."""
    rabbitmq.stop()
    try:
        with configured(rabbitmq.url) as conf:
            early = over(conf)
            early.start()
            try:
                with rounds(early):
                    assert eventually(lambda: 'the exchange is down' in caplog.text)
                    rabbitmq.start()
                    assert eventually(lambda: early.totals().age < TTL, 60.0)
            finally:
                early.stop()
    finally:
        if not rabbitmq.runs:
            rabbitmq.start()


GARBAGE = [
    b'',
    b'\xff\xfe\x00',
    b'not json',
    b'[]',
    b'7',
    b'{}',
    b'[' * 100_000,
    b'{"oslo.version": "2.0", "oslo.message": "[[["}',
    b'{"oslo.version": "2.0", "oslo.message": 7}',
    b'{"oslo.version": "99.0", "oslo.message": "{}"}',
    b'{"oslo.version": "2.0", "oslo.message": "{}"}',
    b'{"oslo.version": "2.0", "oslo.message": "{\\"method\\": 7, \\"args\\": []}"}',
    b'{"oslo.version": "2.0", "oslo.message": "{\\"method\\": \\"tell\\", \\"args\\": [1]}"}',
]


def envelope(text, number):
    """A message as oslo.messaging writes it."""
    message = {
        'method': 'tell',
        'args': {'text': text},
        'version': '1.0',
        '_unique_id': f'stranger{number}',
    }
    return json.dumps({'oslo.version': '2.0', 'oslo.message': json.dumps(message)}).encode()


def test_garbage_from_anybody_with_the_password(rabbitmq, exchange, peers, caplog):
    """A raw producer breaks nothing: what follows is heard, by the same process."""
    there = peers(rabbitmq.url, 'there', 'e', 0.5)
    with rounds(exchange):
        assert eventually(lambda: there.last.get('hosts') == 2)
        with contextlib.closing(rabbitmq.connection()) as connection:
            channel = connection.channel()

            def send(body, **properties):
                channel.basic_publish(
                    amqp.Message(body, **properties), exchange=f'{oslo.TOPIC}_fanout'
                )

            for body in GARBAGE:
                send(body, content_type='application/json', content_encoding='utf-8')
                send(body)
                send(body, content_type='application/x-python-serialize')
                send(body, content_type='application/json', content_encoding='no-such-code')
            for number, text in enumerate(['garbage', 'x' * 5_000_000, '[' * 50_000, None]):
                send(
                    envelope(text, number),
                    content_type='application/json',
                    content_encoding='utf-8',
                )
            assert eventually(lambda: exchange.dropped.get('oversized') == 1)
            assert eventually(lambda: exchange.dropped.get('malformed') == 3)
        newcomer = peers(rabbitmq.url, 'newcomer', 'f', 4.0)
        assert eventually(lambda: sums(exchange) == {'d': 1.0, 'e': 0.5, 'f': 4.0})
        assert eventually(lambda: there.last['owners'] == {'d': 1.0, 'e': 0.5, 'f': 4.0})
        assert there.process.poll() is None and newcomer.process.poll() is None
        assert there.last['dropped']['oversized'] == 1


def queues(broker):
    """Name -> arguments of all queues of the broker that are ours."""
    rows = json.loads(broker.ctl('list_queues', 'name', 'arguments', '--formatter=json'))
    return {row['name']: row['arguments'] for row in rows if row['name'].startswith('nova_market')}


def test_a_host_owns_one_queue_and_it_expires(rabbitmq, exchange, peers):
    """So a thousand hosts make a thousand queues, and dead ones leave nothing that fills up."""
    # of the fixture's exchange, and of hosts that other tests have killed
    before = queues(rabbitmq)
    there = peers(rabbitmq.url, 'there', 'e', 0.5)
    with rounds(exchange):
        assert eventually(lambda: there.last.get('hosts') == 2)
        found = queues(rabbitmq)
        own = set(found) - set(before)
        shared = sorted(name for name in found if '_fanout_' not in name)
        assert len(own) == 1
        assert shared == ['nova_market.fairness', 'nova_market.fairness.all']
        assert all('x-expires' in str(found[name]) for name in own)
        connections = json.loads(rabbitmq.ctl('list_connections', 'pid', '--formatter=json'))
        assert len(connections) == 4, 'one to listen and one to send per host'
        there.leave()
        assert eventually(lambda: not own & set(queues(rabbitmq))), 'it takes its queue along'


def lengths(broker):
    """Name -> messages that wait, of all queues of the broker."""
    rows = json.loads(broker.ctl('list_queues', 'name', 'messages', '--formatter=json'))
    return {row['name']: row['messages'] for row in rows}


@pytest.mark.alone
@pytest.mark.parametrize('members', [EVERYBODY], ids=['aggregate'])
def test_the_policy_of_the_documentation(rabbitmq, exchange, peers, members):
    """It takes away what nobody reads, then the queue of a host that is gone, which can come back; the
    queues of living hosts stay. Times are the documentation's, divided so that a test can wait for them."""
    page = (ROOT / 'doc/source/admin/exchange.rst').read_text()
    found = re.search(r"set_policy .*--apply-to queues fairness '(.+)' \\\n *'(.+)'", page)
    pattern, definition = found[1], json.loads(found[2])
    assert definition == {'expires': 24 * 3600 * 1000, 'message-ttl': 30_000}
    short = json.dumps({'expires': 9_000, 'message-ttl': 3_000})
    rabbitmq.ctl('set_policy', '--apply-to', 'queues', 'fairness', pattern, short)
    try:
        there = peers(rabbitmq.url, 'there', 'd', 0.5, members)
        with rounds(exchange):
            assert eventually(lambda: sums(exchange) == {'d': 1.5})
            there.kill()
            # nobody asks this one for anything
            unread, dead = f'{oslo.TOPIC}.unread', f'{oslo.TOPIC}.there'
            with contextlib.closing(rabbitmq.connection()) as connection:
                channel = connection.channel()
                channel.queue_declare(unread, durable=False, auto_delete=False)
                channel.basic_publish_confirm(amqp.Message(b'late'), routing_key=unread)
                assert channel.queue_declare(unread, passive=True).message_count == 1
                # not by rabbitmqctl, which may take longer than the queue lives
                assert eventually(
                    lambda: channel.queue_declare(unread, passive=True).message_count == 0
                )
            assert eventually(lambda: not {unread, dead} & lengths(rabbitmq).keys(), 40.0)
            assert f'{oslo.TOPIC}.here' in lengths(rabbitmq)
            peers(rabbitmq.url, 'there', 'd', 0.25, members)
            assert eventually(lambda: sums(exchange) == {'d': 1.25})
    finally:
        rabbitmq.ctl('clear_policy', 'fairness')
