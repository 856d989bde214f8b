# SPDX-License-Identifier: Apache-2.0
"""Every host sends its report to all others: the paper's exchange, for small clouds and for comparison.

Implements the message exchange of IFI-2016.04, section IV-D.2: N * (N - 1) messages an interval. Units:
seconds of the monotonic clock.

Differs from the paper: one message per host and interval with one partial sum per owner, and nothing is
waited for. Where the transport carries a host's own report back to it, that is how it knows that the
transport works; elsewhere it knows by receiving from any other host.
"""

import logging
import threading
from collections.abc import Mapping

from nova_market.core.exchange.codec import HostMessage
from nova_market.core.exchange.messages import Departure, HostReport
from nova_market.core.exchange.report_bounds import ReportBound, unbounded
from nova_market.core.exchange.report_table import LoopbackMonitor, ReportTable
from nova_market.core.exchange.totals import CloudTotals
from nova_market.core.resource import HostName
from nova_market.ports import Clock, Membership, Transport, WireFormat
from nova_market.services.exchange.frames import HostFrames
from nova_market.services.exchange.health import (
    OTHER_TOPOLOGY,
    DropCounter,
    LinkHealth,
    UnusedAllocations,
)

LOG = logging.getLogger(__name__)


class BroadcastExchange:
    """Implements ports.Exchange."""

    def __init__(
        self,
        *,
        host: HostName,
        metric: str,
        ttl: float,
        clock: Clock,
        transport: Transport,
        wire: WireFormat,
        membership: Membership,
        bound: ReportBound = unbounded,
    ) -> None:
        """ttl: seconds after which a silent host is forgotten; bound: of the sums that a host may report."""
        self._host = host
        self._clock = clock
        self._transport = transport
        self._membership = membership
        now = clock.monotonic()
        self._book = ReportTable(metric, ttl, bound=bound)
        self._echo = LoopbackMonitor(now, ttl)
        self._last_received = now - 2.0 * ttl
        self._last: HostReport | None = None
        self._drops = DropCounter(host)
        self._unused = UnusedAllocations()
        self._frames = HostFrames(wire, self._drops, self._unused, self._take)
        self._health = LinkHealth(ttl, now)
        self._lock = threading.Lock()

    @property
    def dropped(self) -> Mapping[str, int]:
        """Reason -> messages of peers that were thrown away."""
        return self._drops.counts(self._transport.dropped)

    @property
    def membership(self) -> Membership:
        """The hosts that this exchange knows."""
        return self._membership

    @property
    def unused_allocations(self) -> int:
        """Allocation messages that came although this host takes no part in a market."""
        return self._unused.count

    def start(self) -> None:
        self._membership.start()
        self._transport.start(self._frames.take)

    def publish(self, report: HostReport) -> None:
        now = self._clock.monotonic()
        with self._lock:
            self._last = report
            self._book.replace(report, now)
            self._echo.publish(report.version, now)
        self._send(report)

    def totals(self) -> CloudTotals:
        now = self._clock.monotonic()
        alone = len(self._membership.members()) < 2
        with self._lock:
            totals = self._book.totals(now, self._age(now, alone))
        self._health.observe(totals.age, self._transport.trouble, now)
        return totals

    def stop(self) -> None:
        with self._lock:
            last, self._last = self._last, None
        if last is not None and not self._health.down:
            message = Departure(
                host=self._host, incarnation=last.incarnation, sequence=last.sequence + 1
            )
            with self._lock:
                # it comes back like a report, while the transport still listens
                self._echo.publish(message.version, self._clock.monotonic())
            self._send(message)
        self._transport.stop()
        self._membership.stop()

    def _age(self, now: float, alone: bool) -> float:
        """Seconds since the transport was last known to work; without other hosts it cannot fail."""
        if self._transport.echoes:
            return self._echo.age(now)
        return 0.0 if alone else max(now - self._last_received, 0.0)

    def _send(self, message: HostMessage) -> None:
        frame = self._frames.written(message)
        if frame is not None:
            self._transport.broadcast(frame)

    def _take(self, message: HostMessage) -> str:
        """Keep a message; returns '' or why it is not kept."""
        now = self._clock.monotonic()
        if not isinstance(message, HostReport | Departure):
            return OTHER_TOPOLOGY
        with self._lock:
            if message.host == self._host:
                return self._echo.receive(message.version)
            if isinstance(message, Departure):
                reason = self._book.leave(message, now)
            else:
                reason = self._book.put(message, now)
            if not reason:
                self._last_received = now
        return reason
