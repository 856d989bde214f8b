# SPDX-License-Identifier: Apache-2.0
"""The Prometheus metrics of the API at /metrics, read from the database at each scrape.

Nothing is counted for one process alone, so any number of processes give the same figures. The series are
named nova_market_api_*, because the engine exports what its last round decided as nova_market_*, with other
labels. Balances carry the label `project`, by which Aetos shows tenants their own. Units: credits, not
micro-credits.
"""

import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from nova_market.api.stores import ApiStores
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import MINT, kind_of
from nova_market.errors import NovaMarketError

PAGE = 10_000


class ApiCollector:
    """Reads accounts and the newest prices."""

    def __init__(self, stores: ApiStores, new_weight: float) -> None:
        """new_weight: of a project for which nobody has set one."""
        self._stores = stores
        self._new_weight = new_weight

    def collect(self) -> Iterator[Metric]:
        balance = _gauge('balance_credits', 'Credits of an account.', 'project', 'account')
        weight = _gauge('project_weight', 'Share in what the operator hands out.', 'project')
        issued = _gauge('issued_credits', 'Credits the operator has put into circulation.')
        for one in _accounts(self._stores):
            if one.id == MINT:
                issued.add_metric([], -one.balance / MICRO)
            elif one.project_id:
                balance.add_metric([one.project_id, one.id], one.balance / MICRO)
            if kind_of(one.id) == 'project':
                weight.add_metric([one.project_id], one.weight_that_counts(self._new_weight))
        yield from (balance, weight, issued, *self._prices(), self._refused())

    def _prices(self) -> Iterator[Metric]:
        price = _gauge('price_credits', 'Price of a core or MiB for one period.', 'resource')
        bid_price = _gauge('bid_price_credits', 'Sum of bids / capacity.', 'resource')
        capacity = _gauge('capacity', 'Cores or MiB on the market.', 'resource')
        newest = self._stores.history.rounds(limit=1)
        for round_ in newest:
            for one in self._stores.history.prices(round_.period, round_.period):
                price.add_metric([one.resource], one.price / MICRO)
                bid_price.add_metric([one.resource], one.bid_price / MICRO)
                capacity.add_metric([one.resource], one.capacity)
        started = _gauge('round_started_seconds', 'When the newest round was decided.')
        for round_ in newest:
            started.add_metric([], round_.started_at)
        yield from (price, bid_price, capacity, started)

    def _refused(self) -> CounterMetricFamily:
        text = 'Requests that were refused for their number.'
        found = CounterMetricFamily(
            'nova_market_api_refused_requests', text, labels=('kind', 'project')
        )
        for (kind, project_id), total in sorted(self._stores.refusals.totals().items()):
            found.add_metric([kind, project_id], total)
        return found


def metrics_application(
    stores: ApiStores, token: str, new_weight: float
) -> Callable[..., Iterable[bytes]]:
    """Serves the collector to whoever shows the token (Prometheus: `authorization: credentials`)."""
    registry = CollectorRegistry()
    registry.register(ApiCollector(stores, new_weight))
    wanted = f'Bearer {token}'.encode()

    def serve(environ: Mapping[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        given = str(environ.get('HTTP_AUTHORIZATION', '')).encode('latin-1', 'replace')
        if not hmac.compare_digest(given, wanted):
            return _plain(start_response, '401 Unauthorized', 'give the bearer token\n')
        try:
            text = generate_latest(registry)
        except NovaMarketError:
            return _plain(start_response, '503 Service Unavailable', 'no database\n')
        start_response('200 OK', [('Content-Type', CONTENT_TYPE_LATEST)])
        return [text]

    return serve


def _plain(start_response: Callable[..., Any], status: str, text: str) -> Iterable[bytes]:
    start_response(status, [('Content-Type', 'text/plain')])
    return [text.encode()]


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f'nova_market_api_{name}', text, labels=labels)


def _accounts(stores: ApiStores) -> Iterator[Account]:
    after = ''
    while page := stores.accounts.list(None, after, PAGE):
        yield from page
        after = page[-1].id
