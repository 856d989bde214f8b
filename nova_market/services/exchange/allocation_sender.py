# SPDX-License-Identifier: Apache-2.0
"""The engine's end of enforcement: allocations to hosts over a transport, and what they confirm.

Implements ports.Enforcement, rules A5, B5 and F2 of doc/source/specs/market.rst. Units: seconds of the clock.

A host can confirm only servers that it was sent allocations of, and is believed of the heaviness of the
owners of its servers only. Where the transport proves the sender of a frame it can confirm for itself only.
Frames get lost: as long as the newest period is asked for, hosts that have confirmed nothing of it receive
the message again.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from nova_market.core.exchange.allocation_messages import (
    MAX_SERVERS,
    AllocationMessage,
    Confirmation,
    MarketMessage,
)
from nova_market.core.market.delivery import LATE
from nova_market.core.market.enforced import ASSUMED, Confirmed
from nova_market.core.market.inventory import Allocation
from nova_market.core.market.stated_heaviness import believed_heaviness
from nova_market.core.resource import HostName, OwnerId
from nova_market.core.usage.use import MinuteUse
from nova_market.errors import MalformedReport
from nova_market.ports import Clock, Membership, Transport, WireFormat
from nova_market.services.exchange.allocation_receiver import market_message_in
from nova_market.services.exchange.health import FORGED, MISDIRECTED, DropCounter, frame_boundary

LOG = logging.getLogger(__name__)

UNASKED = 'unasked'
"""A host confirms a period of which it received no allocations, or that was long ago."""

KEPT = LATE + 1
"""Periods whose confirmations are kept: the one that runs, and those that may be confirmed late."""

RETRANSMIT_AFTER = 10.0
"""Seconds after which a host that has confirmed nothing is sent its message again: an interval of the hosts.
Then after twice as long, and so on: a broker may keep messages for a host whose service does not run."""


@dataclass(slots=True, kw_only=True)
class _Period:
    frames: dict[HostName, bytes]
    servers: Mapping[HostName, frozenset[str]]
    sent: float
    expires: float
    pause: float = RETRANSMIT_AFTER
    confirmed: dict[str, Confirmed] = field(default_factory=dict)
    replied: set[HostName] = field(default_factory=set)


class AllocationSender:
    """Implements ports.Enforcement."""

    def __init__(
        self,
        *,
        name: HostName,
        transport: Transport,
        wire: WireFormat,
        clock: Clock,
        membership: Membership,
        used: Callable[[HostName, MinuteUse], None] = lambda host, use: None,
    ) -> None:
        """name: of this engine, under which hosts know it; membership: where the hosts are.

        used: called on the transport's thread with what a host reports of its servers (rule U1)
        """
        self._name = name
        self._transport = transport
        self._wire = wire
        self._clock = clock
        self._membership = membership
        self._used = used
        self._periods: dict[int, _Period] = {}
        # the newest statement of each host, and its period
        self._enforced: dict[HostName, tuple[int, frozenset[str]]] = {}
        self._heaviness: dict[HostName, tuple[int, Mapping[OwnerId, float]]] = {}
        self._lock = threading.Lock()
        self._drops = DropCounter(name)

    @property
    def transport(self) -> Transport:
        """What carries the messages."""
        return self._transport

    @property
    def membership(self) -> Membership:
        """The hosts that this engine knows."""
        return self._membership

    @property
    def dropped(self) -> Mapping[str, int]:
        """Reason -> frames that were thrown away."""
        return self._drops.counts(self._transport.dropped)

    @property
    def trouble(self) -> str:
        """What keeps messages from being carried now, '' when nothing is known to."""
        return self._transport.trouble

    def start(self) -> None:
        self._membership.start()
        self._transport.start(self._receive)

    def send(
        self, period: int, expires: float, allocations: Mapping[HostName, Sequence[Allocation]]
    ) -> None:
        frames = {}
        for host, given in allocations.items():
            frame = self._frame(host, period, expires, given)
            if frame is not None:
                frames[host] = frame
        servers = {host: frozenset(one.server_id for one in allocations[host]) for host in frames}
        now = self._clock.monotonic()
        with self._lock:
            made = _Period(frames=frames, servers=servers, sent=now, expires=expires)
            before = self._periods.get(period)
            if before is not None:
                # what a host has confirmed counts if it is sent the same again
                same = {host for host in before.replied if before.frames[host] == frames.get(host)}
                made.replied |= same
                made.confirmed |= {s: c for s, c in before.confirmed.items() if c.host in same}
            self._periods[period] = made
            for old in sorted(self._periods)[:-KEPT]:
                del self._periods[old]
        for host, frame in frames.items():
            self._transport.send(host, frame)

    def confirmed(self, period: int) -> Mapping[str, Confirmed]:
        now, wall = self._clock.monotonic(), self._clock.wall()
        late: dict[HostName, bytes] = {}
        with self._lock:
            known = self._periods.get(period)
            if known is None:
                return {}
            result = dict(known.confirmed)
            newest = period == max(self._periods)  # of an older one hosts take nothing
            if newest and now - known.sent >= known.pause and wall < known.expires:
                known.sent = now
                known.pause *= 2.0
                silent = [h for h, one in known.servers.items() if one and h not in known.replied]
                late = {host: known.frames[host] for host in silent}
        for host, frame in late.items():
            self._transport.send(host, frame)
        return result

    def enforced(self, hosts: Iterable[HostName]) -> Mapping[HostName, frozenset[str]]:
        with self._lock:
            return {host: self._enforced[host][1] for host in hosts if host in self._enforced}

    def heaviness(self, owners: Mapping[HostName, Collection[OwnerId]]) -> Mapping[OwnerId, float]:
        with self._lock:
            first = min(self._periods, default=0)
            self._heaviness = {h: one for h, one in self._heaviness.items() if one[0] >= first}
            stated = {host: numbers for host, (_, numbers) in self._heaviness.items()}
        return believed_heaviness(stated, owners)

    def stop(self) -> None:
        self._transport.stop()
        self._membership.stop()

    def _frame(
        self, host: HostName, period: int, expires: float, given: Sequence[Allocation]
    ) -> bytes | None:
        if len(given) > MAX_SERVERS:
            LOG.error(
                'Host %s is sent no allocations: it has %d servers, at most %d are possible.',
                host,
                len(given),
                MAX_SERVERS,
            )
            return None
        message = AllocationMessage(
            engine=self._name, host=host, period=period, expires=expires, allocations=tuple(given)
        )
        try:
            return self._wire.encode(message)
        except MalformedReport as error:
            LOG.error('Host %s is sent no allocations: %s', host, error)
            return None

    # -- on the transport's thread

    def _receive(self, sender: HostName | None, frame: bytes) -> None:
        """Take a frame of whoever it is; it never raises."""
        with frame_boundary(self._drops, sender):
            self._sort(sender, frame)

    def _sort(self, sender: HostName | None, frame: bytes) -> None:
        message = market_message_in(self._wire, frame, self._drops)
        # None: hosts among each other, whose broadcasts reach an engine over a broker too
        if message is not None and not isinstance(message, str):
            reason = self._take(sender, message)
            if reason:
                self._drops.add(reason, f'host {message.host}, period {message.period}')

    def _take(self, sender: HostName | None, message: MarketMessage) -> str:
        """Keep a confirmation; returns '' or why it is not kept."""
        if not isinstance(message, Confirmation) or message.engine != self._name:
            return MISDIRECTED
        if sender is not None and sender != message.host:
            return FORGED
        with self._lock:
            known = self._periods.get(message.period)
            servers = known.servers.get(message.host) if known else None
            if known is None or servers is None:
                return UNASKED
            known.replied.add(message.host)
            newest, _ = self._heaviness.get(message.host, (0, {}))
            if message.heaviness and message.period >= newest:
                self._heaviness[message.host] = (message.period, message.heaviness)
            stated = ASSUMED if message.enforced is None else frozenset(message.enforced)
            if message.period >= self._enforced.get(message.host, (0, ASSUMED))[0]:
                self._enforced[message.host] = (message.period, stated)
            _add(known.confirmed, servers, message, stated, self._clock.wall())
        if message.use is not None:
            self._used(message.host, message.use)
        return ''


def _add(
    confirmed: dict[str, Confirmed],
    servers: frozenset[str],
    message: Confirmation,
    stated: frozenset[str],
    now: float,
) -> None:
    """Keep what a message confirms; of messages in any order, that with the earliest time counts (F2).

    servers: those that the host was sent; now: taken where the host states no time, or one to come
    """
    for server, since in zip(message.servers, message.since or repeat(now), strict=False):
        known = confirmed.get(server)
        since = min(float(since), now)
        if server in servers and (known is None or since < known.since):
            confirmed[server] = Confirmed(host=message.host, since=since, enforced=stated)
