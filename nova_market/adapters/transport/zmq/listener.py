# SPDX-License-Identifier: Apache-2.0
"""The bound ROUTER to which the other hosts connect, and who is admitted.

With keys every connection is CURVE, and libzmq asks for each (ZAP, https://rfc.zeromq.org/spec/27) whether
its public key is admitted. libzmq then attaches the key to every frame, and the key is looked up again in the
current allow-list: a frame of a revoked key is dropped on connections that are open already, too.

Why not zmq.auth.Authenticator (pyzmq 27): it admits the mechanism NULL from every address; a key of another
length than 32 bytes, or a request of one frame, leaves its REP socket without a reply, and every later
request fails; it is a coroutine, so this thread would need an event loop beside its poller (25 us for a
request, 0.5 us here). What the library would replace is `judge`.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import zmq

from nova_market.adapters.transport.wire_format import MAX_FRAME
from nova_market.adapters.transport.zmq.keys import KeyRing
from nova_market.adapters.transport.zmq.sockets import (
    HANDSHAKE_MS,
    Context,
    Socket,
    events,
    identify,
    tuned,
    watched,
)
from nova_market.adapters.transport.zmq.unread import UnreadConnections
from nova_market.core.exchange.peer_budget import PeerBudgets
from nova_market.core.resource import HostName
from nova_market.errors import ConfigurationError

ZAP_ENDPOINT = 'inproc://zeromq.zap.01'
ZAP_DOMAIN = b'nova-market'
ZAP_FRAMES = 7
"""Delimiter, version, request, domain, address, identity, mechanism; credentials follow."""

FAILED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
ENDED = FAILED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_HANDSHAKE_FAILED_AUTH
LISTENER_EVENTS = ENDED | zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED

RIPE = HANDSHAKE_MS / 1000.0 + 1.0
"""Seconds after which a connection must have ended its handshake, one way or another."""

HANDSHAKE_MOST = 3 * MAX_FRAME
"""Bytes that a connection can have received before its handshake is over: a command as long as a frame, and
what waits in the kernel (6 MiB, net.ipv4.tcp_rmem)."""

UNKNOWN_PEER = 'unknown_peer'
HANDSHAKE = 'handshake'
OVERSIZED = 'oversized'
MALFORMED = 'malformed'
OUR_NAME = 'our_name'
OVER_BUDGET = 'over_budget'
CUT_OFF = 'cut_off'

MAX_ADDRESSES = 10_000
"""From which somebody was admitted; so many are remembered."""

Refuse = Callable[[str, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZapAnswer:
    """frames: from the delimiter on

    host:            that is admitted; None when the connection is refused
    reason, problem: why it is refused
    """

    frames: list[bytes]
    host: HostName | None = None
    reason: str = ''
    problem: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedFrame:
    """A frame and the host that has proven to have sent it; None without keys."""

    sender: HostName | None
    frame: bytes


class Listener:
    """Used by one thread at a time."""

    def __init__(
        self,
        context: Context,
        bind: str,
        host: HostName,
        ring: KeyRing | None,
        refuse: Refuse,
        budgets: PeerBudgets,
    ) -> None:
        """refuse(reason, detail) is called for whatever is thrown away.

        :raises ConfigurationError: the address can't be listened on.
        """
        self.ring = ring
        self._host = host
        self._refuse = refuse
        self._budgets = budgets
        self._unread = UnreadConnections()
        self._open: dict[int, HostName] = {}  # file descriptor -> whose connection it is
        self._admitted: dict[str, HostName] = {}  # address -> who was admitted last from there
        self._routes: dict[HostName, tuple[bytes, bytes]] = {}
        self._young: deque[float] = deque()
        self._ripe = 0
        self._ended = 0
        self.zap: Socket | None = None
        if ring is not None:
            # before anybody can connect: without an answer libzmq would let everybody in
            self.zap = context.socket(zmq.ROUTER)
            self.zap.linger = 0
            self.zap.bind(ZAP_ENDPOINT)
        self.socket = tuned(context)
        self.monitor = watched(self.socket, 'listener', LISTENER_EVENTS)
        try:
            if ring is not None:
                self.socket.curve_server = True
                self.socket.zap_domain = ZAP_DOMAIN
                identify(self.socket, ring.own)
            self.socket.ipv6 = '[' in bind
            self.socket.bind(bind)
        except zmq.ZMQError as error:
            self.close()
            raise ConfigurationError(
                f'[exchange]zmq_bind = {bind}: cannot be listened on ({error.strerror}); it must be '
                'tcp://ADDRESS:PORT with an address of this host and a port that is free'
            ) from None
        self.endpoint = self.socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def answer_zap(self, now: float) -> None:
        """Admit or refuse every connection that waits for it."""
        while self.zap is not None and self.zap.poll(0):
            words = self.zap.recv_multipart()
            answer = judge(words[1:], self.ring)
            if answer.host is not None and not self._budgets.connect(answer.host, now):
                answer = refusal(words[1:], CUT_OFF, f'host {answer.host} is cut off')
            if answer.host is None:
                self._refuse(answer.reason, answer.problem)
            else:
                if len(self._admitted) >= MAX_ADDRESSES:
                    self._admitted.clear()
                self._admitted[words[5].decode('ascii', 'replace')] = answer.host
            self.zap.send_multipart([words[0], *answer.frames])

    def note_failures(self, now: float) -> None:
        """Count connections that ended before they showed a key.

        libzmq reports how a handshake ended, but nothing of a peer that never spoke its protocol; these are
        the connections that were accepted and whose end was not reported.
        """
        for event in events(self.monitor):
            if event.kind & zmq.EVENT_ACCEPTED:
                self._young.append(now)
                self._unread.opened(event.value)
            elif event.kind & zmq.EVENT_DISCONNECTED:
                self._unread.ended(event.value)
                host = self._open.pop(event.value, None)
                if host is not None:
                    self._budgets.disconnect(host, now)
            elif event.kind & ENDED:
                self._ended += 1
                if event.kind & FAILED:
                    self._refuse(HANDSHAKE, 'somebody connected and did not prove who it is')
        while self._young and now - self._young[0] > RIPE:
            self._young.popleft()
            self._ripe += 1
        while self._ripe > self._ended:
            self._ended += 1
            self._refuse(HANDSHAKE, 'somebody connected and does not speak ZeroMQ')

    def unread(self) -> Iterator[tuple[HostName, int]]:
        """Of each connection, whose it is, and how many bytes have come that were not delivered."""
        for connection, address, size in self._unread.unread():
            host = self._open.get(connection)
            if host is None and size > HANDSHAKE_MOST:
                # its handshake is over; before that somebody without a key may have the same address
                host, size = self._admitted.get(address), size - HANDSHAKE_MOST
            if host is not None:
                yield host, size

    def frames(self, at_most: int, now: float) -> Iterator[ReceivedFrame]:
        """Frames received from admitted hosts, as far as they are within the budgets of these."""
        for _ in range(at_most):
            try:
                route, *parts = self.socket.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            sender = None
            if self.ring is not None:
                key = _key_of(parts[0]) if parts else b''
                sender = self.ring.names.get(key)
                if sender is None:
                    self._refuse(UNKNOWN_PEER, f'key {key.hex() or "none"} was revoked')
                    continue
                if sender == self._host:
                    self._refuse(OUR_NAME, 'another machine has the secret key of this host')
                    continue
                self._routes[sender] = route.bytes, key
                connection, size = parts[0].get(zmq.SRCFD), sum(map(len, parts))
                self._open[connection] = sender
                self._unread.delivered(connection, size)
                if not self._budgets.frame(sender, size, now, len(parts)):
                    self._refuse(OVER_BUDGET, f'host {sender} sends more than a host may')
                    continue
            if problem := fault(parts):
                self._refuse(*problem)
                continue
            yield ReceivedFrame(sender=sender, frame=parts[0].bytes)

    def reply(self, to: HostName, frame: bytes) -> bool:
        """Send over the connection that this host came by; False when there is none or it is full."""
        route, key = self._routes.get(to, (b'', b''))
        if not route or self.ring is None or self.ring.names.get(key) != to:
            return False
        try:
            self.socket.send_multipart([route, frame], zmq.NOBLOCK)
        except zmq.Again:
            return False
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            del self._routes[to]
            return False
        return True

    def close(self) -> None:
        self.socket.monitor(None, 0)
        self.monitor.close()
        self.socket.close()
        if self.zap is not None:
            self.zap.close(linger=0)


def judge(request: list[bytes], ring: KeyRing | None) -> ZapAnswer:
    """The answer to a ZAP request, which is read from the delimiter on.

    The user id of an admitted connection is its public key in hexadecimal.
    """
    number = request[2] if len(request) > 2 else b''
    known = ring.names if ring is not None else {}
    problem = 'a request that does not ask about a CURVE key'
    if len(request) == ZAP_FRAMES + 1 and request[6] == b'CURVE':
        key, address = request[7], request[4].decode('ascii', 'replace')
        if key in known:
            frames = [b'', b'1.0', number, b'200', b'OK', key.hex().encode(), b'']
            return ZapAnswer(frames=frames, host=known[key])
        problem = f'key {key.hex()} from {address} is not in the allow-list'
    return refusal(request, UNKNOWN_PEER, problem)


def refusal(request: list[bytes], reason: str, problem: str) -> ZapAnswer:
    """The answer to a ZAP request that is not admitted."""
    number = request[2] if len(request) > 2 else b''
    frames = [b'', b'1.0', number, b'400', b'refused', b'', b'']
    return ZapAnswer(frames=frames, reason=reason, problem=problem)


def fault(parts: list[zmq.Frame]) -> tuple[str, str] | None:
    """Reason and detail why the parts of a message can't be a frame of ours."""
    if len(parts) != 1:
        return MALFORMED, f'a message of {len(parts)} parts'
    if len(parts[0]) > MAX_FRAME:
        return OVERSIZED, f'{len(parts[0])} bytes, at most {MAX_FRAME}'
    return None


def _key_of(frame: zmq.Frame) -> bytes:
    try:
        return bytes.fromhex(str(frame.get('User-Id')))
    except (zmq.ZMQError, ValueError):
        return b''
