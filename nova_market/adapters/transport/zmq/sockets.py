# SPDX-License-Identifier: Apache-2.0
"""What the ZeroMQ sockets of the exchange have in common: bounds, timeouts, addresses, their events.

Units: milliseconds where the name says so, as libzmq has them; frames and bytes.
"""

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass

import zmq
from zmq.utils.monitor import recv_monitor_message

from nova_market.adapters.transport.wire_format import MAX_FRAME
from nova_market.adapters.transport.zmq.keys import KeyPair

Context = zmq.Context[zmq.Socket[bytes]]
Socket = zmq.Socket[bytes]

CUT_FRAME = MAX_FRAME + 64 * 1024
"""Bytes from which libzmq does not even read a frame, but cuts the connection. In between it is counted."""

SEND_FRAMES = 4
RECEIVE_FRAMES = 2
"""Frames that libzmq holds per connection and direction; beyond that the peer waits, not our memory."""

CONNECT_MS = 3_000
HANDSHAKE_MS = 5_000
"""Longest time a stranger may hold a connection without a proof of who it is."""

RECONNECT_FIRST_MS = 200
RECONNECT_LAST_MS = 5_000
"""libzmq doubles the pause between two attempts from the first to the last of these."""

UNACKNOWLEDGED_MS = 10_000
"""TCP gives a connection up when what was sent is not acknowledged for so long: a partition."""

LINGER_MS = 500
"""How long the last frames may take to leave when the service stops."""

BACKLOG = 1024
"""Hosts that connect at once after an aggregator was restarted."""

_TCP = re.compile(r'tcp://(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})')


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketEvent:
    """kind: zmq.Event; endpoint: the address that we gave to connect or bind; value: the file descriptor, for
    most kinds."""

    kind: int
    endpoint: str
    value: int


def tuned(context: Context) -> Socket:
    """A ROUTER with the bounds above."""
    socket: Socket = context.socket(zmq.ROUTER)
    socket.router_mandatory = True  # a frame for nobody is an error, not lost unseen
    socket.maxmsgsize = CUT_FRAME
    socket.sndhwm = SEND_FRAMES
    socket.rcvhwm = RECEIVE_FRAMES
    socket.connect_timeout = CONNECT_MS
    socket.handshake_ivl = HANDSHAKE_MS
    socket.reconnect_ivl = RECONNECT_FIRST_MS
    socket.reconnect_ivl_max = RECONNECT_LAST_MS
    socket.tcp_maxrt = UNACKNOWLEDGED_MS
    socket.tcp_keepalive = 1
    socket.tcp_keepalive_idle = 20
    socket.tcp_keepalive_intvl = 5
    socket.tcp_keepalive_cnt = 3
    socket.backlog = BACKLOG
    socket.linger = LINGER_MS
    return socket


def identify(socket: Socket, own: KeyPair) -> None:
    """From now on the socket speaks CURVE with this pair."""
    socket.curve_publickey = own.public
    socket.curve_secretkey = own.secret


def watched(socket: Socket, name: str, kinds: int) -> Socket:
    """Where `events` of these kinds are read. Not bounded: a thousand hosts that come at once make three
    thousand events, and one that was lost would leave us with a wrong idea of a connection."""
    address = f'inproc://events-of-{name}'
    socket.monitor(address, kinds)
    monitor: Socket = socket.context.socket(zmq.PAIR)
    monitor.rcvhwm = 0
    monitor.linger = 0
    monitor.connect(address)
    return monitor


def events(monitor: Socket) -> Iterator[SocketEvent]:
    """What has happened to a socket since the last call."""
    while monitor.poll(0):
        event = recv_monitor_message(monitor)
        endpoint = event['endpoint'].decode('utf-8', 'replace')
        yield SocketEvent(kind=event['event'], endpoint=endpoint, value=int(event['value']))


def usable(address: str) -> bool:
    """Is it tcp://HOST:PORT or ipc://PATH?"""
    if address.startswith('ipc://'):
        return len(address) > len('ipc://')
    match = _TCP.fullmatch(address)
    return match is not None and 0 < int(match[2]) < 65536


def bindable(address: str) -> bool:
    """As `usable`, or with * for all addresses or any port."""
    return usable(re.sub(r':\*$', ':1', address.replace('tcp://*:', 'tcp://all:', 1)))


def is_loopback(address: str) -> bool:
    """Can only this machine reach it?"""
    if address.startswith('ipc://'):
        return True
    host = address.removeprefix('tcp://').rpartition(':')[0].strip('[]')
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == 'localhost'
