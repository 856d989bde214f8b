# SPDX-License-Identifier: Apache-2.0
"""Receives allocation messages on the transport of a host, before the topology does.

Implements rules A5, F2 and F3 of doc/source/specs/market.rst. Units: seconds of the clock.

One transport carries both, since a host has one connection and proves itself once. Only the engines that the
operator names may allocate. A transport that proves the sender proves the engine's name too; over a broker
any account can write, and the name is only what the message says.
"""

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence

from nova_market.core.exchange.allocation_messages import (
    PREFIX,
    AllocationMessage,
    Confirmation,
    MarketMessage,
)
from nova_market.core.exchange.codec import from_values, to_values
from nova_market.core.exchange.received_allocations import EffectiveAllocations, ReceivedAllocations
from nova_market.core.resource import HostName, OwnerId
from nova_market.core.usage.use import MinuteUse
from nova_market.errors import MalformedReport
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock, StateFile, Transport, WireFormat
from nova_market.services.exchange.health import FORGED, MISDIRECTED, DropCounter, frame_boundary

LOG = logging.getLogger(__name__)

UNKNOWN_ENGINE = 'unknown_engine'
"""It is not one of [exchange]market_engines."""

Receive = Callable[[HostName | None, bytes], None]


class AllocationReceiver:
    """Implements ports.Transport, for the topology, and ports.Allocations, for the agent."""

    def __init__(
        self,
        *,
        host: HostName,
        transport: Transport,
        wire: WireFormat,
        clock: Clock,
        engines: Collection[HostName],
        record: StateFile | None = None,
    ) -> None:
        """engines: who may allocate; record: where the newest message outlives the service."""
        self._host = host
        self._transport = transport
        self._wire = wire
        self._clock = clock
        self._engines = frozenset(engines)
        self._record = record
        self._book = ReceivedAllocations()
        self._confirmed: tuple[int, dict[str, int]] = (-1, {})  # period, server -> first second
        self._lock = threading.Lock()
        self._drops = DropCounter(host)
        self._wake: Callable[[str], None] = _no_subscriber
        self._outage = OutageLog(
            LOG, lost='weights go back to their base values', back='allocations are in force again'
        )

    def subscribe(self, callback: Callable[[str], None]) -> None:
        """Call `callback(reason)` from the transport's thread when new allocations have come."""
        self._wake = callback

    # -- ports.Transport

    @property
    def echoes(self) -> bool:
        return self._transport.echoes

    @property
    def trouble(self) -> str:
        return self._transport.trouble

    @property
    def dropped(self) -> Mapping[str, int]:
        return self._drops.counts(self._transport.dropped)

    def start(self, receive: Receive) -> None:
        def sort(sender: HostName | None, frame: bytes) -> None:
            if not self._receive(sender, frame):
                receive(sender, frame)

        self._remember()
        self._transport.start(sort)

    def send(self, to: HostName, frame: bytes) -> None:
        self._transport.send(to, frame)

    def broadcast(self, frame: bytes) -> None:
        self._transport.broadcast(frame)

    def stop(self) -> None:
        self._transport.stop()

    # -- ports.Allocations

    def look(self) -> EffectiveAllocations:
        with self._lock:
            granted = self._book.look(self._clock.monotonic())
        if granted.in_force:
            self._outage.works(f'period {granted.period}')
        elif granted.period >= 0:
            self._outage.failed(f'no new allocations since those of period {granted.period}')
        return granted

    def confirm(
        self,
        granted: EffectiveAllocations,
        servers: Sequence[str],
        heaviness: Mapping[OwnerId, float],
        enforced: Sequence[str] | None = None,
        use: MinuteUse | None = None,
    ) -> None:
        engine = HostName(granted.engine)
        message = Confirmation(
            host=self._host,
            engine=engine,
            period=granted.period,
            servers=tuple(servers),
            heaviness=heaviness,
            enforced=None if enforced is None else tuple(enforced),
            use=use,
            since=self._since(granted.period, servers),
        )
        try:
            frame = self._wire.encode(message)
        except MalformedReport as error:
            LOG.error('Allocations cannot be confirmed: %s', error)
            return
        self._transport.send(engine, frame)

    def _since(self, period: int, servers: Sequence[str]) -> tuple[int, ...]:
        """For each of these servers, the second in which its allocation of the period was first in force.

        The engine charges what was in force before the period ended, also if it learns of it later (F2).
        """
        if period != self._confirmed[0]:
            self._confirmed = (period, {})
        first, now = self._confirmed[1], int(self._clock.wall())
        return tuple(first.setdefault(server, now) for server in servers)

    # -- on the transport's thread

    def _receive(self, sender: HostName | None, frame: bytes) -> bool:
        """Take a message of the market; False when the frame holds none. It never raises."""
        with frame_boundary(self._drops, sender):
            if not self._sort(sender, frame):
                return False
        return True

    def _sort(self, sender: HostName | None, frame: bytes) -> bool:
        message = market_message_in(self._wire, frame, self._drops)
        if message is None:
            return False
        if isinstance(message, str):
            return True
        reason = self._take(sender, message)
        if reason:
            self._drops.add(reason, f'engine {message.engine}, period {message.period}')
        elif isinstance(message, AllocationMessage):
            self._keep(message)
            self._wake(f'allocations of period {message.period}')
        return True

    def _remember(self) -> None:
        """Restore the allocations of before a restart, while they are valid."""
        document = self._record.load() if self._record is not None else None
        try:
            message = from_values(document) if document is not None else None
        except MalformedReport as error:
            LOG.warning('The record of allocations is damaged and ignored: %s', error)
            return
        if isinstance(message, MarketMessage):
            self._take(None, message)

    def _keep(self, message: MarketMessage) -> None:
        if self._record is None:
            return
        try:
            self._record.save(to_values(message))
        except OSError as error:
            LOG.warning('Allocations cannot be recorded and will not outlive a restart: %s', error)

    def _take(self, sender: HostName | None, message: MarketMessage) -> str:
        """Keep a message; returns '' or why it is not kept."""
        if not isinstance(message, AllocationMessage) or message.host != self._host:
            return MISDIRECTED
        if sender is not None and sender != message.engine:
            return FORGED
        if message.engine not in self._engines:
            return UNKNOWN_ENGINE
        with self._lock:
            return self._book.take(message, self._clock.wall(), self._clock.monotonic())


def market_message_in(
    wire: WireFormat, frame: bytes, drops: DropCounter
) -> MarketMessage | str | None:
    """The message of the market in a frame; None when it holds none, '' when it is dropped."""
    if PREFIX not in frame:
        return None  # most frames: they are decoded once, by the topology
    try:
        message = wire.decode(frame)
    except MalformedReport as error:
        drops.add(error.reason, str(error))
        return ''
    return message if isinstance(message, MarketMessage) else None


def _no_subscriber(reason: str) -> None:
    del reason
