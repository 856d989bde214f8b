# SPDX-License-Identifier: Apache-2.0
"""Frames among hosts over ZeroMQ on loopback: who is believed, what is thrown away, what a change does."""

import contextlib
import os
import threading

import pytest
import zmq
from zmq.utils import z85

from nova_market.adapters import zmq_transport
from nova_market.adapters.curve_keys import KeyDirectory
from nova_market.adapters.zmq_socket import MAX_FRAME
from nova_market.adapters.zmq_transport import MAILBOX, ZmqTransport
from nova_market.errors import ConfigurationError
from tests.fixtures.oslo import eventually

pytestmark = pytest.mark.functional

ANY_PORT = 'tcp://127.0.0.1:*'


class Town:
    """Hosts on loopback that know each other's keys and addresses."""

    def __init__(self, path, stack):
        self.path = path
        self.addresses = {}
        self.heard = {}
        self.hosts = {}
        self._stack = stack

    def keys(self, host):
        return KeyDirectory(str(self.path / host), host)

    def introduce(self, *hosts):
        """Make keys, and let each host have the public keys of the others."""
        for host in hosts:
            self.keys(host).create()
        for host in hosts:
            for other in hosts:
                if other != host:
                    self.keys(host).add(other, [self.keys(other).load().own.public])

    def start(self, host, *, keys=True):
        self.heard.setdefault(host, [])
        made = ZmqTransport(
            host,
            self.addresses.get(host, ANY_PORT),
            lambda: self.addresses,
            self.keys(host) if keys else None,
        )
        made.start(lambda sender, frame: self.heard[host].append((sender, frame)))
        self.addresses[host] = made.endpoint
        self.hosts[host] = made
        self._stack.callback(made.stop)
        return made

    def says(self, sender, to, frame=b'hello', patience=20.0):
        """Does a frame of one host get to another one? It is said again: a transport may lose frames."""
        count = len(self.heard[to])

        def arrived():
            self.hosts[sender].send(to, frame)
            return eventually(lambda: (sender, frame) in self.heard[to][count:], 0.3)

        return eventually(arrived, patience)


@pytest.fixture
def town(tmp_path):
    with contextlib.ExitStack() as stack:
        yield Town(tmp_path, stack)


@pytest.fixture
def soon(monkeypatch):
    """Key files are looked at on each tick."""
    monkeypatch.setattr(zmq_transport, 'RELOAD', 0.1)


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
    count = len(town.heard['b'])
    frames = [bytes([n]) * MAX_FRAME for n in range(MAILBOX)]
    for frame in frames:
        a.send('b', frame)
    assert eventually(lambda: len(town.heard['b']) == count + MAILBOX)
    assert [frame for _, frame in town.heard['b'][count:]] == frames
    a.send('b', b'x' * (MAX_FRAME + 1))
    assert a.dropped['oversized'] == 1
    assert b.dropped == {}


def test_broadcast_reaches_everybody_else(town):
    """And not the speaker."""
    town.introduce('a', 'b', 'c')
    a, _, _ = (town.start(host) for host in 'abc')

    def all_heard():
        a.broadcast(b'news')
        return eventually(lambda: all(('a', b'news') in town.heard[h] for h in 'bc'), 0.3)

    assert eventually(all_heard)
    assert town.heard['a'] == []


def test_the_newest_frames_wait_for_a_host_that_is_away(town):
    """It gets what was said last when it comes, not what was said first."""
    town.introduce('a', 'b')
    a, b = town.start('a'), town.start('b')
    assert town.says('a', 'b')
    b.stop()
    # the cut must have been noticed, else libzmq takes some frames along
    assert eventually(lambda: not any(line.up for line in a._lines._lines.values()))
    for number in range(100):
        a.send('b', b'%d' % number)
    assert eventually(lambda: a.dropped.get('unsent') == 100 - MAILBOX)
    town.heard['b'].clear()
    town.start('b')
    assert eventually(lambda: len(town.heard['b']) == MAILBOX)
    assert [frame for _, frame in town.heard['b']] == [b'96', b'97', b'98', b'99']
    assert a.dropped['unsent'] == 100 - MAILBOX


def test_an_unknown_peer_is_refused_and_counted(town, caplog):
    """Its frames are not heard; both sides say so once; from the moment its key is there it is heard."""
    town.introduce('a', 'b')
    town.keys('b').remove('a')
    town.start('a'), town.start('b')
    assert not town.says('a', 'b', patience=1.0)
    assert town.heard['b'] == []
    assert town.hosts['b'].dropped['unknown_peer'] >= 1
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
    assert town.heard['b'] == []
    assert b.dropped['unknown_peer'] >= 1
    assert b.dropped['handshake'] >= 2
    town.start('a')
    assert town.says('a', 'b')
