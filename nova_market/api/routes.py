# SPDX-License-Identifier: Apache-2.0
"""Every route of the API, in one table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nova_market.api.handlers import (
    account,
    app,
    app_report,
    bag,
    bid,
    blazar,
    budget,
    economy,
    history,
    job,
    lease,
    limit,
    notice,
    offer,
    plan,
    price,
    queue,
    scheduler,
    set_aside,
    suggestion,
    transfer,
    version,
    worker,
)
from nova_market.api.microversion import (
    APPS,
    BAGS,
    CHECKED_APPS,
    JOBS,
    LEASES,
    LIMITS,
    LOWEST,
    NOTICES,
    OFFERS,
    OWN_WORKERS,
    SET_ASIDE,
    SUGGESTIONS,
    SUMS,
    Version,
)
from nova_market.api.schemas.job import QUEUE_REF
from nova_market.api.schemas.shape import ACCOUNT_ID, BUDGET_ID, PERIOD, PROJECT_ID, SERVER_ID
from nova_market.core.json_schema import Schema

Handler = Callable[..., Any]

PATH_VALUES: Mapping[str, Schema] = {
    'account_id': ACCOUNT_ID,
    'budget_id': BUDGET_ID,
    'server_id': SERVER_ID,
    'app_id': SERVER_ID,
    'worker_id': SERVER_ID,
    'queue_id': QUEUE_REF,
    'job_id': SERVER_ID,
    'lease_id': SERVER_ID,
    'offer_id': SERVER_ID,
    'bag_id': SERVER_ID,
    'user_id': PROJECT_ID,
    'period': PERIOD,
    'plan_id': {'type': 'string', 'pattern': '^[A-Za-z0-9_-]{1,64}$'},
}
"""What may stand in a path; anything else is not found."""


@dataclass(frozen=True, slots=True)
class Route:
    """`public`: served without a token; `since`: the lowest version that has it."""

    method: str
    path: str
    handler: Handler
    public: bool = False
    since: Version = LOWEST

    @property
    def name(self) -> str:
        """Unique among the routes; the operation's id in the published description."""
        return f'{self.handler.__module__.rpartition(".")[2]}_{self.handler.__name__}'


ECONOMY = Version(3)

ROUTES = (
    Route('GET', '/', version.index, public=True),
    Route('GET', '/v1', version.show, public=True),
    Route('GET', '/v1/openapi.json', version.description, public=True),
    Route('GET', '/v1/prices', price.show),
    Route('GET', '/v1/prices/history', price.history),
    Route('GET', '/v1/prices/quote', price.quote),
    Route('GET', '/v1/limits', limit.show, since=LIMITS),
    Route('GET', '/v1/economy', economy.show, since=ECONOMY),
    Route('GET', '/v1/economy/history', economy.history, since=ECONOMY),
    Route('GET', '/v1/purchasing-power', economy.power, since=ECONOMY),
    Route('GET', '/v1/purchasing-power/history', economy.power_history, since=ECONOMY),
    Route('GET', '/v1/accounts', account.index),
    Route('GET', '/v1/accounts/{account_id}', account.show),
    Route('PATCH', '/v1/accounts/{account_id}', account.update),
    Route('GET', '/v1/accounts/{account_id}/statement', account.statement),
    Route('GET', '/v1/accounts/{account_id}/statement/sums', account.sums, since=SUMS),
    Route('POST', '/v1/accounts/{account_id}/grants', transfer.grant),
    Route('POST', '/v1/accounts/{account_id}/revocations', transfer.revoke),
    Route('POST', '/v1/transfers', transfer.create),
    Route('GET', '/v1/budgets', budget.index),
    Route('POST', '/v1/budgets', budget.create),
    Route('GET', '/v1/budgets/{budget_id}', budget.show),
    Route('PATCH', '/v1/budgets/{budget_id}', budget.update),
    Route('DELETE', '/v1/budgets/{budget_id}', budget.delete),
    Route('GET', '/v1/bids', bid.index),
    Route('GET', '/v1/bids/suggestion', suggestion.show, since=SUGGESTIONS),
    Route('GET', '/v1/bids/{server_id}', bid.show),
    Route('PUT', '/v1/bids/{server_id}', bid.update),
    Route('DELETE', '/v1/bids/{server_id}', bid.delete),
    Route('GET', '/v1/apps', app.index, since=APPS),
    Route('POST', '/v1/apps', app.create, since=APPS),
    Route('POST', '/v1/apps/validate', app.validate, since=CHECKED_APPS),
    Route('GET', '/v1/apps/{app_id}', app.show, since=APPS),
    Route('PATCH', '/v1/apps/{app_id}', app.update, since=APPS),
    Route('DELETE', '/v1/apps/{app_id}', app.delete, since=APPS),
    Route('POST', '/v1/apps/{app_id}/suspend', app.suspend, since=APPS),
    Route('POST', '/v1/apps/{app_id}/resume', app.resume, since=APPS),
    Route('GET', '/v1/apps/{app_id}/events', app.events, since=APPS),
    # monitors ask for no version
    Route('POST', '/v1/apps/{app_id}/reports', app_report.create, public=True),
    # agents in guests ask for no version
    Route('POST', '/v1/worker/{worker_id}/next', worker.next_job, public=True),
    Route('POST', '/v1/worker/{worker_id}/heartbeat', worker.heartbeat, public=True),
    Route('POST', '/v1/worker/{worker_id}/result', worker.result, public=True),
    Route('GET', '/v1/queues', queue.index, since=JOBS),
    Route('POST', '/v1/queues', queue.create, since=JOBS),
    Route('GET', '/v1/queues/{queue_id}', queue.show, since=JOBS),
    Route('PATCH', '/v1/queues/{queue_id}', queue.update, since=JOBS),
    Route('DELETE', '/v1/queues/{queue_id}', queue.delete, since=JOBS),
    Route('GET', '/v1/queues/{queue_id}/stats', queue.stats, since=JOBS),
    Route('PUT', '/v1/queues/{queue_id}/acceptance', queue.accept, since=OWN_WORKERS),
    Route('DELETE', '/v1/queues/{queue_id}/acceptance', queue.reject, since=OWN_WORKERS),
    Route('GET', '/v1/jobs', job.index, since=JOBS),
    Route('POST', '/v1/jobs', job.create, since=JOBS),
    Route('GET', '/v1/jobs/{job_id}', job.show, since=JOBS),
    Route('DELETE', '/v1/jobs/{job_id}', job.delete, since=JOBS),
    Route('POST', '/v1/jobs/{job_id}/requeue', job.requeue, since=JOBS),
    Route('GET', '/v1/jobs/{job_id}/output', job.output, since=JOBS),
    Route('GET', '/v1/jobs/{job_id}/events', job.events, since=JOBS),
    Route('GET', '/v1/offers', offer.index, since=OFFERS),
    Route('POST', '/v1/offers', offer.create, since=OFFERS),
    Route('GET', '/v1/offers/{offer_id}', offer.show, since=OFFERS),
    Route('POST', '/v1/offers/{offer_id}/accept', offer.accept, since=OFFERS),
    Route('POST', '/v1/offers/{offer_id}/hold', offer.hold, since=OFFERS),
    Route('POST', '/v1/offers/{offer_id}/release', offer.release, since=OFFERS),
    Route('GET', '/v1/bags', bag.index, since=BAGS),
    Route('POST', '/v1/bags', bag.create, since=BAGS),
    Route('GET', '/v1/bags/{bag_id}', bag.show, since=BAGS),
    Route('PATCH', '/v1/bags/{bag_id}', bag.update, since=BAGS),
    Route('DELETE', '/v1/bags/{bag_id}', bag.delete, since=BAGS),
    Route('GET', '/v1/bags/{bag_id}/tasks', bag.tasks, since=BAGS),
    Route('POST', '/v1/bags/{bag_id}/tasks', bag.add, since=BAGS),
    Route('GET', '/v1/bags/{bag_id}/events', bag.events, since=BAGS),
    Route('GET', '/v1/leases', lease.index, since=LEASES),
    Route('POST', '/v1/leases', lease.create, since=LEASES),
    Route('GET', '/v1/leases/{lease_id}', lease.show, since=LEASES),
    Route('PATCH', '/v1/leases/{lease_id}', lease.update, since=LEASES),
    Route('DELETE', '/v1/leases/{lease_id}', lease.delete, since=LEASES),
    Route('POST', '/v1/leases/{lease_id}/give', lease.give, since=LEASES),
    Route('GET', '/v1/leases/{lease_id}/events', lease.events, since=LEASES),
    Route('GET', '/v1/lease-calendar', lease.calendar, since=LEASES),
    Route('POST', '/v1/lease-replans', lease.replan, since=LEASES),
    # Blazar's filter asks for no version
    Route('POST', '/v1/blazar/check-create', blazar.check_create),
    Route('POST', '/v1/blazar/commit-create', blazar.commit_create),
    Route('POST', '/v1/blazar/check-update', blazar.check_update),
    Route('POST', '/v1/blazar/commit-update', blazar.commit_update),
    Route('POST', '/v1/blazar/on-end', blazar.on_end),
    Route('GET', '/v1/notices', notice.index, since=NOTICES),
    Route('GET', '/v1/notices/{user_id}', notice.show, since=NOTICES),
    Route('PUT', '/v1/notices/{user_id}', notice.update, since=NOTICES),
    Route('DELETE', '/v1/notices/{user_id}', notice.delete, since=NOTICES),
    Route('POST', '/v1/notices/{user_id}/confirm', notice.confirm, since=NOTICES),
    Route('GET', '/v1/set-aside', set_aside.index, since=SET_ASIDE),
    Route('GET', '/v1/rounds', history.index),
    Route('GET', '/v1/rounds/{period}', history.show),
    Route('GET', '/v1/rounds/{period}/allocations', history.allocations),
    Route('GET', '/v1/servers/{server_id}/allocations', history.allocations_of_server),
    Route('GET', '/v1/plans', plan.index),
    Route('GET', '/v1/plans/{plan_id}', plan.show),
    Route('POST', '/v1/plans/{plan_id}/approve', plan.approve),
    Route('POST', '/v1/plans/{plan_id}/reject', plan.reject),
    Route('GET', '/v1/heaviness', history.heaviness),
    Route('GET', '/v1/hosts', history.hosts),
    Route('GET', '/v1/scheduler-snapshot', scheduler.show),
)
