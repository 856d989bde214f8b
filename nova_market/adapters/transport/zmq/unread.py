# SPDX-License-Identifier: Apache-2.0
"""Connections that have received more than they have delivered.

libzmq hands a message over when its last part has come, and keeps the parts until then, however many there
are. No message of ours has several, so a connection that goes on to receive and delivers nothing fills our
memory. The kernel counts what a connection has received (tcp_info, linux/tcp.h). Units: bytes.
"""

import socket
import struct
from collections.abc import Iterator

from nova_market.adapters.transport.wire_format import MAX_FRAME

MOST = 8 * MAX_FRAME
"""Of all connections of a peer. Beyond what libzmq keeps of one that sends whole frames, on the way to us."""

HEADERS = 64
"""Bytes that a frame takes on the wire besides its own: 42 for encryption and lengths, and some more."""

BYTES_RECEIVED = 128
"""Where it stands in tcp_info, since Linux 4.1."""


class UnreadConnections:
    """By file descriptor; used by one thread at a time."""

    def __init__(self) -> None:
        self._delivered: dict[int, int] = {}

    def opened(self, connection: int) -> None:
        self._delivered[connection] = 0

    def ended(self, connection: int) -> None:
        self._delivered.pop(connection, None)

    def delivered(self, connection: int, size: int) -> None:
        """A frame of this size has come out of it."""
        if connection in self._delivered:
            self._delivered[connection] += size + HEADERS

    def unread(self) -> Iterator[tuple[int, str, int]]:
        """Connections, the addresses of their peers, and how much of what they have received waits there."""
        for connection, delivered in self._delivered.items():
            found = _received(connection)
            if found is None:
                continue
            received, address = found
            # nobody saves up room for later by frames of which less was received than was counted
            self._delivered[connection] = min(delivered, received)
            yield connection, address, received - self._delivered[connection]


def _received(connection: int) -> tuple[int, str] | None:
    """What a connection has received in all, and its peer's address; None when it is no TCP connection
    now."""
    try:
        looked_at = socket.socket(fileno=connection)
    except OSError:
        return None
    try:
        info = looked_at.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, BYTES_RECEIVED + 8)
        (received,) = struct.unpack_from('Q', info, BYTES_RECEIVED)
        return received, str(looked_at.getpeername()[0])
    except (OSError, struct.error):
        return None
    finally:
        looked_at.detach()  # it is libzmq's
