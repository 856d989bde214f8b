# SPDX-License-Identifier: Apache-2.0
"""Applications (Merkat, INRIA RR-8648, section 2.3): made, shown, changed, suspended, deleted.

HTTP becomes a request of an owner (services.app.requests) and back; the controller acts on what is stored.
"""

from typing import Any

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_query
from nova_market.api.handlers.app_view import event, shown, summary
from nova_market.api.microversion import CHECKED_APPS, DRAINING, RESTING
from nova_market.api.schemas import app as schemas
from nova_market.api.schemas.shape import ALL_PROJECTS, LIMIT, OF_PROJECT, SERVER_ID, marker
from nova_market.core.app.record import DesiredState, StoredApp
from nova_market.core.app.template_schema import TEMPLATE
from nova_market.services.app.requests import AppRequests, RequestSettings, RequestStores
from nova_market.services.owner import Owner


@takes_query(
    project_id=OF_PROJECT, all_projects=ALL_PROJECTS, limit=LIMIT, marker=marker(SERVER_ID)
)
@gives(200, schemas.APPS)
def index(call: Call) -> Any:
    """Applications, by id."""
    project = call.whose('apps:list')
    found = call.stores.apps.list(project, call.query.get('marker', ''), call.limit + 1)
    return call.page('apps', [summary(one) for one in found], found, lambda one: one.id)


@takes_body(TEMPLATE)
@gives(201, schemas.APP)
def create(call: Call) -> Any:
    """Begin an application in the project of the token; the answer has its credential, once.

    The caller's roles in the project are handed on by a trust of Keystone, for as long as it runs.
    """
    call.authorize('apps:create', call.project_id)
    _check_version(call)
    for n, one in enumerate(call.body['components']):
        if 'drain_timeout' in one:
            call.needs(DRAINING, f'components[{n}].drain_timeout')
    if 'slo' not in call.body:
        call.needs(RESTING, 'an application without slo')
    app, credential = _requests(call).create(
        call.body, call.root, look_up=call.version >= CHECKED_APPS
    )
    return Answer(body={'app': {**shown(call, app), 'credential': credential}}, status=201)


@takes_body(TEMPLATE)
@gives(200, schemas.CHECKED)
def validate(call: Call) -> Any:
    """Check a template as `create` does, and make nothing; the answer is the template with its defaults."""
    call.authorize('apps:create', call.project_id)
    app = _requests(call).checked(call.body, call.root)
    return {'template': dict(app.template)}


@gives(200, schemas.APP)
def show(call: Call) -> Any:
    """One application, with its servers and the numbers of the last decision."""
    return {'app': shown(call, _visible(call))}


@takes_body(schemas.APP_CHANGE)
@gives(200, schemas.APP)
def update(call: Call) -> Any:
    """Change objective, budget, parameters or how it rests; its credential, or whose roles it has."""
    app = _visible(call)
    call.authorize('apps:update', app.project_id)
    _check_version(call)
    body = {name: value for name, value in call.body.items() if name != 'generation'}
    app, credential = _requests(call).update(app, body, call.body.get('generation'))
    answer = shown(call, app)
    return {'app': {**answer, 'credential': credential} if credential else answer}


@gives(202, schemas.APP)
def suspend(call: Call) -> Any:
    """Have its servers suspended: it bids nothing until it is resumed."""
    return _want(call, 'apps:suspend', DesiredState.SUSPEND, 'suspend asked')


@gives(202, schemas.APP)
def resume(call: Call) -> Any:
    """Let it run again as its policy sees fit."""
    return _want(call, 'apps:resume', DesiredState.RUN, 'resume asked')


@gives(202, schemas.APP)
def delete(call: Call) -> Any:
    """Have its servers deleted, its budget closed and its trust ended; then it is gone."""
    return _want(call, 'apps:delete', DesiredState.DELETE, 'delete asked')


@takes_query(limit=LIMIT, marker=marker({'type': 'integer', 'minimum': 0, 'maximum': 2**53}))
@gives(200, schemas.EVENTS)
def events(call: Call) -> Any:
    """What was done and why, newest first."""
    app = _visible(call)
    found = call.stores.app_events.events(app.id, call.query.get('marker'), call.limit + 1)
    return call.page('events', [event(one) for one in found], found, lambda one: one.number)


def _check_version(call: Call) -> None:
    if 'when_suspended' in call.body:
        call.needs(RESTING, 'when_suspended')


def _visible(call: Call) -> StoredApp:
    name = call.path['app_id']
    return call.seen('apps:show', 'app', name, call.stores.apps.app(name))


def _want(call: Call, rule: str, wish: DesiredState, action: str) -> Answer:
    app = _visible(call)
    call.authorize(rule, app.project_id)
    app = _requests(call).want(app, wish, action)
    return Answer(body={'app': shown(call, app)}, status=202)


def _requests(call: Call) -> AppRequests:
    """The requests of the caller."""
    assert call.context is not None, 'a public route has no caller'
    stores, settings = call.stores, call.settings
    return AppRequests(
        RequestStores(
            ledger=stores.ledger,
            accounts=stores.accounts,
            apps=stores.apps,
            app_events=stores.app_events,
            trusts=stores.trusts,
            names=stores.names,
            wall=stores.wall,
        ),
        RequestSettings(
            period=settings.period,
            max_apps=settings.max_apps,
            max_budgets=settings.max_budgets,
            trust_roles=settings.trust_roles,
            policies=settings.policies,
        ),
        Owner(
            user_id=call.user_id,
            project_id=call.project_id,
            roles=call.context.roles,
            token=call.context.auth_token or '',
        ),
    )
