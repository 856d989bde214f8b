# SPDX-License-Identifier: Apache-2.0
"""Applications of the virtual platform (Merkat, section 2.3): made, shown, changed, suspended, deleted.

What is done with one is the controller's; here its owner's wishes are kept. Making one takes a trust of
Keystone, so that the controller can act in the project, and opens its budget.
"""

import json
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_query
from nova_market.api.errors import ApiError, not_found
from nova_market.api.handlers.app_view import event, shown, summary
from nova_market.api.schemas import app as schemas
from nova_market.api.schemas.shape import ALL_PROJECTS, LIMIT, OF_PROJECT, SERVER_ID, marker
from nova_market.core.app import credential as credentials
from nova_market.core.app import template as templates
from nova_market.core.app.record import ENDED, AppEvent, DesiredState, StoredApp
from nova_market.core.app.template import AppTemplate, Goal
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import Posting, Reason, account, posting_key
from nova_market.core.timestamp import stamp
from nova_market.errors import (
    BadTemplate,
    Conflict,
    DatabaseUnavailable,
    NovaMarketError,
    TrustRefused,
)

LOG = logging.getLogger(__name__)

TRIES = 5
"""For a caller who does not care what he replaces."""

KEPT = 0
"""The period in the key of a posting that is never purged."""

NEEDED = {'full_deadline': Goal.DEADLINE, 'queue_driven': Goal.QUEUE}
"""Policies that are good for one kind of objective only."""


@takes_query(
    project_id=OF_PROJECT, all_projects=ALL_PROJECTS, limit=LIMIT, marker=marker(SERVER_ID)
)
@gives(200, schemas.APPS)
def index(call: Call) -> Any:
    """Applications, by id."""
    project = call.whose('apps:list')
    limit = call.limit
    found = call.stores.apps.list(project, call.query.get('marker', ''), limit + 1)
    end = found[min(limit, len(found)) - 1].id if found else ''
    return call.page('apps', [summary(one) for one in found], end, limit)


@takes_body(schemas.APP_NEW)
@gives(201, schemas.APP)
def create(call: Call) -> Any:
    """Begin an application in the project of the token; the answer has its credential, once.

    The caller's roles in the project are handed on by a trust of Keystone, for as long as it runs.
    """
    call.authorize('apps:create', call.project_id)
    template = templates.parsed(call.body)
    check(call, template)
    _check_later(call, 'slo.deadline', template.slo.deadline)
    _check_later(call, 'start.before', template.start.before)
    credential, app_id = _new_credential(), str(uuid4())
    template = credentials.filled(template, call.root, app_id, credential)
    wanted = StoredApp(
        id=app_id,
        project_id=call.project_id,
        user_id=call.user_id,
        template=templates.document(template),
        credential=credentials.digest(credential),
        created_at=call.stores.wall(),
    )
    _open_budget(call, wanted, template)
    made = _made(call, wanted, templates.user_data(template))
    _fill(call, made, template.budget.renew_amount or 0)
    _tell(call, made, 'created')
    return Answer(body={'app': {**shown(call, made), 'credential': credential}}, status=201)


@gives(200, schemas.APP)
def show(call: Call) -> Any:
    """One application, with its servers and the numbers of the last decision."""
    return {'app': shown(call, _visible(call))}


@takes_body(schemas.APP_CHANGE)
@gives(200, schemas.APP)
def update(call: Call) -> Any:
    """Change objective, budget or parameters while it runs; or its credential, or whose roles it has."""
    found = _visible(call)
    call.authorize('apps:update', found.project_id)
    credential = _new_credential() if 'new_credential' in call.body else ''
    trust = _trusted(call, found.project_id) if 'new_trust' in call.body else ''

    def wanted(app: StoredApp) -> Mapping[str, Any]:
        template = _changed(templates.parsed(app.template), call.body)
        check(call, template)
        if 'slo' in call.body:
            # not start.before: it has been kept, or the application is cancelled
            _check_later(call, 'slo.deadline', template.slo.deadline)
        made: dict[str, Any] = {'trust_id': trust} if trust else {}
        if app.wish is DesiredState.DELETE:
            return {**made, 'wish': app.wish}  # whose trust is lost needs another to be deleted
        if credential:
            texts = call.stores.apps.user_data(app.id)
            told = templates.with_user_data(template, texts)
            told = credentials.renewed(told, app.credential, credential)
            made['user_data'] = templates.user_data(told)
            made['credential'] = credentials.digest(credential)
        return {'template': templates.document(template), **made}

    try:
        app = _change(call, found, wanted)
    except DatabaseUnavailable:
        # it may have been changed all the same
        LOG.warning(
            'application %s may have been changed; new trust: %s', found.id, trust or 'none'
        )
        if trust and _visible(call).trust_id != trust:
            _untrust(call, trust)
        raise
    except NovaMarketError:
        _untrust(call, trust)
        raise
    if 'budget' in call.body:
        call.stores.accounts.set(app.payer, dict(call.body['budget']))
    _tell(call, app, 'changed', ', '.join(sorted(call.body.keys() - {'generation'})))
    answer = shown(call, app)
    return {'app': {**answer, 'credential': credential} if credential else answer}


@gives(202, schemas.APP)
def suspend(call: Call) -> Any:
    """Have its servers suspended: it bids nothing until it is resumed."""
    return _wish(call, 'apps:suspend', DesiredState.SUSPEND, 'suspend asked')


@gives(202, schemas.APP)
def resume(call: Call) -> Any:
    """Let it run again as its policy sees fit."""
    return _wish(call, 'apps:resume', DesiredState.RUN, 'resume asked')


@gives(202, schemas.APP)
def delete(call: Call) -> Any:
    """Have its servers deleted, its budget closed and its trust ended; then it is gone."""
    app = _visible(call)
    call.authorize('apps:delete', app.project_id)
    if app.wish is not DesiredState.DELETE:
        app = _change(call, app, lambda _: {'wish': DesiredState.DELETE})
        _tell(call, app, 'delete asked')
    return Answer(body={'app': shown(call, app)}, status=202)


@takes_query(limit=LIMIT, marker=marker({'type': 'integer', 'minimum': 0, 'maximum': 2**53}))
@gives(200, schemas.EVENTS)
def events(call: Call) -> Any:
    """What was done and why, newest first."""
    app = _visible(call)
    limit = call.limit
    found = call.stores.app_events.events(app.id, call.query.get('marker'), limit + 1)
    end = found[min(limit, len(found)) - 1].number if found else 0
    return call.page('events', [event(one) for one in found], end, limit)


def _new_credential() -> str:
    return secrets.token_urlsafe(32)


def check(call: Call, template: AppTemplate) -> None:
    """Whether it is short enough, there is such a policy, and that takes these parameters and this objective.

    :raises BadTemplate: names what is wrong and what there is.
    """
    size = len(json.dumps(templates.document(template)))
    if size > templates.MAX_DOCUMENT:
        raise BadTemplate(
            f'the template has {size} bytes without user_data: give at most {templates.MAX_DOCUMENT}, '
            'with shorter names or ids, or fewer components'
        )
    policies = call.settings.scaling
    if template.policy not in policies:
        raise BadTemplate(
            f'policy: {template.policy} is not installed: give {" or ".join(sorted(policies))}'
        )
    for name in template.parameters.keys() - policies[template.policy]:
        known = ', '.join(sorted(policies[template.policy])) or 'none'
        raise BadTemplate(f'parameters: {template.policy} does not take {name}: it takes {known}')
    goal = NEEDED.get(template.policy, template.slo.goal)
    if goal is not template.slo.goal:
        raise BadTemplate(f'slo: {template.policy} works for {goal}, not for {template.slo.goal}')


def _check_later(call: Call, where: str, at: float | None) -> None:
    now = call.stores.wall()
    if at is not None and at <= now:
        raise BadTemplate(f'{where}: {stamp(at)} is past, it is {stamp(now)}: give a later time')


def _changed(before: AppTemplate, body: Mapping[str, Any]) -> AppTemplate:
    """With another objective and other parameters. Its budget is an account, which alone says what counts."""
    changed: dict[str, Any] = {}
    if 'slo' in body:
        changed['slo'] = templates.slo_of(body['slo'])
    if 'parameters' in body:
        changed['parameters'] = templates.parameters_of(body['parameters'])
    return replace(before, **changed)


def _open_budget(call: Call, app: StoredApp, template: AppTemplate) -> None:
    budget = Account(
        id=app.payer,
        project_id=app.project_id,
        name=template.name,
        renew_amount=template.budget.renew_amount,
        renew_every=template.budget.renew_every,
    )
    try:
        call.stores.accounts.open_budget(budget, call.settings.max_budgets)
    except Conflict as error:
        raise ApiError(409, 'market.budget.too_many', str(error)) from None


def _made(call: Call, wanted: StoredApp, user_data: Mapping[str, str]) -> StoredApp:
    """The application with its trust, stored; or nothing is left of it."""
    trust = ''
    try:
        trust = _trusted(call, wanted.project_id)
        wanted = replace(wanted, trust_id=trust)
        return call.stores.apps.create(wanted, call.settings.max_apps, user_data)
    except DatabaseUnavailable:
        # it may have been stored all the same; who can not tell undoes nothing
        LOG.warning('application %s may have been made, with trust %s', wanted.id, trust)
        found = call.stores.apps.app(wanted.id)
        if found is not None:
            return found
        _undo(call, wanted, trust)
        raise
    except NovaMarketError as error:
        _undo(call, wanted, trust)
        if isinstance(error, Conflict):
            raise ApiError(409, 'market.app.too_many', str(error)) from None
        raise


def _fill(call: Call, app: StoredApp, wanted: int) -> None:
    """The first filling of its budget, which else waits for the first renewal: what the project can pay."""
    project = account('project', app.project_id)
    amount = min(wanted, call.stores.ledger.balances([project]).get(project, 0))
    if amount <= 0:
        return
    posting = Posting(
        key=posting_key(Reason.TRANSFER, KEPT, f'app/{app.id}'),
        reason=Reason.TRANSFER,
        debit=project,
        credit=app.payer,
        amount=amount,
    )
    try:
        call.stores.ledger.post([posting], by=call.user_id[:64])
    except NovaMarketError as error:
        LOG.warning('application %s begins with nothing: %s', app.id, error)


def _trusted(call: Call, project: str) -> str:
    """A trust of the caller's roles, or of those that the operator lets be handed on."""
    assert call.context is not None, 'a public route has no caller'
    if project != call.project_id:
        raise TrustRefused(f'your token is of another project: give one of {project}')
    held = sorted(set(call.context.roles))
    roles = [role for role in held if role in (call.settings.trust_roles or held)]
    if not roles:
        wanted = ', '.join(call.settings.trust_roles)
        raise TrustRefused(f'you have none of the roles {wanted} in this project: ask for one')
    token = call.context.auth_token or ''
    return call.stores.trusts.create(token, call.user_id, call.project_id, roles)


def _undo(call: Call, app: StoredApp, trust_id: str) -> None:
    """What was made for an application that could not be kept. What fails now is harmless, and said."""
    _untrust(call, trust_id)
    try:
        call.stores.accounts.close(app.payer)
    except NovaMarketError as error:
        LOG.warning('application %s was not made; its budget is left over: %s', app.id, error)


def _untrust(call: Call, trust_id: str) -> None:
    """End a trust of the caller's that nobody needs after all."""
    assert call.context is not None, 'a public route has no caller'
    try:
        if trust_id:
            call.stores.trusts.delete(call.context.auth_token or '', trust_id)
    except NovaMarketError as error:
        LOG.warning('trust %s is left over: %s', trust_id, error)


def _visible(call: Call) -> StoredApp:
    name = call.path['app_id']
    found = call.stores.apps.app(name)
    if not call.may('apps:show', found.project_id if found else '') or found is None:
        raise not_found('app', name)
    return found


def _wish(call: Call, rule: str, wish: DesiredState, action: str) -> Answer:
    app = _visible(call)
    call.authorize(rule, app.project_id)
    if app.wish is not wish:
        app = _change(call, app, lambda _: {'wish': wish})
        _tell(call, app, action)
    return Answer(body={'app': shown(call, app)}, status=202)


def _change(
    call: Call, app: StoredApp, wanted: Callable[[StoredApp], Mapping[str, Any]]
) -> StoredApp:
    """The application with what is wanted of it, whoever else changes it meanwhile.

    :raises ApiError: 409, it is being deleted, or it has ended, or is not the one that was read.
    """
    asked = (call.body or {}).get('generation')
    for _ in range(TRIES):
        changed = wanted(app)
        deleting = changed.get('wish') is DesiredState.DELETE
        if app.wish is DesiredState.DELETE and 'trust_id' not in changed:
            raise ApiError(409, 'market.app.deleting', f'{app.id} is being deleted')
        if app.state in ENDED and not deleting and (app.closed or 'trust_id' not in changed):
            raise ApiError(
                409, 'market.app.ended', f'{app.id} has ended ({app.state}): make a new one'
            )
        try:
            return call.stores.apps.change(app.id, changed, asked or app.generation)
        except Conflict as error:
            if asked:
                raise ApiError(409, 'market.app.generation', str(error)) from None
            app = _visible(call)
    raise ApiError(409, 'market.conflict', f'{app.id} is changed by others all the time: try again')


def _tell(call: Call, app: StoredApp, action: str, what: str = '') -> None:
    """An event of the owner's; what he wanted counts without it, and its answer may have a credential."""
    by = f'by {call.user_id[:64]}'
    reason = f'{what}, {by}' if what else by
    at = call.stores.wall()
    event_ = AppEvent(
        app_id=app.id, at=at, period=int(at // call.settings.period), action=action, reason=reason
    )
    try:
        call.stores.app_events.tell([event_])
    except NovaMarketError as error:
        LOG.warning('application %s: %s is not among its events: %s', app.id, action, error)
