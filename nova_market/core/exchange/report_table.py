# SPDX-License-Identifier: Apache-2.0
"""What a host remembers of all hosts' reports, and whether its own reports still come back to it.

Implements the collection of heaviness sets of IFI-2016.04, section IV-D.2, without its FIFO queues and
barrier: the last report of a host counts, and it dies `ttl` seconds after it was received. All times are
seconds of the receiver's monotonic clock, given as arguments, so neither a sender's clock nor a jump of
the wall clock matters.

These two classes remember, but read no clock and take no lock: their owner does both.
"""

from dataclasses import dataclass

from nova_market.core.exchange.messages import Departure, HostReport
from nova_market.core.exchange.report_bounds import ReportBound, unbounded
from nova_market.core.exchange.totals import CloudTotals, add_up
from nova_market.core.resource import HostName

MAX_HOSTS = 10_000
"""So many names are remembered, so that a peer that invents names can't fill the memory. One broker
carries far fewer: the messages grow with the square of the hosts."""

MAX_PENDING = 100
"""So many reports of our own may be under way; the times of older ones are not needed."""

MAX_OWNERS_KEPT = 100_000
"""Owners of all reports together, for the same reason; about 30 MB."""

STALE = 'stale'
OTHER_METRIC = 'other_metric'
TOO_MANY_HOSTS = 'too_many_hosts'
TOO_MANY_OWNERS = 'too_many_owners'
FOREIGN_NAME = 'our_name'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """report: None after the host's departure; version and time then guard the empty place."""

    report: HostReport | None
    version: tuple[int, int]
    received: float


class ReportTable:
    """Last report of each host."""

    def __init__(
        self, metric: str, ttl: float, limit: int = MAX_HOSTS, bound: ReportBound = unbounded
    ) -> None:
        """metric: only its reports are kept; ttl: seconds after which a silent host is forgotten.

        bound: of the sums that a host may report
        """
        self._metric = metric
        self._ttl = ttl
        self._limit = limit
        self._bound = bound
        self._rows: dict[HostName, _Row] = {}
        self._owners = 0

    def put(self, report: HostReport, now: float) -> str:
        """Keep a report; returns '' or why it is not kept.

        A report that is older than the one kept is refused while that one lives. After that any is
        taken: the clock of a restarted host may have jumped back, and its incarnation with it.
        """
        if report.metric != self._metric:
            return OTHER_METRIC
        return self._write(report.host, report, report.version, now)

    def replace(self, report: HostReport, now: float) -> None:
        """Keep a report of the host itself, whatever is known already."""
        known = self._rows.get(report.host)
        self._owners += _owners(report) - _owners(known.report if known else None)
        self._rows[report.host] = _Row(report=report, version=report.version, received=now)

    def leave(self, departure: Departure, now: float) -> str:
        """Forget a host that leaves; a report it sent before that may still arrive late."""
        return self._write(departure.host, None, departure.version, now)

    def totals(self, now: float, age: float = 0.0) -> CloudTotals:
        """Sums over the reports that are alive; the others are forgotten."""
        self._rows = {host: row for host, row in self._rows.items() if self._alive(row, now)}
        self._owners = sum(_owners(row.report) for row in self._rows.values())
        reports = (row.report for row in self._rows.values() if row.report is not None)
        return add_up(reports, self._metric, age, self._bound)

    def _write(
        self, host: HostName, report: HostReport | None, version: tuple[int, int], now: float
    ) -> str:
        known = self._rows.get(host)
        if known is None and len(self._rows) >= self._limit:
            return TOO_MANY_HOSTS
        if known is not None and self._alive(known, now) and version <= known.version:
            return STALE
        owners = self._owners + _owners(report) - _owners(known.report if known else None)
        if report is not None and owners > MAX_OWNERS_KEPT:
            return TOO_MANY_OWNERS
        self._owners = owners
        self._rows[host] = _Row(report=report, version=version, received=now)
        return ''

    def _alive(self, row: _Row, now: float) -> bool:
        return now - row.received < self._ttl


def _owners(report: HostReport | None) -> int:
    return len(report.owners) + len(report.quotas) if report is not None else 0


class LoopbackMonitor:
    """How long ago the transport was last known to carry our reports there and back.

    A report counts from when it was published, not from when it came back: so what a long queue holds
    up does not look fresh. As long as nothing came back the transport counts as out of order.
    """

    def __init__(self, now: float, ttl: float) -> None:
        self._carried = now - 2.0 * ttl
        self._published: dict[tuple[int, int], float] = {}
        self._newest = (-1, -1)

    def publish(self, version: tuple[int, int], now: float) -> None:
        """Our report of this version is under way."""
        self._published[version] = now
        self._newest = max(self._newest, version)
        if len(self._published) > MAX_PENDING:
            del self._published[min(self._published)]

    def receive(self, version: tuple[int, int]) -> str:
        """A report in our name has come; returns '' or why it is none of ours that matters."""
        published = self._published.get(version)
        if published is None:
            return FOREIGN_NAME if version > self._newest else STALE
        self._carried = max(self._carried, published)
        self._published = {v: time for v, time in self._published.items() if v > version}
        return ''

    def age(self, now: float) -> float:
        """Seconds since a report was published that came back."""
        return max(now - self._carried, 0.0)
