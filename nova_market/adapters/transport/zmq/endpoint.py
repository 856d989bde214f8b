# SPDX-License-Identifier: Apache-2.0
"""All sockets of one ZeroMQ context: the listener for other hosts, the connections that this host makes.

They begin and end together. When a host changes its own key both are made anew in a new context: libzmq
releases addresses only when a whole context has ended.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain

import zmq

from nova_market.adapters.transport.zmq.connections import Connections
from nova_market.adapters.transport.zmq.keys import KeyRing
from nova_market.adapters.transport.zmq.listener import (
    OVER_BUDGET,
    Listener,
    ReceivedFrame,
    Refuse,
)
from nova_market.adapters.transport.zmq.sockets import Context
from nova_market.adapters.transport.zmq.unread import MOST
from nova_market.core.exchange.peer_budget import PeerBudgets
from nova_market.core.resource import HostName

ROUND = 64
"""Frames taken from a socket before the other sockets have their turn."""

Ready = Mapping[object, int]


class Endpoint:
    """Used by one thread at a time."""

    def __init__(
        self,
        bind: str,
        host: HostName,
        ring: KeyRing | None,
        refuse: Refuse,
        budgets: PeerBudgets,
        wake: int,
    ) -> None:
        """wake: file descriptor that ends `wait` when it can be read.

        :raises ConfigurationError: the address can't be listened on.
        """
        self._refuse = refuse
        self._budgets = budgets
        self._context: Context = zmq.Context(io_threads=1)
        try:
            self._listener = Listener(self._context, bind, host, ring, refuse, budgets)
        except BaseException:
            self._context.destroy(linger=0)
            raise
        self.connections = Connections(self._context, host, ring, refuse, budgets)
        self.endpoint = self._listener.endpoint
        self._poller = zmq.Poller()
        self._poller.register(wake, zmq.POLLIN)
        sockets = [
            self._listener.socket,
            self._listener.monitor,
            self.connections.socket,
            self.connections.monitor,
        ]
        for socket in [*sockets, *([self._listener.zap] if self._listener.zap is not None else [])]:
            self._poller.register(socket, zmq.POLLIN)

    def wait(self, seconds: float) -> Ready:
        """Sockets with something to receive, at the latest after `seconds`."""
        return dict(self._poller.poll(round(seconds * 1000)))

    def frames(self, ready: Ready, now: float) -> Iterator[ReceivedFrame]:
        """Admit the connections that wait for it, then yield what was received."""
        listener, connections = self._listener, self.connections
        if listener.zap in ready:
            listener.answer_zap(now)
        if listener.socket in ready:
            yield from listener.frames(ROUND, now)
        if connections.socket in ready:
            yield from connections.frames(ROUND, now)

    def changes(self, ready: Ready, now: float) -> Iterator[tuple[HostName, str]]:
        """(host, 'up' | 'down' | 'refused') for each connection that has changed."""
        if self._listener.monitor in ready:
            self._listener.note_failures(now)
        if self.connections.monitor in ready:
            yield from self.connections.note_events(now)

    def send(self, to: HostName, frame: bytes, now: float) -> bool:
        """Over our connection to that host, else over the one it came by; False when neither takes it."""
        if not (self.connections.send(to, frame, now) or self._listener.reply(to, frame)):
            return False
        self._budgets.sent(to, len(frame), now)
        return True

    def renew(self, ring: KeyRing | None, now: float) -> None:
        """Use these keys from now on; to be called now and then."""
        self._listener.note_failures(now)
        self._cut_off_hoarders(now)
        self._listener.ring = ring
        self.connections.renew(ring, now)

    def _cut_off_hoarders(self, now: float) -> None:
        """Cut off hosts that send messages without an end, which only libzmq keeps."""
        kept: Counter[HostName] = Counter()
        for host, size in chain(self._listener.unread(), self.connections.unread()):
            kept[host] += size
        for host, size in kept.items():
            if size > MOST:
                self._refuse(OVER_BUDGET, f'host {host} sends a message without an end')
                self._budgets.end(host, now)

    def close(self) -> None:
        """Takes LINGER_MS at most, while what was sent last leaves."""
        self._listener.close()
        self.connections.close()
        self._context.term()
