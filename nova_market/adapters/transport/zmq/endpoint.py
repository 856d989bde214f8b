# SPDX-License-Identifier: Apache-2.0
"""All sockets of one ZeroMQ context: the listener for other hosts, the connections that this host makes.

They begin and end together. When a host changes its own key both are made anew in a new context: libzmq
releases addresses only when a whole context has ended.
"""

from collections.abc import Iterator, Mapping

import zmq

from nova_market.adapters.transport.zmq.connections import Connections
from nova_market.adapters.transport.zmq.keys import KeyRing
from nova_market.adapters.transport.zmq.listener import Listener, ReceivedFrame, Refuse
from nova_market.adapters.transport.zmq.sockets import Context
from nova_market.core.resource import HostName

ROUND = 64
"""Frames taken from a socket before the other sockets have their turn."""

Ready = Mapping[object, int]


class Endpoint:
    """Used by one thread at a time."""

    def __init__(
        self, bind: str, host: HostName, ring: KeyRing | None, refuse: Refuse, wake: int
    ) -> None:
        """wake: file descriptor that ends `wait` when it can be read.

        :raises ConfigurationError: the address can't be listened on.
        """
        self._context: Context = zmq.Context(io_threads=1)
        try:
            self._gate = Listener(self._context, bind, host, ring, refuse)
        except BaseException:
            self._context.destroy(linger=0)
            raise
        self.lines = Connections(self._context, host, ring, refuse)
        self.endpoint = self._gate.endpoint
        self._poller = zmq.Poller()
        self._poller.register(wake, zmq.POLLIN)
        sockets = [self._gate.socket, self._gate.monitor, self.lines.socket, self.lines.monitor]
        for socket in [*sockets, *([self._gate.zap] if self._gate.zap is not None else [])]:
            self._poller.register(socket, zmq.POLLIN)

    def wait(self, seconds: float) -> Ready:
        """Sockets with something to receive, at the latest after `seconds`."""
        return dict(self._poller.poll(round(seconds * 1000)))

    def frames(self, ready: Ready) -> Iterator[ReceivedFrame]:
        """Admit the connections that wait for it, then yield what was received."""
        gate, lines = self._gate, self.lines
        if gate.zap in ready:
            gate.answer_zap()
        if gate.socket in ready:
            yield from gate.frames(ROUND)
        if lines.socket in ready:
            yield from lines.frames(ROUND)

    def changes(self, ready: Ready, now: float) -> Iterator[tuple[HostName, str]]:
        """(host, 'up' | 'down' | 'refused') for each line that has changed."""
        if self._gate.monitor in ready:
            self._gate.note_failures(now)
        if self.lines.monitor in ready:
            yield from self.lines.note_events(now)

    def send(self, to: HostName, frame: bytes, now: float) -> bool:
        """Over our line to that host, else over the one that it came by; False when neither takes it."""
        return self.lines.send(to, frame, now) or self._gate.reply(to, frame)

    def renew(self, ring: KeyRing | None, now: float) -> None:
        """Use these keys from now on; to be called now and then."""
        self._gate.note_failures(now)
        self._gate.ring = ring
        self.lines.renew(ring, now)

    def close(self) -> None:
        """Takes LINGER_MS at most, while what was sent last leaves."""
        self._gate.close()
        self.lines.close()
        self._context.term()
