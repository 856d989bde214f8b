# SPDX-License-Identifier: Apache-2.0
"""The exchange within one process: a host by itself, or the hosts of a simulation.

Implements ports.Exchange for the experiments of IFI-2016.04 without a network. A hub shared by several
exchanges can hold reports back and lose them, as a network would. Units: seconds of the clock.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from nova_market.core.exchange import CloudTotals, Departure, HostReport
from nova_market.core.quantity import HostName
from nova_market.core.report_book import ReportBook
from nova_market.ports import Clock

Word = HostReport | Departure
Deliver = Callable[[Word, float], None]


class LocalHub:
    """Where the exchanges of one process meet."""

    def __init__(
        self, delay: float = 0.0, loss: float = 0.0, rng: np.random.Generator | None = None
    ) -> None:
        """delay: seconds until the others see a report; loss: part of the deliveries that vanish."""
        if not delay >= 0.0 or not 0.0 <= loss <= 1.0:
            raise ValueError(f'delay {delay!r} is not 0 or more, or loss {loss!r} is not in [0, 1]')
        self._delay = delay
        self._loss = loss
        self._rng = rng or np.random.default_rng(0)
        self._members: dict[HostName, Deliver] = {}
        self._lock = threading.Lock()

    def join(self, host: HostName, deliver: Deliver) -> None:
        """deliver(word, when) is called for each word of the others that is not lost."""
        with self._lock:
            self._members[host] = deliver

    def leave(self, host: HostName) -> None:
        with self._lock:
            self._members.pop(host, None)

    def spread(self, word: Word, now: float) -> None:
        """Give a word to everybody but its speaker."""
        with self._lock:
            for host, deliver in sorted(self._members.items()):
                if host != word.host and self._rng.random() >= self._loss:
                    deliver(word, now + self._delay)


class LocalExchange:
    """Alone it knows this host only; its transport can't fail, so its totals are of age 0."""

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
        self._coming: list[tuple[float, Word]] = []
        self._last: HostReport | None = None
        self._dropped: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._hub.join(host, self._deliver)

    @property
    def dropped(self) -> Mapping[str, int]:
        """Reason -> reports of others that were not kept."""
        with self._lock:
            return dict(self._dropped)

    def start(self) -> None:
        """Nothing to wait for."""

    def publish(self, report: HostReport) -> None:
        now = self._clock.monotonic()
        with self._lock:
            self._last = report
            self._book.replace(report, now)
        self._hub.spread(report, now)

    def totals(self) -> CloudTotals:
        now = self._clock.monotonic()
        with self._lock:
            due = [item for item in self._coming if item[0] <= now]
            self._coming = [item for item in self._coming if item[0] > now]
            for when, word in due:
                self._take(word, when)
            return self._book.totals(now)

    def stop(self) -> None:
        self._hub.leave(self._host)
        last = self._last
        if last is not None:
            word = Departure(
                host=self._host, incarnation=last.incarnation, sequence=last.sequence + 1
            )
            self._hub.spread(word, self._clock.monotonic())

    def _deliver(self, word: Word, when: float) -> None:
        with self._lock:
            self._coming.append((when, word))

    def _take(self, word: Word, when: float) -> None:
        departs = isinstance(word, Departure)
        reason = self._book.leave(word, when) if departs else self._book.put(word, when)
        if reason:
            self._dropped[reason] += 1
