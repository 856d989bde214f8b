# SPDX-License-Identifier: Apache-2.0
"""Letters of the market on the transport of a host: taken out before the topology sees them.

Implements rules A5, F2 and F3 of doc/source/specs/market.rst. Units: seconds of the clock.

One transport carries both, since a host has one connection and proves itself once. Only the engines that the
operator names may allocate: a transport that proves the sender has him checked by name; elsewhere (over a
broker) whoever has an account there can write, and the name is only what the letter says.
"""

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence

from nova_market.core.exchange.allocation_messages import (
    PREFIX,
    AllocationLetter,
    Confirmation,
    MarketLetter,
    is_market,
    market_letter,
    market_values,
)
from nova_market.core.exchange.received_allocations import EffectiveAllocations, ReceivedAllocations
from nova_market.core.resource import HostName, OwnerId
from nova_market.errors import MalformedReport, OversizedReport
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock, StateFile, Transport, WireFormat
from nova_market.services.exchange.health import FORGED, DropCounter

LOG = logging.getLogger(__name__)

UNKNOWN_ENGINE = 'unknown_engine'
"""It is not one of [exchange]market_engines."""

MISDIRECTED = 'misdirected'
"""A letter for another host, or for an engine."""

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
        """engines: who may allocate; record: where the newest letter outlives the service."""
        self._host = host
        self._transport = transport
        self._wire = wire
        self._clock = clock
        self._engines = frozenset(engines)
        self._record = record
        self._book = ReceivedAllocations()
        self._lock = threading.Lock()
        self._drops = DropCounter(host)
        self._wake: Callable[[str], None] = _nobody
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
            if not self._hear(sender, frame):
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
    ) -> None:
        engine = HostName(granted.engine)
        letter = Confirmation(
            host=self._host,
            engine=engine,
            period=granted.period,
            servers=tuple(servers),
            heaviness=heaviness,
        )
        try:
            frame = self._wire.encode(market_values(letter))
        except MalformedReport as error:
            LOG.error('allocations are not confirmed: %s', error)
            return
        self._transport.send(engine, frame)

    # -- on the transport's thread

    def _hear(self, sender: HostName | None, frame: bytes) -> bool:
        """Take a letter of the market; False when the frame holds none."""
        letter = read_letter(self._wire, frame, self._drops)
        if letter is None:
            return False
        if isinstance(letter, str):
            return True
        reason = self._take(sender, letter)
        if reason:
            self._drops.add(reason, f'engine {letter.engine}, period {letter.period}')
        elif isinstance(letter, AllocationLetter):
            self._keep(letter)
            self._wake(f'allocations of period {letter.period}')
        return True

    def _remember(self) -> None:
        """Believe what was believed before the service was started anew, as long as it counts."""
        document = self._record.load() if self._record is not None else None
        try:
            letter = market_letter(document) if document is not None else None
        except MalformedReport as error:
            LOG.warning('the record of allocations is damaged and ignored (%s)', error)
            return
        if letter is not None:
            self._take(None, letter)

    def _keep(self, letter: MarketLetter) -> None:
        if self._record is None:
            return
        try:
            self._record.save(market_values(letter))
        except OSError as error:
            LOG.warning('allocations would not outlive a restart of the service: %s', error)

    def _take(self, sender: HostName | None, letter: MarketLetter) -> str:
        """Keep a letter; returns '' or why it is not kept."""
        if not isinstance(letter, AllocationLetter) or letter.host != self._host:
            return MISDIRECTED
        if sender is not None and sender != letter.engine:
            return FORGED
        if letter.engine not in self._engines:
            return UNKNOWN_ENGINE
        with self._lock:
            return self._book.take(letter, self._clock.wall(), self._clock.monotonic())


def read_letter(wire: WireFormat, frame: bytes, drops: DropCounter) -> MarketLetter | str | None:
    """The letter of the market in a frame; None when it holds none, '' when it was no good and is dropped."""
    if PREFIX not in frame:
        return None  # most frames: they are decoded once, by the topology
    try:
        message = wire.decode(frame)
    except (MalformedReport, OversizedReport):
        return None
    if not is_market(message):
        return None
    try:
        return market_letter(message)
    except MalformedReport as error:
        drops.add('malformed', str(error))
        return ''


def _nobody(reason: str) -> None:
    del reason
