# SPDX-License-Identifier: Apache-2.0
"""The exchange within one process: a host by itself, or the hosts of a simulation.

A hub shared by several exchanges can hold reports back and lose them, as a network would.
"""

from collections.abc import Callable

import numpy as np

from nova_market.core.exchange import CloudTotals, HostReport
from nova_market.core.quantity import HostName
from nova_market.core.report_book import ReportBook
from nova_market.ports import Clock


class LocalHub:
    """Where the exchanges of one process meet."""

    def __init__(
        self, delay: float = 0.0, loss: float = 0.0, rng: np.random.Generator | None = None
    ) -> None:
        """delay: seconds until the others see a report; loss: part of the deliveries that vanish."""
        self._delay = delay
        self._loss = loss
        self._rng = rng or np.random.default_rng(0)
        self._members: dict[HostName, Callable[[HostReport, float], None]] = {}

    def join(self, host: HostName, deliver: Callable[[HostReport, float], None]) -> None:
        """deliver(report, when) is called for each report of the others that is not lost."""
        self._members[host] = deliver

    def leave(self, host: HostName) -> None:
        self._members.pop(host, None)

    def spread(self, report: HostReport, now: float) -> None:
        for host, deliver in sorted(self._members.items()):
            if host != report.host and self._rng.random() >= self._loss:
                deliver(report, now + self._delay)

    @property
    def members(self) -> tuple[HostName, ...]:
        return tuple(sorted(self._members))


class LocalExchange:
    """Implements ports.Exchange; alone, it knows this host only."""

    def __init__(
        self,
        *,
        host: HostName,
        metric: str,
        ttl: float,
        clock: Clock,
        hub: LocalHub | None = None,
        conf: object = None,
    ) -> None:
        """conf is not used: every plug-in of nova_market.exchange is made with the same arguments."""
        del conf
        self._host = host
        self._clock = clock
        self._hub = hub or LocalHub()
        self._book = ReportBook(metric, ttl)
        self._coming: list[tuple[float, HostReport]] = []
        self._hub.join(host, lambda report, when: self._coming.append((when, report)))

    def start(self) -> None:
        """Nothing to wait for."""

    def publish(self, report: HostReport) -> None:
        now = self._clock.monotonic()
        self._book.put(report, now)
        self._hub.spread(report, now)

    def totals(self) -> CloudTotals:
        now = self._clock.monotonic()
        for when, report in [item for item in self._coming if item[0] <= now]:
            self._book.put(report, when)
        self._coming = [item for item in self._coming if item[0] > now]
        return self._book.totals(now)

    def stop(self) -> None:
        self._hub.leave(self._host)
