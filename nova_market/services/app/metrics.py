# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of the controller, from its last pass. Units: seconds, counts."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from nova_market.core.app.record import AppState, DesiredServerState
from nova_market.services.app.controller import Seen

PREFIX = 'nova_market_controller'


class ControllerCollector(Collector):
    """leads: is this controller the leader now?"""

    def __init__(self, leads: Callable[[], bool]) -> None:
        self._leads = leads
        self._seen: Seen | None = None

    def observe(self, seen: Seen) -> None:
        self._seen = seen

    def registry(self) -> CollectorRegistry:
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def collect(self) -> Iterator[Metric]:
        leader = GaugeMetricFamily(f'{PREFIX}_leader', 'Whether this controller leads.')
        leader.add_metric([], float(self._leads()))
        yield leader
        seen = self._seen
        # a standby would go on showing what it saw when it led
        if seen is None or not self._leads():
            return
        apps = GaugeMetricFamily(
            f'{PREFIX}_apps', 'Applications that are looked after.', labels=['state']
        )
        for state in AppState:
            apps.add_metric([str(state)], seen.apps.get(str(state), 0))
        yield apps
        servers = GaugeMetricFamily(
            f'{PREFIX}_servers', 'Their servers, by what is intended.', labels=['intention']
        )
        for intention in DesiredServerState:
            servers.add_metric([str(intention)], seen.servers.get(str(intention), 0))
        yield servers
        for name, text, value in (
            ('troubled_apps', 'Applications that something is wrong with.', seen.troubled),
            ('period', 'Period of the last round that was seen.', seen.period),
            ('pass_seconds', 'How long the last pass took.', seen.seconds),
        ):
            family = GaugeMetricFamily(f'{PREFIX}_{name}', text)
            family.add_metric([], value)
            yield family
        decided = CounterMetricFamily(f'{PREFIX}_decisions', 'Decisions on applications.')
        decided.add_metric([], seen.decided)
        yield decided
