# SPDX-License-Identifier: Apache-2.0
"""Who may spend: every route that moves credits, or decides how the services will move them.

Implements rule M5 of doc/source/specs/market.rst. A route that changes anything is in SPENDING or in
MOVES_NOTHING; tests/functional/api/test_policies.py refuses one that is in neither.
The table of doc/source/admin/spending.rst is made from SPENDING.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from oslo_policy import policy

from nova_market.api.policies.role import BLAZAR_ROLE
from nova_market.core.tender.region_credential import ROLE as REGION_ROLE

ROLES = ('admin', 'manager', 'member', 'reader', 'service', BLAZAR_ROLE, REGION_ROLE)
"""That the rules are about. Each is looked at alone, as if Keystone had no roles that imply others."""

OWN, OTHER = 'own', 'other'
"""Two projects: of the token, and another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """A route that moves credits.

    rules: which of them lets a token do it, without the prefix; (): no token of Keystone is asked
    secret: what is asked in place of one
    """

    method: str
    path: str
    moves: str
    rules: tuple[str, ...] = ()
    secret: str = ''


def _spends(method: str, path: str, rules: str, moves: str) -> Spending:
    return Spending(method=method, path=f'/v1/{path}', rules=tuple(rules.split()), moves=moves)


def _reports(method: str, path: str, secret: str, moves: str) -> Spending:
    return Spending(method=method, path=f'/v1/{path}', secret=secret, moves=moves)


OF_WORKER = 'the session of the worker'
BLAZAR = 'leases:blazar'

SPENDING = (
    _spends('PATCH', 'accounts/{account_id}', 'accounts:weigh', "a project's part of what is handed out"),
    _spends('POST', 'accounts/{account_id}/grants', 'accounts:grant', 'new credits'),
    _spends('POST', 'accounts/{account_id}/revocations', 'accounts:grant', 'credits that are taken back'),
    _spends('POST', 'transfers', 'transfers:create transfers:create_to_other', 'credits to another account'),
    _spends('POST', 'budgets', 'budgets:create', 'renewals of a budget'),
    _spends('PATCH', 'budgets/{budget_id}', 'budgets:update', 'renewals of a budget'),
    _spends('PUT', 'bids/{server_id}', 'bids:set', 'a bid in each period'),
    _spends('DELETE', 'bids/{server_id}', 'bids:delete', 'the default bid in each period'),
    _spends('POST', 'apps', 'apps:create', 'bids and servers of an application'),
    _spends('PATCH', 'apps/{app_id}', 'apps:update', 'bids and servers of an application'),
    _spends('POST', 'apps/{app_id}/suspend', 'apps:suspend', 'its bids, until it is resumed'),
    _spends('POST', 'apps/{app_id}/resume', 'apps:resume', 'bids and servers of an application'),
    _spends('DELETE', 'apps/{app_id}', 'apps:delete', 'what is left of its budget'),
    _reports('POST', 'apps/{app_id}/reports', 'the credential of the application', 'its bids'),
    _reports('POST', 'worker/{worker_id}/next', OF_WORKER, 'the charge of a job'),
    _reports('POST', 'worker/{worker_id}/heartbeat', OF_WORKER, 'the charge of a job'),
    _reports('POST', 'worker/{worker_id}/result', OF_WORKER, 'the charge of a job'),
    _spends('POST', 'queues', 'queues:create queues:set_share', 'prices of jobs'),
    _spends('PATCH', 'queues/{queue_id}', 'queues:update queues:set_share', 'prices of jobs'),
    _spends('POST', 'jobs', 'jobs:create jobs:prioritize', 'what jobs may cost is held'),
    _spends('DELETE', 'jobs/{job_id}', 'jobs:change jobs:change_queue', 'the charge of a job'),
    _spends('POST', 'jobs/{job_id}/requeue', 'jobs:change jobs:change_queue', 'the charge of a job'),
    _spends('POST', 'offers/{offer_id}/accept', 'offers:change', 'the cost of the job or the lease is held'),
    _spends('POST', 'offers/{offer_id}/hold', 'offers:change', 'a fee'),
    _spends('POST', 'bags', 'bags:create', 'the cost of jobs, until the bag has ended'),
    _spends('POST', 'bags/{bag_id}/tasks', 'bags:create', 'the cost of jobs, until the bag has ended'),
    _spends('PATCH', 'bags/{bag_id}', 'bags:change', 'which offers the bag accepts'),
    _spends('DELETE', 'bags/{bag_id}', 'bags:change', 'the charges of its jobs'),
    _spends('POST', 'leases', 'leases:create', 'the cost of the lease is held'),
    _spends('DELETE', 'leases/{lease_id}', 'leases:change leases:end_blazar', 'the charge of the lease'),
    _spends('POST', 'blazar/check-create', BLAZAR, 'the cost of a lease is held, of any project'),
    _spends('POST', 'blazar/commit-create', BLAZAR, 'the cost of a lease is held, of any project'),
    _spends('POST', 'blazar/check-update', BLAZAR, 'the cost of a lease of Blazar'),
    _spends('POST', 'blazar/commit-update', BLAZAR, 'the cost of a lease of Blazar'),
    _spends('POST', 'blazar/on-end', BLAZAR, 'the charge of a lease of Blazar'),
)  # fmt: skip

MOVES_NOTHING = (
    ('DELETE', '/v1/budgets/{budget_id}'),
    ('POST', '/v1/apps/validate'),
    ('DELETE', '/v1/queues/{queue_id}'),
    ('PUT', '/v1/queues/{queue_id}/acceptance'),
    ('DELETE', '/v1/queues/{queue_id}/acceptance'),
    ('POST', '/v1/offers'),
    ('POST', '/v1/offers/{offer_id}/release'),
    ('PATCH', '/v1/leases/{lease_id}'),
    ('POST', '/v1/leases/{lease_id}/give'),
    ('POST', '/v1/lease-replans'),
    ('PUT', '/v1/notices/{user_id}'),
    ('DELETE', '/v1/notices/{user_id}'),
    ('POST', '/v1/notices/{user_id}/confirm'),
    ('POST', '/v1/plans/{plan_id}/approve'),
    ('POST', '/v1/plans/{plan_id}/reject'),
)
"""What changes something else. A budget is empty when it is closed, and who booked a lease goes on paying."""


def table(enforcer: policy.Enforcer) -> Sequence[tuple[str, str, str, str]]:
    """(route, what it moves, rule, who) for each rule of each route; the text is reStructuredText."""
    return [
        (f'{one.method} {one.path}', one.moves, f'``market:{rule}``' if rule else 'none', who)
        for one in SPENDING
        for rule in one.rules or ('',)
        for who in [spenders(enforcer, rule) if rule else one.secret]
    ]


def spenders(enforcer: policy.Enforcer, rule: str) -> str:
    """The roles that meet it, each with `of the project` where it is good for nothing of other projects."""
    found = []
    for role in ROLES:
        if met(enforcer, rule, role, OTHER):
            found.append(f'``{role}``')
        elif met(enforcer, rule, role, OWN):
            found.append(f'``{role}`` of the project')
    return ', '.join(found)


def rules_of_services(enforcer: policy.Enforcer) -> Sequence[str]:
    """Rules of money that a token with the role `service` alone meets; there should be none."""
    names = sorted({rule for one in SPENDING for rule in one.rules})
    return [
        f'market:{name}'
        for name in names
        if any(met(enforcer, name, 'service', whose) for whose in (OWN, OTHER))
    ]


def met(enforcer: policy.Enforcer, rule: str, role: str, whose: str) -> bool:
    """Whether a token with this role alone may do it to what is of a project. whose: OWN or OTHER"""
    credentials = {'roles': [role], 'project_id': OWN, 'user_id': role}
    return bool(enforcer.authorize(f'market:{rule}', {'project_id': whose}, credentials))
