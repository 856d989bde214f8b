# SPDX-License-Identifier: Apache-2.0
"""What a service has set aside, kept for owners and operators, and shown to both.

Implements rule R3 of doc/source/specs/passes.rst around row_boundary.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from nova_market.core.set_aside import SetAside
from nova_market.core.timestamp import stamp
from nova_market.ports import SetAsideStore
from nova_market.row_boundary import OUTAGES, RowBoundary

PREFIX = 'nova_market_set_aside'
HEADER = f'{"SET ASIDE SINCE (UTC)":<21}  {"KIND":<10}  {"ID":<36}  STAGE: REASON'


class SetAsideReport:
    """Keeps what is set aside when a pass ends. forget() when another service has led meanwhile."""

    def __init__(self, service: str, boundary: RowBoundary, store: SetAsideStore) -> None:
        self._service = service
        self._store = store
        self._written: Sequence[SetAside] | None = None
        self.boundary = boundary
        """Of the service's database, which its own steps use as well."""

    @contextmanager
    def kept(self, leading: Callable[[], bool] = lambda: True) -> Iterator[None]:
        """Around a pass of the service that leads; a defect that ends the pass hides nothing of it.

        leading: whether it still does at the end

        :raises DatabaseUnavailable: a later pass keeps what is set aside.
        """
        self.boundary.turn()
        try:
            yield
        except OUTAGES:
            raise
        except Exception:
            self._keep(leading)
            raise
        self._keep(leading)

    def forget(self) -> None:
        self._written = None

    def _keep(self, leading: Callable[[], bool]) -> None:
        found = self.boundary.listed()
        if found != self._written and leading():
            self._store.keep(self._service, found)
            self._written = found


class SetAsideCollector(Collector):
    """Prometheus metrics of what a process has set aside, by kind of row."""

    def __init__(self, boundary: RowBoundary) -> None:
        self._boundary = boundary

    def collect(self) -> Iterator[Metric]:
        yield from _metrics(self._boundary)


def _metrics(boundary: RowBoundary) -> Iterator[Metric]:
    rows = GaugeMetricFamily(
        PREFIX, 'Rows that cannot be handled now and are tried again.', labels=['kind']
    )
    for kind, count in sorted(Counter(one.kind for one in boundary.listed()).items()):
        rows.add_metric([kind], count)
    yield rows
    total = CounterMetricFamily(f'{PREFIX}_rows', 'How often a row was set aside.', labels=['kind'])
    for kind, count in sorted(boundary.counted().items()):
        total.add_metric([kind], count)
    yield total


def aside_document(rows: Sequence[SetAside]) -> list[Mapping[str, object]]:
    """As JSON has it."""
    names = ('kind', 'id', 'stage', 'project_id', 'reason', 'since')
    return [{name: getattr(one, name) for name in names} for one in rows]


def render_aside(rows: Sequence[SetAside]) -> str:
    """A line for each, for a person."""
    lines = [
        f'{stamp(one.since):<21}  {one.kind:<10}  {one.id:<36}  {one.stage}: {one.reason}'
        for one in rows
    ]
    return '\n'.join([HEADER, *lines])
