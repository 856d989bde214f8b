# SPDX-License-Identifier: Apache-2.0
"""Connections that this host makes: one ROUTER, and one connection ("line") for each host that it sends to.

One socket has all connections, so that a thousand hosts cost a thousand TCP connections and nothing else. A
connection accepts one public key of the other host; while that host rotates its keys there are two, and a
connection that does not come up is tried with the other one.

A connection is used only after its handshake. Frames that cannot be sent wait in the transport, which keeps
the newest ones, and not in libzmq, which would keep the oldest. Units: seconds of the monotonic clock.
"""

import errno
from collections.abc import Iterator
from dataclasses import dataclass

import zmq

from nova_market.adapters.transport.zmq.keys import KeyRing
from nova_market.adapters.transport.zmq.listener import OVER_BUDGET, ReceivedFrame, Refuse, fault
from nova_market.adapters.transport.zmq.sockets import Context, events, identify, tuned, watched
from nova_market.adapters.transport.zmq.unread import UnreadConnections
from nova_market.core.exchange.peer_budget import PeerBudgets
from nova_market.core.resource import HostName

REFUSED = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
FAILED = REFUSED | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
LINE_EVENTS = FAILED | zmq.EVENT_CONNECTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED

RETRY = 5.0
"""Seconds until a line that was refused, or may need the other key, is made anew."""

STUCK = 20.0
"""Seconds until any line that is not up is made anew. libzmq reconnects by itself, so this is for the case
that an event was lost or belonged to the line before."""

IDLE = 900.0
"""Seconds without a frame after which a line is closed: its host is no aggregator any more."""


@dataclass(slots=True)
class Connection:
    """One connection; `attempt` counts how often it was made, and chooses among the keys.

    descriptor: of the file that it is; -1 while there is none
    """

    host: HostName
    address: str
    route: bytes
    key: bytes | None
    attempt: int
    since: float
    used: float
    up: bool = False
    refused: bool = False
    descriptor: int = -1


class Connections:
    """Used by one thread at a time."""

    def __init__(
        self,
        context: Context,
        host: HostName,
        ring: KeyRing | None,
        refuse: Refuse,
        budgets: PeerBudgets,
    ) -> None:
        self._host = host
        self._ring = ring
        self._refuse = refuse
        self._budgets = budgets
        self._lines: dict[HostName, Connection] = {}
        self._by_address: dict[str, Connection] = {}
        self._by_route: dict[bytes, Connection] = {}
        self._unread = UnreadConnections()
        self._made = 0
        self.socket = tuned(context)
        self.monitor = watched(self.socket, 'connections', LINE_EVENTS)
        if ring is not None:
            identify(self.socket, ring.own)

    @property
    def up(self) -> tuple[HostName, ...]:
        """Hosts whose connection carries frames. May be read from any thread."""
        return tuple(line.host for line in list(self._lines.values()) if line.up)

    @property
    def hosts(self) -> tuple[HostName, ...]:
        return tuple(self._lines)

    def address(self, host: HostName) -> str:
        """Where the line goes; '' without one."""
        return self._lines[host].address if host in self._lines else ''

    def open(self, host: HostName, address: str, now: float) -> str | None:
        """Make a line, unless there is one; None or the reason why it cannot be made."""
        if host in self._lines:
            return None
        if self._budgets.cut_off(host, now):
            return f'host {host} is cut off'
        return self._make(host, address, 0, now, used=now)

    def close_line(self, host: HostName) -> None:
        line = self._lines.pop(host, None)
        if line is None:
            return
        del self._by_address[line.address], self._by_route[line.route]
        self._unread.ended(line.descriptor)
        try:
            self.socket.disconnect(line.address)
        except zmq.ZMQError as error:
            if error.errno != errno.ENOENT:  # refused: libzmq has let go of it already
                raise

    def send(self, host: HostName, frame: bytes, now: float) -> bool:
        """False when there is no line, it is not up, or it is full."""
        line = self._lines.get(host)
        if line is None or not line.up:
            return False
        try:
            self.socket.send_multipart([line.route, frame], zmq.NOBLOCK)
        except zmq.Again:
            return False
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            line.up = False
            return False
        line.used = now
        return True

    def note_events(self, now: float) -> Iterator[tuple[HostName, str]]:
        """(host, 'up' | 'down' | 'refused') for each line that has changed."""
        for event in events(self.monitor):
            line = self._by_address.get(event.endpoint)
            if line is None:
                continue  # its last words after it was closed
            if event.kind == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                line.up, line.refused = True, False
                yield line.host, 'up'
                continue
            self._unread.ended(line.descriptor)
            line.descriptor = -1
            if event.kind == zmq.EVENT_CONNECTED:
                self._unread.opened(event.value)
                line.descriptor = event.value
                continue
            was_up, line.up = line.up, False
            if event.kind & FAILED:
                line.refused = (
                    True  # `since` stays: libzmq tries again and fails again in short order
                )
                if event.kind & REFUSED:
                    yield line.host, 'refused'
            elif was_up:
                line.since = now
                yield line.host, 'down'

    def renew(self, ring: KeyRing | None, now: float) -> None:
        """Drop lines to revoked keys and idle ones; try those that do not come up with their next key."""
        self._ring = ring
        for line in list(self._lines.values()):
            keys = self._keys(line.host)
            if line.key not in keys or now - line.used > IDLE:
                self.close_line(line.host)
                continue
            patience = RETRY if line.refused or len(keys) > 1 else STUCK
            if not line.up and now - line.since > patience:
                self.close_line(line.host)
                self._make(line.host, line.address, line.attempt + 1, now, used=line.used)

    def frames(self, at_most: int, now: float) -> Iterator[ReceivedFrame]:
        """What hosts answer over the connections to them; the key of a connection proves its host."""
        for _ in range(at_most):
            try:
                route, *parts = self.socket.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            line = self._by_route.get(route.bytes)
            if line is None:
                continue
            size = sum(map(len, parts))
            self._unread.delivered(line.descriptor, size)
            if line.key and not self._budgets.frame(line.host, size, now, len(parts)):
                self._refuse(OVER_BUDGET, f'host {line.host} sends more than a host may')
                continue
            if problem := fault(parts):
                self._refuse(*problem)
                continue
            yield ReceivedFrame(sender=line.host if line.key else None, frame=parts[0].bytes)

    def unread(self) -> Iterator[tuple[HostName, int]]:
        """Of each line, whose it is, and how many bytes have come that were not delivered."""
        hosts = {line.descriptor: line.host for line in self._lines.values() if line.key}
        for descriptor, _, size in self._unread.unread():
            if descriptor in hosts:
                yield hosts[descriptor], size

    def close(self) -> None:
        self.socket.monitor(None, 0)
        self.monitor.close()
        self.socket.close()

    def _keys(self, host: HostName) -> tuple[bytes | None, ...]:
        return (None,) if self._ring is None else self._ring.peers.get(host, ())

    def _make(
        self, host: HostName, address: str, attempt: int, now: float, used: float
    ) -> str | None:
        keys = self._keys(host)
        if not keys:
            return f'host {host} has no public key in the allow-list'
        other = self._by_address.get(address)
        if other is not None:
            return f'host {host} has the same address as {other.host} ({address})'
        # never the same route twice: libzmq ends the process on a route that is still in use
        self._made += 1
        line = Connection(
            host=host,
            address=address,
            route=b'line%d' % self._made,
            key=keys[attempt % len(keys)],
            attempt=attempt,
            since=now,
            used=used,
        )
        try:
            if line.key is not None:
                self.socket.curve_serverkey = line.key
            self.socket.ipv6 = '[' in address
            self.socket.setsockopt(zmq.CONNECT_ROUTING_ID, line.route)
            self.socket.connect(address)
        except zmq.ZMQError as error:
            return f'host {host} can not be connected to at {address} ({error.strerror})'
        self._lines[host] = self._by_address[address] = self._by_route[line.route] = line
        return None
