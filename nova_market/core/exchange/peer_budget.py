# SPDX-License-Identifier: Apache-2.0
"""What one peer may cost a host: bytes, time of the processor, and connections.

Implements rule H25 of doc/source/specs/fairness.rst. Each part of a message counts as FRAME bytes besides its
own, for what a small one costs before it is looked at. What it takes to handle a frame that is taken counts
as bytes too, and so does what the peer is sent: a short update can change what is known of ten thousand
owners. Two buckets for each peer fill up again with time. A peer that goes on when its bytes are used up, or
opens connections without end, is cut off for a while.

Times are seconds of the host's monotonic clock, given as arguments. Units: bytes. Reads no clock and takes no
lock: its owner does both.
"""

from dataclasses import dataclass

from nova_market.core.resource import HostName

FRAME = 4096
"""Bytes as which a part of a message counts besides its length."""

PROCESSOR = 10 * 2**20
"""Bytes as which a second of the processor counts. An update of 30 owners takes 0.1 ms: 1 KiB."""

BYTES = 20 * 2**20
BYTES_A_SECOND = 2**20
"""What a peer may send at once, and from then on: a mailbox full of the longest frames, which is four, with
what it takes to handle them; and one of them in four seconds. A host of 30 owners sends 2 KiB in an interval;
one of 10,000 owners, with six numbers each, 2.5 MB at most. A peer that uses it all takes a tenth of a
core."""

PATIENCE = 32 * 2**20
"""Beyond its budget a peer's frames are dropped; when it has sent so many bytes of these it is cut off."""

CONNECTIONS = 16
"""Open ones. Hosts make one; after a partition some are there that have not been noticed to be dead."""

FORGIVEN = 3600.0
"""Seconds after which a connection counts no more whose end could not be told, as it had carried no frame."""

CUT_OFF = 600.0
"""Seconds."""


@dataclass(slots=True, kw_only=True)
class _Peer:
    """left: bytes, below 0 when they are used up; connections: that it may still make."""

    left: float = BYTES
    connections: float = CONNECTIONS
    since: float
    until: float = 0.0


class PeerBudgets:
    """Of the peers whose names are proven, which are not more than an operator has allowed."""

    def __init__(self) -> None:
        self._peers: dict[HostName, _Peer] = {}
        self._news: list[HostName] = []

    def frame(self, peer: HostName, size: int, now: float, parts: int = 1) -> bool:
        """Charge a message of a peer; may it be looked at?"""
        one = self._peer(peer, now)
        one.left -= size + parts * FRAME
        if one.left < -PATIENCE:
            self.end(peer, now)
        return one.left >= 0 and not self.cut_off(peer, now)

    def work(self, peer: HostName, seconds: float, now: float) -> None:
        """Charge the time of the processor that a frame of a peer has taken."""
        self._peer(peer, now).left -= PROCESSOR * seconds

    def sent(self, peer: HostName, size: int, now: float) -> None:
        """Charge what a peer is sent, most of which is replies to its frames."""
        self._peer(peer, now).left -= size

    def connect(self, peer: HostName, now: float) -> bool:
        """Charge a connection; may the peer make it?"""
        one = self._peer(peer, now)
        if now < one.until:
            return False
        one.connections -= 1
        if one.connections < 0:
            self.end(peer, now)
            return False
        return True

    def disconnect(self, peer: HostName, now: float) -> None:
        """A connection of this peer has ended."""
        one = self._peer(peer, now)
        one.connections = min(one.connections + 1, CONNECTIONS)

    def disconnect_all(self) -> None:
        """All connections have been ended, to cut one peer off: the others do not pay for it."""
        for one in self._peers.values():
            one.connections = CONNECTIONS

    def end(self, peer: HostName, now: float) -> None:
        """Cut a peer off. It begins with full buckets afterwards."""
        self._peers[peer] = _Peer(since=now, until=now + CUT_OFF)
        self._news.append(peer)

    def cut_off(self, peer: HostName, now: float) -> bool:
        """Is this peer cut off?"""
        return peer in self._peers and now < self._peers[peer].until

    def newly_cut_off(self) -> list[HostName]:
        """Peers that were cut off since the last call: their connections have to be ended."""
        news, self._news = self._news, []
        return news

    def _peer(self, peer: HostName, now: float) -> _Peer:
        one = self._peers.get(peer)
        if one is None:
            one = self._peers[peer] = _Peer(since=now)
        elapsed, one.since = now - one.since, now
        one.left = min(one.left + BYTES_A_SECOND * elapsed, BYTES)
        one.connections = min(one.connections + elapsed / FORGIVEN, CONNECTIONS)
        return one
