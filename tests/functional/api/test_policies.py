# SPDX-License-Identifier: Apache-2.0
"""Who may do what: every route with every role, in the own project and in another."""

import json
from dataclasses import replace

import pytest

from nova_market.api.policies import get_enforcer, list_rules, spending
from nova_market.api.routes import ROUTES
from nova_market.core.job.queue import QueueName
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import MINT, Posting, Reason
from nova_market.core.tender.bag_request import new_tasks
from tests.functional.api.test_offers import publish
from tests.support.bag_builders import FACTS, asked
from tests.support.job_bed import host
from tests.support.lease_bed import publish_hosts
from tests.support.lease_records import hold, lease, quota
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

# a role of its own
BLAZARS = (TOKEN, *(NO,) * 7)

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
    ('GET', f'/v1/accounts/{OWN}/statement/sums', None): (
        TOKEN, MISSING, OK, OK, OK, MISSING, NO, OK,
    ),
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
    ('GET', '/v1/bids/suggestion?cpu=1', None): EVERYBODY,
    ('PUT', f'/v1/bids/{ALSO_OF_ALICE}', text(BID)): (TOKEN, MISSING, NO, OK, OK, MISSING, NO, OK),
    ('DELETE', f'/v1/bids/{OF_ALICE}', None): (TOKEN, MISSING, NO, GONE, GONE, MISSING, NO, GONE),
    ('GET', f'/v1/apps?project_id={ALICE}', None): (TOKEN, NO, OK, OK, OK, NO, NO, OK),
    ('GET', '/v1/apps?all_projects=true', None): ADMINS,
    ('POST', '/v1/apps', text(TEMPLATE)): (TOKEN, NO, NO, MADE, MADE, MADE, NO, MADE),
    ('POST', '/v1/apps/validate', text(TEMPLATE)): (TOKEN, NO, NO, OK, OK, OK, NO, OK),
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
    return _filled(market)


@pytest.fixture
def priced(market):
    """As `full`, where credits move at once: the queue is Bob's, queue and leases have room and a price."""
    _filled(market, project_id=BOB, projects=(ALICE,), price_core_hour=6000)
    night = QueueName(project_id=ALICE, name='night', user_id='u')
    market.stores.queues.accept(NIGHT, night, 9)
    publish(market)
    publish_hosts(market.stores.states, market.wall(), [host(name) for name in 'abc'])
    grants = [
        Posting(key=f'g-{one}', reason=Reason.GRANT, debit=MINT, credit=one, amount=10**9)
        for one in (OWN, f'project:{BOB}')
    ]
    market.stores.ledger.post(grants)
    return market


def _filled(market, **queue):
    """queue: parts of it that are not as usual."""
    add_round(market)
    add_plan(market)
    admin = TOKENS['admin']
    for project in (ALICE, BOB):
        path = f'/v1/accounts/project:{project}/grants'
        assert market.call('POST', path, admin, json={'amount': 1000}).status_code == 201
    for name in (BUDGET, 'budget:empty'):
        market.stores.accounts.open([_budget(name)])
    add_app(market)
    add_job(market, **queue)
    own = replace(asked(project=ALICE)[0], id=BAG, user_id='member-user')
    market.stores.bags.create(own, new_tasks([BAG_TASK], own, 0, FACTS), 9)
    booked = replace(lease('l', ALICE), id=LEASE)
    market.stores.leases.book(booked, 0, [hold(booked, 100)], (), quota())
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


def changes():
    """Every route that may change something."""
    return {(one.method, one.path) for one in ROUTES if one.method != 'GET'}


def spends(method, path):
    """Whether a request of the matrix is for a route of the list of those that move credits."""
    parts = path.partition('?')[0].split('/')
    return any(
        one.method == method
        and len(parts) == len(pattern := one.path.split('/'))
        and all(p.startswith('{') or p == q for p, q in zip(pattern, parts, strict=True))
        for one in spending.SPENDING
    )


def test_a_new_route_is_on_the_list_of_those_that_move_credits():
    """M5: or on the one of those that move nothing."""
    moving = [(one.method, one.path) for one in spending.SPENDING]
    listed = sorted([*moving, *spending.MOVES_NOTHING])
    assert listed == sorted(changes()), 'add the route to nova_market/api/policies/spending.py'


def test_the_list_has_all_rules_of_its_routes():
    """M5: each rule that is documented for a route of the list, but for names; or a secret instead."""
    documented = {
        (operation['method'], operation['path'], rule.name)
        for rule in list_rules()
        for operation in getattr(rule, 'operations', [])
    }
    moving = {(one.method, one.path) for one in spending.SPENDING}
    listed = {
        (one.method, one.path, f'market:{rule}') for one in spending.SPENDING for rule in one.rules
    }
    of_moving = {one for one in documented if one[:2] in moving}
    assert {rule for _, _, rule in of_moving - listed} == {'market:accounts:rename'}
    assert listed <= of_moving
    public = {(one.method, one.path) for one in ROUTES if one.public}
    without_rules = {(one.method, one.path) for one in spending.SPENDING if not one.rules}
    assert without_rules == {one for one in moving if one in public}


def test_no_rule_of_credits_is_met_by_the_role_of_services():
    """M5: nova, neutron, placement and compute hosts have it."""
    assert spending.rules_of_services(get_enforcer()) == []
    assert [rule for rule in list_rules() if 'role:service' in rule.check_str] != []


def at_once(method, path):
    """Whether credits move with the answer; by all others of the list services move them later."""
    return method == 'POST' and path.rpartition('/')[2] in {
        'grants', 'revocations', 'transfers', 'apps', 'jobs', 'accept', 'hold', 'leases',
    }  # fmt: skip


def moves(market, method, path, body):
    """Whether any credits moved, whoever of ROLES asks."""
    names = [OWN, BUDGET, f'project:{BOB}', f'project:{OPERATOR}', 'bank', 'escrow', 'mint']
    arguments = {} if body is None else {'json': json.loads(body)}
    before = market.stores.ledger.balances(names)
    for role in ROLES:
        market.call(method, path, TOKENS[role], **arguments)
    return market.stores.ledger.balances(names) != before


@pytest.mark.parametrize(
    'request_',
    [one for one in MATRIX if at_once(*one[:2])],
    ids=lambda one: f'{one[1]} {one[2]:.99}',
)
def test_what_moves_credits_is_on_the_list(priced, request_):
    """M5: where credits can move they do, so the next test would show a route that is not on it."""
    assert moves(priced, *request_) and spends(*request_[:2])


def test_what_is_not_on_the_list_moves_nothing(priced):
    """M5: whoever asks; the list is not only complete by name."""
    for request in sorted(MATRIX, key=lambda one: one[0] == 'DELETE'):
        if not spends(*request[:2]):
            assert not moves(priced, *request), request


@pytest.mark.parametrize(('role', 'own'), [('blazar', '/v1/blazar/'), ('region', 'none')])
def test_an_account_for_some_calls_may_nothing_else(full, role, own):
    """M5, O6: Blazar's calls spend for every project; a region asks for offers on behalf of a user only."""
    for method, path, body in MATRIX:
        arguments = {} if body is None else {'json': json.loads(body)}
        found = full.call(method, path, f'{role}@{OPERATOR}', **arguments).status_code
        if path.startswith(own):
            assert found == GONE, path
        elif path not in {'/', '/v1', '/v1/openapi.json'}:
            assert found in {TOKEN, NO, MISSING}, (method, path)


def test_the_table_for_operators_names_who_meets_each_rule():
    """M5: by the policies themselves, each role alone."""
    found = {(route, rule): who for route, _, rule, who in spending.table(get_enforcer())}
    transfers = ('POST /v1/transfers', '``market:transfers:create_to_other``')
    assert found[transfers] == '``admin``, ``manager`` of the project'
    assert found['POST /v1/blazar/on-end', '``market:leases:blazar``'] == '``market_blazar``'
    assert found['POST /v1/worker/{worker_id}/result', 'none'] == 'the session of the worker'
    assert not [route for route, who in found.items() if 'market_region' in who]
    assert {route for route, _ in found} == {
        f'{one.method} {one.path}' for one in spending.SPENDING
    }
