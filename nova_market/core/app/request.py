# SPDX-License-Identifier: Apache-2.0
"""What an owner asks of an application, checked: a new one, a changed one.

For Merkat (INRIA RR-8648), section 2.3, which calls applications virtual platforms. Units: seconds
since the epoch. Nothing is read or written here; services.app.requests does that.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nova_market.core.app.credential import digest, filled, renewed
from nova_market.core.app.policies.traits import PolicyTraits, check_goal
from nova_market.core.app.record import ENDED, DesiredState, StoredApp
from nova_market.core.app.template import (
    MAX_DOCUMENT,
    AppTemplate,
    Rest,
    document,
    parameters_of,
    parsed,
    slo_of,
    user_data,
    with_user_data,
)
from nova_market.core.ledger.account import Account
from nova_market.core.timestamp import stamp
from nova_market.errors import AppDeleting, AppEnded, BadTemplate

Policies = Mapping[str, PolicyTraits]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApp:
    """An application that is to be stored, without a trust yet; user_data: what runs on its servers."""

    app: StoredApp
    budget: Account
    user_data: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppChange:
    """What is to change of an application; None or '': it stays.

    slo, parameters, when_suspended: as a template has them; credential, trust_id: new ones
    user_id: who has given the new trust: whose application it is from then on (M8)
    """

    slo: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] | None = None
    when_suspended: Rest | None = None
    credential: str = ''
    trust_id: str = ''
    user_id: str = ''
    wish: DesiredState | None = None


def new_app(
    template_document: Mapping[str, Any],
    policies: Policies,
    *,
    app_id: str,
    project_id: str,
    user_id: str,
    credential: str,
    url: str,
    now: float,
) -> NewApp:
    """An application of a template that its schema allows. url: of the market, for its monitors.

    :raises BadTemplate: names what is wrong and what may be given.
    """
    template = parsed(template_document)
    check(template, policies)
    _check_later('slo.deadline', template.slo.deadline, now)
    _check_later('start.before', template.start.before, now)
    template = filled(template, url, app_id, credential)
    app = StoredApp(
        id=app_id,
        project_id=project_id,
        user_id=user_id,
        template=document(template),
        credential=digest(credential),
        created_at=now,
    )
    budget = Account(
        id=app.payer,
        project_id=project_id,
        name=template.name,
        renew_amount=template.budget.renew_amount,
        renew_every=template.budget.renew_every,
    )
    return NewApp(app=app, budget=budget, user_data=user_data(template))


def check(template: AppTemplate, policies: Policies) -> None:
    """Refuse a template that is too long, or whose policy is not installed or does not fit.

    :raises BadTemplate: names what is wrong and what may be given.
    """
    size = len(json.dumps(document(template)))
    if size > MAX_DOCUMENT:
        raise BadTemplate(
            f'the template has {size} bytes without user_data: give at most {MAX_DOCUMENT}, '
            'with shorter names or ids, or fewer components'
        )
    traits = policies.get(template.policy)
    if traits is None:
        raise BadTemplate(
            f'policy: {template.policy} is not installed: give {" or ".join(sorted(policies))}'
        )
    for name in sorted(template.parameters.keys() - traits.parameters):
        known = ', '.join(sorted(traits.parameters)) or 'none'
        raise BadTemplate(f'parameters: {template.policy} does not take {name}: it takes {known}')
    check_goal(template.policy, traits, template.slo.goal)


def changed_columns(
    app: StoredApp,
    change: AppChange,
    policies: Policies,
    texts: Mapping[str, str],
    now: float,
) -> Mapping[str, Any]:
    """The columns of an application's row that a change sets. texts: its user_data, for a new credential.

    An application that is being deleted takes only a new trust, with which its servers can be deleted. One
    that has ended can be deleted, and takes a new trust while something of it is left.

    :raises AppDeleting, AppEnded, BadTemplate: the change can't be made.
    """
    trust = {'trust_id': change.trust_id, 'user_id': change.user_id} if change.trust_id else {}
    if app.wish is DesiredState.DELETE and not trust:
        raise AppDeleting(f'{app.id} is being deleted')
    deleting = DesiredState.DELETE in (app.wish, change.wish)
    if app.state in ENDED and not deleting and (app.closed or not trust):
        raise AppEnded(f'{app.id} has ended ({app.state}): make a new one')
    if app.wish is DesiredState.DELETE:
        return {**trust, 'wish': app.wish}
    if change.wish is not None:
        return {**trust, 'wish': change.wish}
    template = _changed(parsed(app.template), change)
    check(template, policies)
    if change.slo is not None:
        # not start.before: it was kept, or the application is cancelled
        _check_later('slo.deadline', template.slo.deadline, now)
    columns: dict[str, Any] = {'template': document(template), **trust}
    if change.credential:
        filled_in = renewed(with_user_data(template, texts), app.credential, change.credential)
        columns |= {'user_data': user_data(filled_in), 'credential': digest(change.credential)}
    return columns


def _changed(before: AppTemplate, change: AppChange) -> AppTemplate:
    """With another objective and other parameters; its budget is an account, which alone counts."""
    slo = before.slo if change.slo is None else slo_of(change.slo)
    parameters = before.parameters
    if change.parameters is not None:
        parameters = parameters_of(change.parameters)
    rest = change.when_suspended or before.when_suspended
    return replace(before, slo=slo, parameters=parameters, when_suspended=rest)


def _check_later(where: str, at: float | None, now: float) -> None:
    if at is not None and at <= now:
        raise BadTemplate(f'{where}: {stamp(at)} is past, it is {stamp(now)}: give a later time')
