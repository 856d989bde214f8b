# SPDX-License-Identifier: Apache-2.0
"""Who may do what: every route with every role, in the own project and in another."""

import json
from dataclasses import replace

import pytest

from nova_market.api.policies import list_rules
from nova_market.api.routes import ROUTES
from nova_market.core.ledger.account import Account
from nova_market.core.tender.bag_request import new_tasks
from tests.support.bag_builders import FACTS, asked
from tests.support.lease_records import lease, quota
from tests.support.market.api import ALICE, ALSO_OF_ALICE, BOB, OF_ALICE, OPERATOR
from tests.support.market.applications import APP, TEMPLATE, add_app
from tests.support.market.queues import JOB, JOB_ENTRY, NIGHT, QUEUE, add_job
from tests.support.market.rounds import PERIOD, add_plan, add_round
from tests.support.notice_builders import preference
from tests.support.offer_builders import offer

pytestmark = pytest.mark.functional

OWN, BUDGET, PLAN = f'project:{ALICE}', 'budget:web', 'plan-1'
ROLES = ('none', 'nothing', 'reader', 'member', 'manager', 'other', 'service', 'admin')
TOKENS = {role: f'{role}@{ALICE}' for role in ROLES} | {
    'none': '', 'other': f'manager@{BOB}', 'service': f'service@{OPERATOR}',
    'admin': f'admin@{OPERATOR}',
}  # fmt: skip

# method, path, body: what each of ROLES is answered with
OK, MADE, ASKED, GONE, BAD, TOKEN, NO, MISSING, TAKEN = 200, 201, 202, 204, 400, 401, 403, 404, 409
EVERYBODY = (TOKEN, NO, OK, OK, OK, OK, OK, OK)
SEEN_BY_SERVICES = (TOKEN, MISSING, OK, OK, OK, MISSING, OK, OK)
ADMINS = (TOKEN, NO, NO, NO, NO, NO, NO, OK)
OWN_LIST = (TOKEN, NO, OK, OK, OK, OK, OK, OK)
OF_READERS = (TOKEN, NO, OK, OK, OK, NO, NO, OK)
OF_MANAGERS = (TOKEN, MISSING, MISSING, MISSING, OK, MISSING, MISSING, OK)
OF_TENANTS = (TOKEN, MISSING, OK, OK, OK, MISSING, MISSING, OK)
BY_MEMBERS = (TOKEN, MISSING, NO, ASKED, ASKED, MISSING, MISSING, ASKED)
BID = {'cpu': 1, 'memory': 1}
NOTICE = {'events': ['*'], 'webhook': 'https://hooks.example.org/'}
text = json.dumps
WORKER = '00000000-0000-4000-8000-0000000000ff'
OFFER = '00000000-0000-4000-8000-00000000dddd'
BAG = '00000000-0000-4000-8000-00000000bbbb'
BAG_TASK = {'script': '#!/bin/sh\ntrue\n', 'time_limit': 600}
LEASE = '00000000-0000-4000-8000-00000000eeee'
HEARTBEAT = {'credential': 'x', 'job_id': WORKER, 'attempt': 1}
FREE = {'start_date': '2030-01-01T00:00:00', 'end_date': '2030-01-02T00:00:00'}
OF_BLAZAR = {'context': {'project_id': ALICE}, 'lease': FREE}
CHANGED = {**OF_BLAZAR, 'current_lease': FREE}
ENDED = {**HEARTBEAT, 'end': 'stopped', 'wall_seconds': 0}

BLAZARS = (TOKEN, NO, NO, NO, NO, NO, GONE, NO)

MATRIX = {
    ('POST', '/v1/blazar/check-create', text(OF_BLAZAR)): BLAZARS,
    ('POST', '/v1/blazar/commit-create', text(OF_BLAZAR)): BLAZARS,
    ('POST', '/v1/blazar/check-update', text(CHANGED)): BLAZARS,
    ('POST', '/v1/blazar/commit-update', text(CHANGED)): BLAZARS,
    ('POST', '/v1/blazar/on-end', text(OF_BLAZAR)): BLAZARS,
    ('GET', '/v1/prices', None): EVERYBODY,
    ('GET', '/v1/prices/history', None): EVERYBODY,
    ('GET', '/v1/prices/quote?cpu=1', None): EVERYBODY,
    ('GET', '/v1/limits', None): (TOKEN, NO, OK, OK, OK, OK, NO, OK),
    ('GET', f'/v1/limits?project_id={ALICE}', None): OF_READERS,
    ('GET', '/v1/economy', None): EVERYBODY,
    ('GET', '/v1/economy/history', None): EVERYBODY,
    ('GET', f'/v1/purchasing-power?project_id={ALICE}', None): OF_READERS,
    ('GET', f'/v1/purchasing-power/history?project_id={ALICE}', None): OF_READERS,
    ('GET', '/v1/purchasing-power?all_projects=true', None): ADMINS,
    ('GET', f'/v1/accounts?project_id={ALICE}', None): (TOKEN, NO, OK, OK, OK, NO, OK, OK),
    ('GET', '/v1/accounts?all_projects=true', None): (TOKEN, NO, NO, NO, NO, NO, OK, OK),
    ('GET', f'/v1/accounts/{OWN}', None): SEEN_BY_SERVICES,
    ('PATCH', f'/v1/accounts/{OWN}', text({'name': 'x'})): (
        TOKEN, MISSING, NO, NO, OK, MISSING, NO, OK,
    ),
    ('PATCH', f'/v1/accounts/{OWN}', text({'weight': 2})): (
        TOKEN, MISSING, NO, NO, NO, MISSING, NO, OK,
    ),
    ('GET', f'/v1/accounts/{OWN}/statement', None): (TOKEN, MISSING, OK, OK, OK, MISSING, NO, OK),
    ('POST', f'/v1/accounts/{OWN}/grants', text({'amount': 1})): (*ADMINS[:-1], MADE),
    ('POST', f'/v1/accounts/{OWN}/revocations', text({'amount': 1})): (*ADMINS[:-1], MADE),
    ('POST', '/v1/transfers', text({'from': OWN, 'to': BUDGET, 'amount': 1})): (
        TOKEN, MISSING, NO, MADE, MADE, MISSING, NO, MADE,
    ),
    ('POST', '/v1/transfers', text({'from': OWN, 'to': f'project:{BOB}', 'amount': 1})): (
        TOKEN, MISSING, NO, NO, MADE, MISSING, NO, MADE,
    ),
    ('GET', f'/v1/budgets?project_id={ALICE}', None): (TOKEN, NO, OK, OK, OK, NO, NO, OK),
    ('GET', '/v1/budgets?all_projects=true', None): ADMINS,
    ('POST', '/v1/budgets', text({'name': 'x', 'project_id': ALICE})): (
        TOKEN, NO, NO, MADE, MADE, NO, NO, MADE,
    ),
    ('GET', f'/v1/budgets/{BUDGET}', None): (TOKEN, MISSING, OK, OK, OK, MISSING, MISSING, OK),
    ('PATCH', f'/v1/budgets/{BUDGET}', text({'name': 'x'})): (
        TOKEN, MISSING, NO, OK, OK, MISSING, MISSING, OK,
    ),
    ('DELETE', '/v1/budgets/budget:empty', None): (
        TOKEN, MISSING, NO, GONE, GONE, MISSING, MISSING, GONE,
    ),
    ('GET', f'/v1/bids?project_id={ALICE}', None): (TOKEN, NO, OK, OK, OK, NO, OK, OK),
    ('GET', '/v1/bids?all_projects=true', None): (TOKEN, NO, NO, NO, NO, NO, OK, OK),
    ('GET', f'/v1/bids/{OF_ALICE}', None): SEEN_BY_SERVICES,
    ('PUT', f'/v1/bids/{ALSO_OF_ALICE}', text(BID)): (TOKEN, MISSING, NO, OK, OK, MISSING, NO, OK),
    ('DELETE', f'/v1/bids/{OF_ALICE}', None): (TOKEN, MISSING, NO, GONE, GONE, MISSING, NO, GONE),
    ('GET', f'/v1/apps?project_id={ALICE}', None): (TOKEN, NO, OK, OK, OK, NO, NO, OK),
    ('GET', '/v1/apps?all_projects=true', None): ADMINS,
    ('POST', '/v1/apps', text(TEMPLATE)): (TOKEN, NO, NO, MADE, MADE, MADE, NO, MADE),
    ('GET', f'/v1/apps/{APP}', None): OF_TENANTS,
    ('GET', f'/v1/apps/{APP}/events', None): OF_TENANTS,
    ('PATCH', f'/v1/apps/{APP}', text({'slo': {'queue': True}})): (
        TOKEN, MISSING, NO, OK, OK, MISSING, MISSING, OK,
    ),
    ('POST', f'/v1/apps/{APP}/suspend', None): BY_MEMBERS,
    ('POST', f'/v1/apps/{APP}/resume', None): BY_MEMBERS,
    ('DELETE', f'/v1/apps/{APP}', None): BY_MEMBERS,
    ('POST', f'/v1/apps/{APP}/reports', text({'metric': 1})): (TOKEN,) * 8,
    ('POST', f'/v1/worker/{WORKER}/next', text({'credential': 'x'})): (TOKEN,) * 8,
    ('POST', f'/v1/worker/{WORKER}/heartbeat', text(HEARTBEAT)): (TOKEN,) * 8,
    ('POST', f'/v1/worker/{WORKER}/result', text(ENDED)): (TOKEN,) * 8,
    ('GET', f'/v1/queues?project_id={ALICE}', None): (TOKEN, NO, OK, OK, OK, NO, NO, OK),
    ('GET', '/v1/queues?all_projects=true', None): ADMINS,
    # of a name that is taken in Alice's project: who may make one is told so
    ('POST', '/v1/queues', text(QUEUE)): (TOKEN, NO, NO, TAKEN, TAKEN, MADE, NO, MADE),
    ('POST', '/v1/queues', text({**QUEUE, 'share': 0.5})): (*ADMINS[:-1], MADE),
    ('GET', f'/v1/queues/{NIGHT}', None): OF_TENANTS,
    ('GET', f'/v1/queues/{NIGHT}/stats', None): OF_TENANTS,
    ('GET', '/v1/queues/all/stats', None): ADMINS,
    # it is Alice's own: its members have a name for it, others do not see it
    ('PUT', f'/v1/queues/{NIGHT}/acceptance', '{}'): (TOKEN, NO, NO, BAD, BAD, MISSING, NO, OK),
    ('DELETE', f'/v1/queues/{NIGHT}/acceptance', None): (
        TOKEN, NO, NO, BAD, BAD, MISSING, NO, GONE,
    ),
    ('PATCH', f'/v1/queues/{NIGHT}', text({'reuse': False})): (
        TOKEN, MISSING, NO, OK, OK, MISSING, MISSING, OK,
    ),
    ('PATCH', f'/v1/queues/{NIGHT}', text({'share': 0.5})): (
        TOKEN, MISSING, NO, NO, NO, MISSING, MISSING, OK,
    ),
    ('DELETE', f'/v1/queues/{NIGHT}', None): (
        TOKEN, MISSING, NO, TAKEN, TAKEN, MISSING, MISSING, TAKEN,
    ),
    ('GET', f'/v1/jobs?project_id={ALICE}', None): OF_READERS,
    ('GET', '/v1/jobs?all_projects=true', None): ADMINS,
    ('GET', f'/v1/jobs?queue={NIGHT}', None): (TOKEN, MISSING, OK, OK, OK, MISSING, MISSING, OK),
    # the queue takes Alice's alone
    ('POST', '/v1/jobs', text({'jobs': [JOB_ENTRY]})): (
        TOKEN, NO, NO, MADE, MADE, BAD, NO, BAD,
    ),
    ('GET', f'/v1/jobs/{JOB}', None): OF_TENANTS,
    ('GET', f'/v1/jobs/{JOB}/output', None): OF_TENANTS,
    ('GET', f'/v1/jobs/{JOB}/events', None): OF_TENANTS,
    ('DELETE', f'/v1/jobs/{JOB}', None): BY_MEMBERS,
    ('POST', f'/v1/jobs/{JOB}/requeue', None): (
        TOKEN, MISSING, NO, TAKEN, TAKEN, MISSING, MISSING, TAKEN,
    ),
    ('GET', f'/v1/offers?project_id={ALICE}', None): OF_READERS,
    ('GET', '/v1/offers?all_projects=true', None): ADMINS,
    # the queue takes Alice's jobs alone
    ('POST', '/v1/offers', text({'queue': NIGHT, 'time_limit': 600})): (
        TOKEN, NO, NO, MADE, MADE, BAD, NO, BAD,
    ),
    ('GET', f'/v1/offers/{OFFER}', None): OF_TENANTS,
    # there is no forecast; an admin of another project may see it, and not spend for it
    ('POST', f'/v1/offers/{OFFER}/accept', text({'job': {'script': JOB_ENTRY['script']}})): (
        TOKEN, MISSING, NO, TAKEN, TAKEN, MISSING, MISSING, NO,
    ),
    ('POST', f'/v1/offers/{OFFER}/hold', text({'seconds': 60})): (
        TOKEN, MISSING, NO, TAKEN, TAKEN, MISSING, MISSING, NO,
    ),
    ('POST', f'/v1/offers/{OFFER}/release', None): (
        TOKEN, MISSING, NO, OK, OK, MISSING, MISSING, NO,
    ),
    ('GET', f'/v1/bags?project_id={ALICE}', None): OF_READERS,
    ('GET', '/v1/bags?all_projects=true', None): ADMINS,
    # the queue takes Alice's jobs alone
    ('POST', '/v1/bags', text({'queues': [NIGHT], 'tasks': [BAG_TASK]})): (
        TOKEN, NO, NO, MADE, MADE, BAD, NO, BAD,
    ),
    ('GET', f'/v1/bags/{BAG}', None): OF_TENANTS,
    ('GET', f'/v1/bags/{BAG}/tasks', None): OF_TENANTS,
    ('GET', f'/v1/bags/{BAG}/events', None): OF_TENANTS,
    # it has its tasks already; who has not made it may see it, and not let tasks run with its user's rights
    ('POST', f'/v1/bags/{BAG}/tasks', text({'first': 1, 'tasks': [BAG_TASK]})): (
        TOKEN, MISSING, NO, TAKEN, NO, MISSING, MISSING, NO,
    ),
    ('PATCH', f'/v1/bags/{BAG}', text({'poll': 60})): (
        TOKEN, MISSING, NO, OK, OK, MISSING, MISSING, OK,
    ),
    ('DELETE', f'/v1/bags/{BAG}', None): BY_MEMBERS,
    ('GET', f'/v1/leases?project_id={ALICE}', None): OF_READERS,
    ('GET', '/v1/leases?all_projects=true', None): ADMINS,
    # no hosts were read: whoever may book gets a conflict
    ('POST', '/v1/leases', text({'cores': 1, 'duration': 60})): (
        TOKEN, NO, NO, TAKEN, TAKEN, TAKEN, NO, TAKEN,
    ),
    ('GET', f'/v1/leases/{LEASE}', None): OF_TENANTS,
    ('GET', f'/v1/leases/{LEASE}/events', None): OF_TENANTS,
    ('PATCH', f'/v1/leases/{LEASE}', text({'name': 'x'})): (
        TOKEN, MISSING, NO, OK, OK, MISSING, MISSING, OK,
    ),
    # the second one finds it deleted
    ('DELETE', f'/v1/leases/{LEASE}', None): (
        TOKEN, MISSING, NO, OK, TAKEN, MISSING, MISSING, TAKEN,
    ),
    # it is of this project already
    ('POST', f'/v1/leases/{LEASE}/give', text({'project_id': ALICE})): (
        TOKEN, MISSING, NO, NO, BAD, MISSING, MISSING, BAD,
    ),
    ('GET', '/v1/lease-calendar', None): (TOKEN, NO, *(TAKEN,) * 6),
    ('POST', '/v1/lease-replans', text({'dry_run': True})): (*ADMINS[:-1], TAKEN),
    ('GET', f'/v1/notices?project_id={ALICE}', None): OF_READERS,
    ('GET', '/v1/notices?all_projects=true', None): ADMINS,
    ('GET', f'/v1/set-aside?project_id={ALICE}', None): OF_READERS,
    ('GET', '/v1/set-aside?all_projects=true', None): ADMINS,
    ('GET', f'/v1/notices/ann?project_id={ALICE}', None): OF_MANAGERS,
    ('DELETE', f'/v1/notices/ann?project_id={ALICE}', None): (
        TOKEN, MISSING, MISSING, MISSING, GONE, MISSING, MISSING, GONE,
    ),
    ('PUT', '/v1/notices/me', text(NOTICE)): (TOKEN, NO, OK, OK, OK, OK, NO, OK),
    ('PUT', '/v1/notices/me', text({**NOTICE, 'all_projects': True})): ADMINS,
    # each asks for himself
    ('PUT', '/v1/notices/ann', text(NOTICE)): (TOKEN, *(NO,) * 7),
    ('POST', '/v1/notices/ann/confirm', text({'code': 'x'})): (TOKEN, *(NO,) * 7),
    ('POST', '/v1/notices/me/confirm', text({'code': 'x'})): (TOKEN, NO, *(BAD,) * 4, NO, BAD),
    ('GET', '/v1/rounds', None): EVERYBODY,
    ('GET', f'/v1/rounds/{PERIOD}', None): EVERYBODY,
    ('GET', f'/v1/rounds/{PERIOD}/allocations', None): (TOKEN, NO, OK, OK, OK, OK, NO, OK),
    ('GET', f'/v1/rounds/{PERIOD}/allocations?all_projects=true', None): ADMINS,
    ('GET', f'/v1/servers/{OF_ALICE}/allocations', None): (
        TOKEN, MISSING, OK, OK, OK, MISSING, MISSING, OK,
    ),
    ('GET', '/v1/plans', None): ADMINS,
    ('GET', f'/v1/plans/{PLAN}', None): ADMINS,
    ('POST', f'/v1/plans/{PLAN}/approve', None): ADMINS,
    ('POST', f'/v1/plans/{PLAN}/reject', None): ADMINS,
    ('GET', f'/v1/heaviness?project_id={ALICE}', None): (TOKEN, NO, OK, OK, OK, NO, OK, OK),
    ('GET', '/v1/heaviness?all_projects=true', None): (TOKEN, NO, NO, NO, NO, NO, OK, OK),
    ('GET', '/v1/hosts', None): ADMINS,
    ('GET', '/v1/scheduler-snapshot', None): (TOKEN, NO, NO, NO, NO, NO, OK, OK),
    ('GET', '/', None): (OK,) * 8,
    ('GET', '/v1', None): (OK,) * 8,
    ('GET', '/v1/openapi.json', None): (OK,) * 8,
}  # fmt: skip


@pytest.fixture
def full(market):
    """Something of everything, so that an answer depends on the role alone."""
    add_round(market)
    add_plan(market)
    admin = TOKENS['admin']
    for project in (ALICE, BOB):
        path = f'/v1/accounts/project:{project}/grants'
        assert market.call('POST', path, admin, json={'amount': 1000}).status_code == 201
    for name in (BUDGET, 'budget:empty'):
        market.stores.accounts.open([_budget(name)])
    add_app(market)
    add_job(market)
    own = replace(asked(project=ALICE)[0], id=BAG, user_id='member-user')
    market.stores.bags.create(own, new_tasks([BAG_TASK], own, 0, FACTS), 9)
    market.stores.leases.book(replace(lease('l', ALICE), id=LEASE), 0, (), (), quota())
    _ask(market)
    market.stores.offers.create([offer('open', ALICE, id=OFFER, queue_id=NIGHT)], 9)
    bid = market.call('PUT', f'/v1/bids/{OF_ALICE}', admin, json=BID)
    assert bid.status_code == 200
    return market


def _ask(market):
    market.stores.notices.set(preference(project_id=ALICE, user_id='ann'), None, 9)


def _budget(name):
    return Account(id=name, project_id=ALICE, name='web')


@pytest.mark.parametrize(
    ('request_', 'expected'),
    MATRIX.items(),
    ids=lambda v: ' '.join(map(str, v)) if len(v) == 3 else '',
)
def test_each_role_may_do_what_it_is_for(full, request_, expected):
    """One line of the matrix: from the weakest role to the strongest, on one market."""
    method, path, body = request_
    found = []
    for role in ROLES:
        arguments = {} if body is None else {'json': json.loads(body)}
        found.append(full.call(method, path, TOKENS[role], **arguments).status_code)
        if found[-1] == GONE and method == 'DELETE' and '/acceptance' not in path:
            _restore(full, path)
    assert dict(zip(ROLES, found, strict=True)) == dict(zip(ROLES, expected, strict=True))


def _restore(market, path):
    """What was deleted, for the next role."""
    name = path.rpartition('/')[2]
    if 'bids' in path:
        market.call('PUT', f'/v1/bids/{name}', TOKENS['admin'], json=BID)
    elif 'notices' in path:
        _ask(market)
    else:
        market.stores.accounts.open([_budget(name)])


def test_the_matrix_has_every_route():
    """A new route needs its line."""
    known = {(method, path.partition('?')[0]) for method, path, _ in MATRIX}
    for route in ROUTES:
        pattern = route.path
        values = {
            'account_id': OWN, 'budget_id': BUDGET, 'server_id': OF_ALICE, 'period': str(PERIOD),
            'plan_id': PLAN, 'app_id': APP, 'queue_id': NIGHT, 'job_id': JOB, 'offer_id': OFFER,
            'bag_id': BAG, 'user_id': 'ann',
            'worker_id': WORKER, 'lease_id': LEASE,
        }  # fmt: skip
        some = {pattern.format(**values), pattern.format(**{**values, 'budget_id': 'budget:empty'})}
        some.add(pattern.format(**{**values, 'server_id': ALSO_OF_ALICE}))
        assert any((route.method, path) in known for path in some), route


def test_every_rule_is_documented_with_routes_that_exist():
    """The policy reference names no route that is not served."""
    served = {(route.method, route.path) for route in ROUTES}
    for rule in list_rules():
        for operation in getattr(rule, 'operations', []):
            assert (operation['method'], operation['path']) in served, rule.name


def test_a_token_of_the_system_or_a_domain_may_nothing(full):
    """Rules are for projects' tokens: an unscoped admin is told so."""
    answer = full.call('GET', '/v1/hosts', 'admin@')
    assert answer.status_code == 403
