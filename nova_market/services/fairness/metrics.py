# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of nova-fairness, computed from the last round when they are asked for.

Every series of a tenant carries the label `project`, so that Aetos can show tenants their own.
"""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from nova_market.core.fairness import host_division
from nova_market.core.resource import RESOURCES
from nova_market.services.fairness.agent import FairnessRecord
from nova_market.services.fairness.progress import RoundUnderWay

Dropped = Callable[[], Mapping[str, int]]


class FairnessCollector(Collector):
    def __init__(
        self,
        host: str,
        dropped: Dropped = dict,
        unused_allocations: Callable[[], int] = int,
        under_way: Callable[[], RoundUnderWay | None] = lambda: None,
    ) -> None:
        """The first two callables read the exchange.

        dropped:            reason -> messages of peers that were thrown away
        unused_allocations: allocation messages that a host without a market has ignored
        under_way:          the round that runs now
        """
        self._host = host
        self._dropped = dropped
        self._unused_allocations = unused_allocations
        self._under_way = under_way
        self._record: FairnessRecord | None = None
        self._rounds = 0
        self._failures = 0
        self._writes: dict[str, int] = {}

    def observe(self, record: FairnessRecord) -> None:
        self._record = record
        self._rounds += 1
        for control, values in record.written.items():
            self._writes[control] = self._writes.get(control, 0) + len(values)

    def failed(self) -> None:
        """A round could not be run."""
        self._failures += 1

    def registry(self) -> CollectorRegistry:
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def collect(self) -> Iterator[Metric]:
        rounds = CounterMetricFamily(
            'nova_fairness_rounds', 'Rounds run.', labels=['host', 'outcome']
        )
        rounds.add_metric([self._host, 'done'], self._rounds)
        rounds.add_metric([self._host, 'failed'], self._failures)
        yield rounds
        writes = CounterMetricFamily(
            'nova_fairness_writes', 'Values written to guests.', labels=['host', 'control']
        )
        for control, count in sorted(self._writes.items()):
            writes.add_metric([self._host, control], count)
        yield writes
        dropped = CounterMetricFamily(
            'nova_fairness_dropped_reports',
            'Messages of peers thrown away.',
            labels=['host', 'reason'],
        )
        for reason, count in sorted(self._dropped().items()):
            dropped.add_metric([self._host, reason], count)
        yield dropped
        unused = CounterMetricFamily(
            'nova_fairness_unused_allocation_messages',
            'Allocation messages of the market engine that were ignored, as the policy has no market.',
            labels=['host'],
        )
        unused.add_metric([self._host], self._unused_allocations())
        yield unused
        now = self._under_way()
        lasted = GaugeMetricFamily(
            'nova_fairness_round_under_way_seconds',
            'How long the round that runs now has lasted; 0 between two rounds.',
            labels=['host'],
        )
        lasted.add_metric([self._host], now.seconds if now else 0.0)
        yield lasted
        if self._record is not None:
            yield from self._of_round(self._record)

    def _of_round(self, record: FairnessRecord) -> Iterator[Metric]:
        plan = record.plan
        phases = GaugeMetricFamily(
            'nova_fairness_phase_seconds',
            'Duration of the phases of the last round.',
            labels=['host', 'phase'],
        )
        for phase, seconds in record.seconds.items():
            phases.add_metric([self._host, phase], seconds)
        yield phases
        age = GaugeMetricFamily(
            'nova_fairness_totals_age_seconds',
            'Since the exchange was last known to work.',
            labels=['host'],
        )
        age.add_metric([self._host], plan.totals.age)
        yield age
        hosts = GaugeMetricFamily(
            'nova_fairness_hosts', 'Hosts in the totals of the cloud.', labels=['host']
        )
        hosts.add_metric([self._host], plan.totals.hosts)
        yield hosts
        yield from self._of_supply(record)
        yield from self._of_owners(record)
        yield from self._of_guests(record)
        yield from self._of_market(record)

    def _of_supply(self, record: FairnessRecord) -> Iterator[Metric]:
        labels = ['host', 'resource']
        supply = GaugeMetricFamily(
            'nova_fairness_supply',
            'What guests can have: cores, and bytes of memory.',
            labels=labels,
        )
        offered = GaugeMetricFamily(
            'nova_fairness_offered_supply',
            'What the host has for guests; other processes take the difference to the supply.',
            labels=labels,
        )
        for family, values in ((supply, record.supply), (offered, record.offered)):
            family.add_metric([self._host, 'cpu'], values.cores)
            family.add_metric([self._host, 'memory'], values.memory_bytes)
            yield family

    def _of_owners(self, record: FairnessRecord) -> Iterator[Metric]:
        plan = record.plan
        heaviness = GaugeMetricFamily(
            'nova_fairness_owner_heaviness',
            'Heaviness of the user in the cloud (eq. 4).',
            labels=['host', 'project'],
        )
        share = GaugeMetricFamily(
            'nova_fairness_share_ratio',
            "Part of this host's weight that the owner has.",
            labels=['host', 'project'],
        )
        whole = float(plan.weights.sum()) or 1.0
        shares: dict[str, float] = {}
        for i, guest in enumerate(plan.guests):
            shares[guest.owner] = shares.get(guest.owner, 0.0) + float(plan.weights[i]) / whole
        for owner, value in sorted(plan.owner_heaviness.items()):
            heaviness.add_metric([self._host, owner], value)
            share.add_metric([self._host, owner], shares[owner])
        yield heaviness
        yield share

    def _of_guests(self, record: FairnessRecord) -> Iterator[Metric]:
        plan = record.plan
        labels = ['host', 'project', 'instance_uuid']
        heaviness = GaugeMetricFamily(
            'nova_fairness_guest_heaviness', 'Heaviness of the VM (eq. 2).', labels=labels
        )
        load = GaugeMetricFamily(
            'nova_fairness_guest_load', 'Load of the VM.', labels=[*labels, 'resource']
        )
        due = GaugeMetricFamily(
            'nova_fairness_guest_endowment', 'Endowment of the VM.', labels=[*labels, 'resource']
        )
        wanted = GaugeMetricFamily(
            'nova_fairness_guest_wanted', 'Value asked for.', labels=[*labels, 'control']
        )
        for i, guest in enumerate(plan.guests):
            key = [self._host, guest.owner, guest.id]
            heaviness.add_metric(key, float(plan.weighing.heaviness[i]))
            for r, resource in enumerate(RESOURCES):
                if plan.view.weights[r] > 0:
                    load.add_metric([*key, resource], float(plan.weighing.measurement.load[i, r]))
                    due.add_metric([*key, resource], float(plan.weighing.endowment[i, r]))
            for control, values in plan.wanted.items():
                wanted.add_metric([*key, control], int(values[i]))
        yield heaviness
        yield load
        yield due
        yield wanted

    def _of_market(self, record: FairnessRecord) -> Iterator[Metric]:
        granted = record.plan.granted
        if record.plan.policy == host_division.FAIRNESS:
            return
        strength = GaugeMetricFamily(
            'nova_fairness_allocations_strength',
            'How much the allocations of the market count: 1, or falling to 0 when it is silent.',
            labels=['host'],
        )
        strength.add_metric([self._host], granted.strength)
        yield strength
        confirmed = GaugeMetricFamily(
            'nova_fairness_allocations_in_force', 'Allocations confirmed.', labels=['host']
        )
        confirmed.add_metric([self._host], len(record.applied))
        yield confirmed
        labels = ['host', 'project', 'instance_uuid']
        cores = GaugeMetricFamily('nova_fairness_guest_cores', 'Cores allocated.', labels=labels)
        for guest in record.plan.guests:
            if guest.id in granted.allocations:
                key = [self._host, guest.owner, guest.id]
                cores.add_metric(key, granted.allocations[guest.id].cores)
        yield cores
