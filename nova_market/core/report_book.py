# SPDX-License-Identifier: Apache-2.0
"""The reports that a host keeps of all hosts: the last value of each wins, and dies after a while.

Implements the collection of heaviness sets of IFI-2016.04, section IV-D.2, without its FIFO queues and
barrier. Times are seconds of the receiver's monotonic clock, given as arguments, so that neither a
sender's clock nor a jump of the wall clock matters.
"""

from nova_market.core.exchange import CloudTotals, HostReport, add_up
from nova_market.core.quantity import HostName


class ReportBook:
    def __init__(self, metric: str, ttl: float) -> None:
        """metric: only its reports are added up; ttl: seconds after which a silent host is forgotten."""
        self._metric = metric
        self._ttl = ttl
        self._rows: dict[HostName, tuple[HostReport, float]] = {}

    def put(self, report: HostReport, now: float) -> bool:
        """Keep a report; False when a newer one of that host is there and still alive."""
        known = self._rows.get(report.host)
        if known is not None and known[1] + self._ttl >= now and report.version < known[0].version:
            return False
        self._rows[report.host] = (report, now)
        return True

    def drop(self, host: HostName) -> None:
        """Forget a host that says it is gone."""
        self._rows.pop(host, None)

    def totals(self, now: float, age: float = 0.0) -> CloudTotals:
        """Sums over the reports that are alive; the others are forgotten."""
        self._rows = {host: row for host, row in self._rows.items() if row[1] + self._ttl >= now}
        return add_up((report for report, _ in self._rows.values()), self._metric, age)
