# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of the engine, from the round it decided last.

Implements rules P3 and P4 of doc/source/specs/market.rst. Units: credits, cores, MiB. Series of a tenant
carry the label `project`, so that Aetos can show tenants their own.
"""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import kind_of
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.round_document import price_records
from nova_market.services.market.rounds import Decided


class MarketCollector(Collector):
    """leads: is this engine the leader now?"""

    def __init__(self, leads: Callable[[], bool], *, balances: bool = False) -> None:
        self._leads = leads
        self._balances = balances
        self._decided: Decided | None = None
        self._rounds = 0

    def observe(self, decided: Decided) -> None:
        self._decided = decided
        self._rounds += 1

    def registry(self) -> CollectorRegistry:
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def collect(self) -> Iterator[Metric]:
        yield _gauge('leader', 'Whether this engine leads.', float(self._leads()))
        rounds = CounterMetricFamily('nova_market_rounds', 'Rounds that this engine has decided.')
        rounds.add_metric([], self._rounds)
        yield rounds
        # a standby would go on showing what it decided when it led
        if self._decided is not None and self._leads():
            yield from self._prices(self._decided)
            yield from self._of_round(self._decided)
            yield from self._economy(self._decided)

    def _prices(self, decided: Decided) -> Iterator[Metric]:
        shown = {
            'price_credits': ('price', MICRO, 'Price of a unit for one period.'),
            'bid_price_credits': ('bid_price', MICRO, 'Sum of bids over capacity.'),
            'capacity': ('capacity', 1, 'Units that hosts hand out.'),
            'allocated': ('allocated', 1, 'Units that servers were given.'),
            'bids_credits': ('bids', MICRO, 'Sum of the bids that counted.'),
        }
        records = price_records(decided.inputs, decided.outcome)
        for name, (field, parts, text) in shown.items():
            family = GaugeMetricFamily(f'nova_market_{name}', text, labels=['resource'])
            for record in records:
                family.add_metric([record.resource], getattr(record, field) / parts)
            yield family

    def _economy(self, decided: Decided) -> Iterator[Metric]:
        record, before = decided.plan.economy, decided.inputs.past.economy
        supply = GaugeMetricFamily(
            'nova_market_credits',
            'Credits, by where they are; the sum is the supply.',
            labels=['held'],
        )
        for place in ('projects', 'budgets', 'escrow', 'bank'):
            supply.add_metric([place], getattr(record, place) / MICRO)
        yield supply
        if before is not None and before.charged is not None:
            yield _gauge(
                'charged_credits', 'What the round before has charged.', before.charged / MICRO
            )
        if record.price_index is not None:
            yield _gauge('price_index', '100: prices of the base window.', record.price_index)
        if self._balances:
            yield from _powers(decided)

    def _of_round(self, decided: Decided) -> Iterator[Metric]:
        inputs, outcome = decided.inputs, decided.outcome
        yield _gauge('period', 'Number of the last round.', inputs.period)
        yield _gauge('servers', 'Servers that took part.', len(inputs.servers))
        hosts = GaugeMetricFamily('nova_market_hosts', 'Hosts.', labels=['answering'])
        answering = int(inputs.snapshot.answering.sum())
        hosts.add_metric(['yes'], answering)
        hosts.add_metric(['no'], len(inputs.hosts) - answering)
        yield hosts
        yield _gauge('largest_error', 'Largest allocation error.', outcome.largest_error)
        yield _gauge('scaled_payers', 'Payers who could not pay all bids.', len(outcome.short))
        held = GaugeMetricFamily(
            'nova_market_price_held', 'Whether the breaker holds the price.', labels=['resource']
        )
        demand = GaugeMetricFamily(
            'nova_market_demand', 'Units asked for at the price.', labels=['resource']
        )
        for r, name in enumerate(MARKET_RESOURCES):
            held.add_metric([name], float(outcome.held[r]))
            if inputs.snapshot.offered[r]:
                demand.add_metric([name], float(outcome.demand[r]))
        yield held
        yield demand
        unsold = GaugeMetricFamily(
            'nova_market_hosts_not_selling', 'Hosts that do not control it.', labels=['resource']
        )
        for r, name in enumerate(MARKET_RESOURCES):
            unsold.add_metric([name], int((~inputs.snapshot.sells[r]).sum()))
        yield unsold
        if self._balances:
            balances = GaugeMetricFamily(
                'nova_market_balance_credits',
                'What a project has, without its budgets.',
                labels=['project'],
            )
            for name, one in sorted(inputs.accounts.items()):
                if kind_of(name) == 'project':
                    balances.add_metric([one.project_id], one.balance / MICRO)
            yield balances


def _powers(decided: Decided) -> Iterator[Metric]:
    spend = GaugeMetricFamily(
        'nova_market_spend_credits',
        'What a project can spend per period for ever.',
        labels=['project'],
    )
    part = GaugeMetricFamily(
        'nova_market_purchasing_power',
        'What that buys, as a part of the cloud.',
        labels=['project'],
    )
    for one in decided.plan.powers:
        spend.add_metric([one.project_id], one.spend / MICRO)
        if one.part is not None:
            part.add_metric([one.project_id], one.part)
    yield spend
    yield part


def _gauge(name: str, text: str, value: float) -> Metric:
    family = GaugeMetricFamily(f'nova_market_{name}', text)
    family.add_metric([], value)
    return family
