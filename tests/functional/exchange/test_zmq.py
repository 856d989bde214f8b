# SPDX-License-Identifier: Apache-2.0
"""Frames among hosts over ZeroMQ on loopback: who is believed, what is thrown away, what a change does."""

import contextlib
import os
import socket
import threading
import time

import pytest
import zmq
from zmq.utils import z85

from nova_market.adapters.transport.zmq import transport
from nova_market.adapters.transport.zmq.keys import KeyDirectory
from nova_market.adapters.transport.zmq.mailboxes import CAPACITY
from nova_market.adapters.transport.zmq.sockets import MAX_FRAME
from nova_market.adapters.transport.zmq.transport import ZmqTransport
from nova_market.errors import ConfigurationError
from tests.support.exchange.oslo import eventually
from tests.support.exchange.zmq_town import ANY_PORT, town

pytestmark = [pytest.mark.functional, pytest.mark.clock]

__all__ = ['town']


@pytest.fixture
def soon(monkeypatch):
    """Key files are looked at on each tick."""
    monkeypatch.setattr(transport, 'RELOAD', 0.1)


def test_a_frame_and_its_answer(town):
    """The name of the sender is proven both ways; the answer takes the same connection."""
    town.introduce('a', 'b')
    a, b = town.start('a'), town.start('b')
    assert town.says('a', 'b', b'question')
    del town.addresses['a']  # b could not connect to it
    assert town.says('b', 'a', b'answer')
    assert a.dropped == {} and b.dropped == {}


def test_order_and_size(town):
    """Frames of up to 4 MiB; what is sent at once arrives in order and once."""
    town.introduce('a', 'b')
    a, b = town.start('a'), town.start('b')
    assert town.says('a', 'b', b'up')
    count = len(town.received['b'])
    frames = [bytes([n]) * MAX_FRAME for n in range(CAPACITY)]
    for frame in frames:
        a.send('b', frame)
    assert eventually(lambda: len(town.received['b']) == count + CAPACITY)
    assert [frame for _, frame in town.received['b'][count:]] == frames
    a.send('b', b'x' * (MAX_FRAME + 1))
    assert a.dropped['oversized'] == 1
    assert b.dropped == {}


def test_broadcast_reaches_everybody_else(town):
    """And not the speaker."""
    town.introduce('a', 'b', 'c')
    a, _, _ = (town.start(host) for host in 'abc')

    def all_heard():
        a.broadcast(b'news')
        return eventually(lambda: all(('a', b'news') in town.received[h] for h in 'bc'), 0.3)

    assert eventually(all_heard)
    assert town.received['a'] == []


def test_the_newest_frames_wait_for_a_host_that_is_away(town):
    """It gets what was sent last when it comes, not what was sent first."""
    town.introduce('a', 'b')
    a, b = town.start('a'), town.start('b')
    assert town.says('a', 'b')
    b.stop()
    # the cut must have been noticed, else libzmq takes some frames along
    assert eventually(lambda: a.connected == ())
    for number in range(100):
        a.send('b', b'%d' % number)
    assert eventually(lambda: a.dropped.get('unsent') == 100 - CAPACITY)
    town.received['b'].clear()
    town.start('b')
    assert eventually(lambda: len(town.received['b']) == CAPACITY)
    assert [frame for _, frame in town.received['b']] == [b'96', b'97', b'98', b'99']
    assert a.dropped['unsent'] == 100 - CAPACITY


def test_an_unknown_peer_is_refused_and_counted(town, caplog):
    """Its frames are not heard; both sides say so once; from the moment its key is there it is heard."""
    town.introduce('a', 'b')
    town.keys('b').remove('a')
    town.start('a'), town.start('b')
    assert not town.says('a', 'b', patience=1.0)
    assert town.received['b'] == []
    b = town.hosts['b']
    assert b.dropped['unknown_peer'] >= 1
    # private: that libzmq has reported each end is counted nowhere else
    assert eventually(lambda: b._sockets._listener._ended == b.dropped['unknown_peer'])
    assert town.hosts['a'].dropped.get('unsent', 0) <= 10
    ours = [r.getMessage() for r in caplog.records]
    assert sum('is not in the allow-list' in m for m in ours) == 1
    assert sum('host b refuses the connection' in m for m in ours) == 1


def test_a_stranger_is_not_heard(town):
    """Without CURVE, with a key of its own, with the wrong key of the server, and with garbage."""
    town.introduce('a', 'b')
    b = town.start('b')
    context = zmq.Context()
    pair = zmq.curve_keypair()
    server = z85.encode(town.keys('b').load().own.public)
    strangers = [None, (pair, server), (pair, zmq.curve_keypair()[0])]
    try:
        for keys in strangers:
            with context.socket(zmq.DEALER) as stranger:
                stranger.linger = 0
                if keys:
                    (stranger.curve_publickey, stranger.curve_secretkey), key = keys
                    stranger.curve_serverkey = key
                before = sum(b.dropped.values())
                stranger.connect(b.endpoint)
                stranger.send(b'believe me')
                assert eventually(lambda n=before: sum(b.dropped.values()) > n)
    finally:
        context.term()
    assert town.received['b'] == []
    assert b.dropped['unknown_peer'] >= 1
    assert b.dropped['handshake'] >= 2
    town.start('a')
    assert town.says('a', 'b')


@pytest.mark.parametrize(
    'text',
    [b'', b'GET / HTTP/1.0\r\n\r\n', bytes(range(256)) * 8, b'\xff' * 64, b'\x01\x00' * 200],
    ids=['nothing', 'http', 'bytes', 'greeting', 'old'],
)
def test_what_is_no_zeromq_is_counted_once(town, monkeypatch, text):
    """A port scanner is hung up on; hosts that prove who they are do not hide it, nor are they counted."""
    monkeypatch.setattr('nova_market.adapters.transport.zmq.listener.RIPE', 0.3)
    town.introduce('a', 'b')
    b = town.start('b')
    town.start('a')
    assert town.says('a', 'b')
    host, port = b.endpoint.removeprefix('tcp://').split(':')
    for number in (1, 2):
        with socket.create_connection((host, int(port))) as scanner:
            scanner.sendall(text)
        assert eventually(lambda n=number: b.dropped.get('handshake') == n)
    town.hosts['a'].stop()
    town.start('a')
    assert town.says('a', 'b')
    # private: only who is late would be counted; that nobody was shows in nothing else
    assert eventually(lambda: b._sockets._listener._ripe >= 4)
    assert b.dropped == {'handshake': 2}


def test_a_revoked_key_is_not_heard_on_an_open_connection(town, soon):
    """Revoking acts within seconds, and so does believing again."""
    town.introduce('a', 'b')
    town.start('a')
    b = town.start('b')
    assert town.says('a', 'b')
    key = town.keys('a').load().own.public
    town.keys('b').remove('a')
    assert eventually(lambda: not town.says('a', 'b', patience=0.0) and b.dropped['unknown_peer'])
    assert not town.says('b', 'a', patience=0.5)
    town.keys('b').add('a', [key])
    assert town.says('a', 'b')
    assert town.says('b', 'a')


def test_nothing_is_sent_to_a_host_whose_key_was_revoked(town, soon):
    """The line to it is closed, and its mail thrown away."""
    town.introduce('a', 'b')
    a = town.start('a')
    town.start('b')
    assert town.says('a', 'b')
    town.keys('a').remove('b')
    assert eventually(lambda: a.connected == ())
    count = len(town.received['b'])
    a.send('b', b'secret')
    assert eventually(lambda: a.dropped.get('no_line') == 1)
    assert len(town.received['b']) == count


def test_keys_are_rotated_while_hosts_talk(town, soon, monkeypatch):
    """The next key is told, used, and the old one revoked; after each step everybody hears everybody."""
    monkeypatch.setattr('nova_market.adapters.transport.zmq.connections.RETRY', 0.3)
    town.introduce('a', 'b')
    town.start('a'), town.start('b')
    assert town.says('a', 'b') and town.says('b', 'a')
    old = town.keys('a').load().own.public
    new = town.keys('a').begin_rotation().following.public
    town.keys('b').add('a', [new])
    assert town.says('a', 'b') and town.says('b', 'a')
    town.keys('a').finish_rotation()
    # private: keys that are read again may change nothing that others see
    assert eventually(lambda: town.hosts['a']._ring.own.public == new)
    assert town.says('a', 'b') and town.says('b', 'a')
    town.keys('b').remove('a', old)
    # private: as above
    assert eventually(lambda: old not in town.hosts['b']._ring.names)
    assert town.says('a', 'b') and town.says('b', 'a')
    assert town.hosts['a'].trouble == ''


def test_a_line_finds_the_key_in_use(town, monkeypatch):
    """A host that comes up in the middle of another's rotation tries both keys."""
    monkeypatch.setattr('nova_market.adapters.transport.zmq.connections.RETRY', 0.3)
    town.introduce('a', 'b')
    town.keys('a').add('b', [town.keys('b').begin_rotation().following.public])
    town.keys('b').finish_rotation()
    town.start('a'), town.start('b')
    assert len(town.keys('a').load().peers['b']) == 2
    assert town.says('a', 'b')


def test_damaged_keys_leave_the_old_ones_in_use(town, soon, caplog):
    """A secret that others can read is not used; what runs goes on and says so."""
    town.introduce('a', 'b')
    town.start('a')
    town.start('b')
    os.chmod(town.path / 'b' / 'host.key', 0o644)
    (town.path / 'b' / 'peers' / 'c.pub').write_text('nonsense')
    assert eventually(lambda: 'keys are not read again' in caplog.text)
    assert town.says('a', 'b')


def test_two_machines_with_the_same_secret(town):
    """Somebody who has this host's own key cannot speak as this host to itself."""
    town.introduce('a', 'b')
    town.keys('b').add('b', [town.keys('b').load().own.public])
    b = town.start('b')
    pair = town.keys('b').load().own
    with zmq.Context() as context, context.socket(zmq.DEALER) as thief:
        thief.linger = 0
        thief.curve_publickey, thief.curve_secretkey = pair.public, pair.secret
        thief.curve_serverkey = pair.public
        thief.connect(b.endpoint)
        thief.send(b'I am you')
        assert eventually(lambda: b.dropped.get('our_name') == 1)
    assert town.received['b'] == []


@pytest.mark.parametrize(
    ('parts', 'reason'),
    [
        ([b'two', b'parts'], 'malformed'),
        ([b'x' * (MAX_FRAME + 1)], 'oversized'),
        ([b'x' * (2 * MAX_FRAME + 1)], None),
    ],
    ids=['parts', 'oversized', 'cut'],
)
def test_a_peer_that_says_nonsense(town, parts, reason):
    """It is not heard, it is counted (beyond twice the limit it is cut off), and the others go on."""
    town.introduce('a', 'b', 'c')
    b = town.start('b')
    pair = town.keys('a').load().own
    with zmq.Context() as context, context.socket(zmq.DEALER) as peer:
        peer.linger = 0
        peer.curve_publickey, peer.curve_secretkey = pair.public, pair.secret
        peer.curve_serverkey = town.keys('b').load().own.public
        peer.connect(b.endpoint)
        peer.send(b'good')
        assert eventually(lambda: ('a', b'good') in town.received['b'])
        peer.send_multipart(parts)
        if reason:
            assert eventually(lambda: b.dropped.get(reason) == 1)
        town.start('c')
        assert town.says('c', 'b')
    assert len([sender for sender, _ in town.received['b'] if sender == 'a']) == 1


class Wire:
    """A relay before a host that keeps what was sent to it."""

    def __init__(self, endpoint):
        host, port = endpoint.removeprefix('tcp://').split(':')
        self.target = host, int(port)
        self.received = []
        self.server = socket.create_server(('127.0.0.1', 0))
        self.server.settimeout(20.0)
        self.endpoint = f'tcp://127.0.0.1:{self.server.getsockname()[1]}'
        self.threads = [threading.Thread(target=self._relay)]
        self.threads[0].start()

    def _relay(self):
        client, _ = self.server.accept()
        with client, socket.create_connection(self.target) as target:
            back = threading.Thread(target=self._copy, args=(target, client, []))
            back.start()
            self._copy(client, target, self.received)
            back.join()

    @staticmethod
    def _copy(source, sink, received):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                received.append(data)
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def close(self):
        for thread in self.threads:
            thread.join()
        self.server.close()


def test_a_recorded_connection_cannot_be_replayed(town):
    """Whoever has recorded every byte that a sent to b can't send it again: each handshake is new."""
    town.introduce('a', 'b')
    b = town.start('b')
    wire = Wire(b.endpoint)
    town.addresses['b'] = wire.endpoint
    a = town.start('a')
    assert town.says('a', 'b', b'pay attention')
    a.stop()
    wire.close()
    recorded = b''.join(wire.received)
    assert len(recorded) > 300 and b'pay attention' not in recorded
    count, before = len(town.received['b']), b.dropped.get('handshake', 0)
    with socket.create_connection(wire.target) as replay:
        replay.sendall(recorded)
        replay.settimeout(20.0)
        while replay.recv(65536):  # until b hangs up
            pass
    assert eventually(lambda: b.dropped.get('handshake', 0) == before + 1)
    assert len(town.received['b']) == count


def test_hosts_without_key_or_address(town, caplog):
    """What is meant for them is counted, and their mail does not pile up."""
    town.introduce('a', 'b')
    a = town.start('a')
    town.addresses |= {
        'b': '',
        'c': 'tcp://127.0.0.1:9',
        'd': 'udp://127.0.0.1:9',
        'e': 'tcp://x:0',
    }
    for _ in range(3):
        a.broadcast(b'hello')
    assert eventually(lambda: a.dropped.get('no_address') == 9 and a.dropped.get('no_line') == 3)
    assert 'host c has no public key in the allow-list' in caplog.text
    assert a._mail.waiting() == []  # private: what piles up is seen in memory only


def test_two_hosts_with_one_address(town):
    """A mistake in the list of members is logged, and the first one is served."""
    town.introduce('a', 'b', 'c')
    a = town.start('a')
    town.start('b')
    town.addresses['c'] = town.addresses['b']
    assert town.says('a', 'b')
    a.send('c', b'hello')
    assert eventually(lambda: a.dropped.get('no_line') == 1)
    assert town.says('a', 'b')


def test_a_host_that_moves_is_found(town):
    """A new address counts at the next look."""
    town.introduce('a', 'b')
    town.start('a')
    town.start('b')
    assert town.says('a', 'b')
    town.hosts['b'].stop()
    del town.addresses['b']
    town.start('b')
    assert town.says('a', 'b')


def test_a_handler_that_fails_is_survived(town, caplog):
    """The fault of one frame is in the log; the next one is handled."""
    town.introduce('a', 'b')
    received = []

    def receive(sender, frame):
        received.append(frame)
        raise ValueError('broken')

    b = ZmqTransport('b', ANY_PORT, lambda: town.addresses, town.keys('b'))
    b.start(receive)
    try:
        town.addresses['b'] = b.endpoint
        a = town.start('a')
        a.send('b', b'1')
        a.send('b', b'2')
        assert eventually(lambda: received == [b'1', b'2'])
        assert b.trouble == ''
    finally:
        b.stop()
    assert 'a frame of host a could not be handled' in caplog.text


def test_without_keys_on_loopback(town):
    """For development: nobody is proven, nothing leaves the machine."""
    a, b = town.start('a', keys=False), town.start('b', keys=False)

    def received():
        a.send('b', b'hello')
        return eventually(lambda: (None, b'hello') in town.received['b'], 0.3)

    assert eventually(received)
    town.addresses['c'] = 'tcp://192.0.2.1:9653'
    a.send('c', b'hello')
    assert eventually(lambda: a.dropped.get('no_line') == 1)
    assert b.dropped == {}


@pytest.mark.parametrize(
    ('bind', 'keys', 'what'),
    [
        ('tcp://0.0.0.0:9653', False, 'without keys only a loopback address'),
        ('tcp://*:9653', False, 'without keys only a loopback address'),
        ('tcp://[::]:9653', False, 'without keys only a loopback address'),
        ('127.0.0.1:9653', True, 'must be tcp://ADDRESS:PORT'),
        ('tcp://127.0.0.1:99999', True, 'must be tcp://ADDRESS:PORT'),
        ('tcp://127.0.0.1', True, 'must be tcp://ADDRESS:PORT'),
    ],
)
def test_an_address_that_cannot_work(tmp_path, bind, keys, what):
    """It names the option, the value and what to do."""
    directory = KeyDirectory(str(tmp_path), 'a') if keys else None
    with pytest.raises(ConfigurationError, match=what) as caught:
        ZmqTransport('a', bind, dict, directory)
    assert '[exchange]zmq_bind' in str(caught.value) and bind in str(caught.value)


def test_an_address_in_use_or_a_missing_key(town):
    """Known at the start, with one clear line; nothing is left behind."""
    town.introduce('a')
    taken = town.start('a').endpoint
    again = ZmqTransport('a', taken, dict, town.keys('a'))
    with pytest.raises(ConfigurationError, match='cannot be listened on'):
        again.start(print)
    with pytest.raises(ConfigurationError, match='nova-market-manage keys create'):
        ZmqTransport('z', ANY_PORT, dict, town.keys('z')).start(print)
    again.stop()


def test_stop_is_quick_and_sends_the_last_word(town):
    """Also with hosts that do not answer."""
    town.introduce('a', 'b', 'c')
    a = town.start('a')
    town.start('b')
    town.addresses['c'] = 'tcp://127.0.0.1:9'
    assert town.says('a', 'b')
    a.broadcast(b'goodbye')
    began = time.monotonic()
    a.stop()
    assert time.monotonic() - began < 1.5
    assert eventually(lambda: ('a', b'goodbye') in town.received['b'])
    a.send('b', b'after')
    a.stop()
