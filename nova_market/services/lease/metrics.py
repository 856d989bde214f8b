# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of the service of leases, from its last pass. Units: seconds, counts, credits."""

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from nova_market.core.lease.record import OVER, LeaseAction, LeaseState
from nova_market.core.ledger.money import MICRO
from nova_market.services.lease.leases import PassSeen

PREFIX = 'nova_market_leases'
LATE = 60.0
"""Seconds after its time from which the start of a lease is late: several passes."""

WAITING = (LeaseState.PLANNED, LeaseState.STARTING)
HAPPENED = {
    LeaseAction.STARTED: ('starts', 'Leases that have begun.'),
    LeaseAction.ENDED: ('ended', 'Leases whose time was over.'),
    LeaseAction.FAILED: ('failed', 'Leases that could not begin or go on.'),
    LeaseAction.MOVED: ('moved', 'Leases that the service has moved from a lost host.'),
    LeaseAction.HOST_LOST: ('waiting_for_host', 'Leases that wait for a lost host.'),
}
"""Counters, by what they count."""


class LeasesCollector(Collector):
    """leads: does this service lead now?"""

    def __init__(self, leads: Callable[[], bool]) -> None:
        self._leads = leads
        self._seen: PassSeen | None = None
        self._passes = 0
        self._late = 0
        self._happened: Counter[str] = Counter()
        self._charged = self._refunded = 0

    def observe(self, seen: PassSeen) -> None:
        self._seen = seen
        self._passes += 1
        for step in seen.steps:
            before, after = step.before, step.after
            self._charged += after.charged - before.charged
            self._refunded += after.refunded - before.refunded
            for event in step.events:
                self._happened[event.action] += 1
                if event.action == LeaseAction.STARTED and event.at > after.start + LATE:
                    self._late += 1

    def registry(self) -> CollectorRegistry:
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def collect(self) -> Iterator[Metric]:
        yield _gauge('leader', 'Whether this service leads.', float(self._leads()))
        yield _counter('passes', 'Passes that this service has made.', self._passes)
        for action, (name, text) in HAPPENED.items():
            yield _counter(name, text, self._happened[action])
        yield _counter('late_starts', f'Those that have begun over {LATE:g} s late.', self._late)
        for name, text, amount in (
            ('charged_credits', 'Credits that were charged for leases.', self._charged),
            ('refunded_credits', 'Credits that came back of leases.', self._refunded),
        ):
            yield _counter(name, text, amount / MICRO)
        # a standby would go on showing what it saw when it led
        if self._seen is not None and self._leads():
            yield from _of_pass(self._seen)


def _of_pass(seen: PassSeen) -> Iterator[Metric]:
    afters = {step.before.id: step.after for step in seen.steps}
    live = [afters.get(one.id, one) for one in seen.live]
    states = Counter(str(one.state) for one in live)
    family = GaugeMetricFamily(PREFIX, 'Leases that are not over, by state.', labels=['state'])
    for state in LeaseState:
        if state not in OVER:
            family.add_metric([str(state)], states[str(state)])
    yield family
    late = [seen.at - one.start for one in live if one.state in WAITING]
    hosts = 0 if seen.view is None else int(seen.view.good.sum())
    for name, text, value in (
        ('last_pass_timestamp_seconds', 'When the last pass began.', seen.at),
        ('pass_seconds', 'How long the last pass took.', seen.seconds),
        ('cloud_readable', 'Whether the hosts could be read.', float(seen.view is not None)),
        ('usable_hosts', 'Hosts that can be leased, are enabled and answer.', hosts),
        ('lost_hosts', 'Hosts with leases that are lost.', len(seen.lost)),
        (
            'longest_overdue_seconds',
            'For how long a lease should have begun.',
            max(late, default=0),
        ),
        (
            'escrow_credits',
            'Credits that are held for them.',
            sum(one.held for one in live) / MICRO,
        ),
    ):
        yield _gauge(name, text, max(float(value), 0.0))


def _gauge(name: str, text: str, value: float) -> Metric:
    family = GaugeMetricFamily(f'{PREFIX}_{name}', text)
    family.add_metric([], value)
    return family


def _counter(name: str, text: str, value: float) -> Metric:
    family = CounterMetricFamily(f'{PREFIX}_{name}', text)
    family.add_metric([], value)
    return family
