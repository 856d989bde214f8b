# SPDX-License-Identifier: Apache-2.0
"""Hosts of one process that send each other frames over ZeroMQ on loopback."""

import contextlib

import pytest

from nova_market.adapters.transport.zmq.keys import KeyDirectory
from nova_market.adapters.transport.zmq.transport import ZmqTransport
from tests.support.exchange.oslo import eventually

ANY_PORT = 'tcp://127.0.0.1:*'


class Town:
    """Hosts on loopback that know each other's keys and addresses."""

    def __init__(self, path, stack):
        self.path = path
        self.addresses = {}
        self.received = {}
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

    def start(self, host, *, keys=True, handle=lambda frame: None):
        """handle: what it does with each frame besides keeping it."""
        self.received.setdefault(host, [])
        made = ZmqTransport(
            host,
            self.addresses.get(host, ANY_PORT),
            lambda: self.addresses,
            self.keys(host) if keys else None,
        )

        def receive(sender, frame):
            self.received[host].append((sender, frame))
            handle(frame)

        made.start(receive)
        self.addresses[host] = made.endpoint
        self.hosts[host] = made
        self._stack.callback(made.stop)
        return made

    def says(self, sender, to, frame=b'hello', patience=20.0):
        """Does a frame of one host get to another one? It is sent again: a transport may lose frames."""
        count = len(self.received[to])

        def arrived():
            self.hosts[sender].send(to, frame)
            return eventually(lambda: (sender, frame) in self.received[to][count:], 0.3)

        return eventually(arrived, patience)


@pytest.fixture
def town(tmp_path):
    with contextlib.ExitStack() as stack:
        yield Town(tmp_path, stack)
