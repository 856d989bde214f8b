# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of power, from the last pass.

Beyond CloudAlloc, for rule W3 of doc/source/specs/leases.rst. Counts; one that stands by shows no hosts.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from nova_market.core.power.host_step import Phase
from nova_market.services.power.power_pass import PowerSeen

PREFIX = 'nova_market_power'


class PowerCollector(Collector):
    """leads: does this service lead now?"""

    def __init__(self, leads: Callable[[], bool]) -> None:
        self._leads = leads
        self._seen: PowerSeen | None = None
        self._failed = 0

    def observe(self, seen: PowerSeen) -> None:
        self._failed += sum(one.state.phase is Phase.FAILED for one in seen.steps)
        self._seen = seen

    def collect(self) -> Iterator[Metric]:
        failed = CounterMetricFamily(
            f'{PREFIX}_failed_wakes', 'Hosts that were woken and did not come.'
        )
        failed.add_metric([], self._failed)
        yield failed
        seen = self._seen
        if seen is None or not self._leads():
            return
        short = GaugeMetricFamily(
            f'{PREFIX}_short', 'Whether more is wanted than all hosts can give.'
        )
        short.add_metric([], float(seen.short))
        yield short
        hosts = GaugeMetricFamily(
            f'{PREFIX}_hosts', 'Hosts, by where they are on their way.', labels=['phase']
        )
        counts = Counter(seen.phases.values())
        for phase in Phase:
            hosts.add_metric([str(phase)], counts[phase])
        yield hosts
