# SPDX-License-Identifier: Apache-2.0
"""The health of an exchange: what it has dropped and whether it works, each logged once."""

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from nova_market.core.exchange.received_allocations import OVERTAKEN
from nova_market.core.exchange.report_table import FOREIGN_NAME, STALE
from nova_market.core.resource import HostName
from nova_market.outage_log import OutageLog
from nova_market.row_boundary import reason_of

LOG = logging.getLogger(__name__)

FORGED = 'forged'
"""The transport proves that the sender is not the host that the message names."""

OTHER_TOPOLOGY = 'other_topology'
"""The peer's [exchange]topology is another one: its messages cannot be used."""

MISDIRECTED = 'misdirected'
"""An allocation message for another host, or a confirmation for an engine."""

UNHANDLED = 'unhandled'
"""Taking it has failed, which is a defect and costs this message."""

EXPECTED = frozenset({STALE, OVERTAKEN})
"""Reasons that occur in healthy clouds: frames overtake each other."""


SILENCE = 1.5
"""Parts of the time to live without replies after which it is logged: when an aggregator dies, others
take over before that."""


class DropCounter:
    """Reason -> messages of peers that were thrown away. Safe for threads."""

    def __init__(self, host: HostName) -> None:
        self._host = host
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def counts(self, more: Mapping[str, int]) -> Mapping[str, int]:
        """Together with the counts of the transport."""
        with self._lock:
            return dict(self._counts + Counter(more))

    def add(self, reason: str, detail: str, *, traceback: bool = False) -> None:
        """Count one; the first of a reason is logged. traceback: of the error that is handled now."""
        with self._lock:
            self._counts[reason] += 1
            first = self._counts[reason] == 1 and reason not in EXPECTED
        if first and reason == FOREIGN_NAME:
            LOG.warning(
                'A message carries the name of this host (%s), which has not sent it. Does '
                'another service use this name ([host]name)? Further messages are only counted.',
                self._host,
            )
        elif first:
            LOG.warning(
                'A message is dropped as %s (%s). Further messages are only counted.',
                reason,
                detail,
                exc_info=traceback,
            )
        else:
            LOG.debug('A message is dropped as %s: %s', reason, detail)


@contextmanager
def frame_boundary(drops: DropCounter, sender: HostName | None) -> Iterator[None]:
    """Whatever goes wrong while one frame is taken costs that frame (R2)."""
    try:
        yield
    except Exception as error:
        drops.add(UNHANDLED, f'sender {sender}: {reason_of(error)}', traceback=True)


class UnusedAllocations:
    """Counts allocation messages at a host whose policy has no market. Safe for threads.

    The engine sends allocations to every host with servers of the market; a host with policy `fairness`
    takes them out of its queue and does nothing else with them. That is no error of anybody.
    """

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        with self._lock:
            return self._count

    def add(self) -> None:
        """Count one; the first is logged."""
        with self._lock:
            self._count += 1
            first = self._count == 1
        if first:
            LOG.info(
                'The market engine sends allocations to this host, which ignores them because its '
                '[fairness]policy has no market. Further messages are only counted.'
            )


class LinkHealth:
    """One line when the exchange goes down, one when it works again. Safe for threads."""

    def __init__(self, ttl: float, started: float) -> None:
        """started: silence counts from then on."""
        self._ttl = ttl
        self._started = started
        self._outage = OutageLog(
            LOG,
            lost=f'the exchange is down, other hosts are forgotten after {ttl:g} s',
            back='the exchange works again',
        )

    @property
    def down(self) -> bool:
        return self._outage.active

    def observe(self, age: float, trouble: str, now: float) -> None:
        """age: of the totals; trouble: the transport's error."""
        silent = min(age, now - self._started) > SILENCE * self._ttl
        if trouble:
            self._outage.failed(trouble)
        # while it is down only totals that have come prove that it works
        elif silent or (self._outage.active and age > self._ttl):
            self._outage.failed(f'no report of this host was acknowledged in the last {age:.0f} s')
        else:
            self._outage.works()
