# SPDX-License-Identifier: Apache-2.0
"""Applications that a controller runs (Merkat, section 2.3)."""

from typing import Any

from openstack.resource import URI, Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import CHECKED_APPS


class App(MarketResource):
    """An application: its template, its state, and the numbers of the last decision.

    `credential` is there once: when it is made, and when a new one is asked for.
    """

    base_path = '/apps'
    resource_key = 'app'
    resources_key = 'apps'
    allow_fetch = True
    allow_list = True
    allow_commit = True
    allow_delete = True
    commit_method = 'PATCH'
    _max_microversion = CHECKED_APPS
    _query_mapping = QueryParameters('project_id', 'all_projects')

    project_id = Body('project_id')
    user_id = Body('user_id')
    policy = Body('policy')
    parameters = Body('parameters', type=dict)
    slo = Body('slo', type=dict)
    budget = Body('budget', type=dict)
    start = Body('start', type=dict)
    components = Body('components', type=list)
    when_suspended = Body('when_suspended')
    state = Body('state')
    wish = Body('wish')
    created_at = Body('created_at')
    changed_at = Body('changed_at')
    generation = Body('generation', type=int)
    spent = Body('spent')
    lateness = Body('lateness')
    statistics = Body('statistics', type=dict)
    servers = Body('servers', type=list)
    reports = Body('reports', type=list)
    reporting = Body('reporting', type=bool)
    credential = Body('credential')

    @property
    def balance(self) -> int | None:
        """Of its budget; micro-credits."""
        return (self.budget or {}).get('balance')

    @property
    def renew_amount(self) -> int | None:
        """What its budget is filled up to; micro-credits."""
        return (self.budget or {}).get('renew_amount')

    @property
    def renew_every(self) -> int | None:
        """Periods from one filling to the next."""
        return (self.budget or {}).get('renew_every')

    @property
    def performance(self) -> float | None:
        """The larger, the worse; against the thresholds of the objective."""
        return (self.statistics or {}).get('performance')

    @property
    def remaining(self) -> float | None:
        """Seconds of work with full allocations."""
        return (self.statistics or {}).get('remaining')

    @property
    def reason(self) -> str | None:
        """Of the last decision, or why none can be made."""
        return (self.statistics or {}).get('reason')

    @property
    def clusters(self) -> list[dict[str, Any]]:
        """Each component with what the last decision found of it."""
        found = {one['name']: one for one in (self.statistics or {}).get('components', ())}
        return [{**one, **found.get(one['name'], {})} for one in self.components or ()]


class AppEvent(MarketResource):
    """What was done with an application, and why."""

    base_path = '/apps/%(app_id)s/events'
    resources_key = 'events'
    allow_list = True
    _max_microversion = CHECKED_APPS

    app_id = URI('app_id')
    number = Body('number', type=int)
    at = Body('at')
    period = Body('period', type=int)
    action = Body('action')
    reason = Body('reason')
    numbers = Body('numbers', type=dict)
