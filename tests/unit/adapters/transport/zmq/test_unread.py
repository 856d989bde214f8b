# SPDX-License-Identifier: Apache-2.0
"""How much of what connections have received they keep."""

import contextlib
import socket

import pytest

from nova_market.adapters.transport.zmq.unread import HEADERS, UnreadConnections

MIB = 2**20


class Connection:
    """A TCP connection, and what has been delivered of it."""

    def __init__(self, stack, address='127.0.0.1', family=socket.AF_INET):
        self.address = address
        server = stack.enter_context(socket.create_server((address, 0), family=family))
        self.client = stack.enter_context(socket.create_connection(server.getsockname()[:2]))
        self.server = stack.enter_context(server.accept()[0])
        self.unread = UnreadConnections()
        self.unread.opened(self.server.fileno())

    def receive(self, count):
        for _ in range(count // MIB):
            self.client.sendall(bytes(MIB))
            left = MIB
            while left:
                left -= len(self.server.recv(left))

    def deliver(self, size, count=1):
        for _ in range(count):
            self.unread.delivered(self.server.fileno(), size)

    @property
    def kept(self):
        ((connection, address, size),) = self.unread.unread()
        assert (connection, address) == (self.server.fileno(), self.address)
        return size


@pytest.fixture
def connection():
    with contextlib.ExitStack() as stack:
        yield Connection(stack)


def test_a_connection_that_delivers_nothing_keeps_all(connection):
    assert connection.kept == 0
    connection.receive(3 * MIB)
    assert connection.kept == 3 * MIB


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason='this machine has no IPv6')
def test_the_address_of_a_peer_over_ipv6_is_whole():
    """By it the host is found whose connection has delivered nothing yet."""
    with contextlib.ExitStack() as stack:
        connection = Connection(stack, '::1', socket.AF_INET6)
        connection.receive(MIB)
        assert connection.kept == MIB


def test_what_was_delivered_before_gives_no_room(connection):
    """Neither long frames nor many short ones, for which more is counted than they have taken."""
    for _ in range(4):
        connection.receive(8 * MIB)
        connection.deliver(MIB, count=8)
        assert connection.kept == 0
    connection.deliver(0, count=2 * MIB // HEADERS)
    assert connection.kept == 0
    connection.receive(3 * MIB)
    assert connection.kept == 3 * MIB


def test_a_connection_that_has_ended_is_not_looked_at(connection):
    connection.receive(MIB)
    connection.unread.ended(connection.server.fileno())
    assert list(connection.unread.unread()) == []
