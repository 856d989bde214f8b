# SPDX-License-Identifier: Apache-2.0
"""Budgets: accounts that a project sets aside for its applications (rule M4)."""

from typing import Any
from uuid import uuid4

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_query
from nova_market.api.errors import ApiError
from nova_market.api.handlers.account import shown
from nova_market.api.microversion import OWN_ACCOUNTS
from nova_market.api.schemas import account as schemas
from nova_market.api.schemas.shape import ALL_PROJECTS, BUDGET_ID, LIMIT, OF_PROJECT, marker
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import AccountId, account
from nova_market.errors import BudgetNameTaken, Conflict, UnknownAccount

PREFIX = 'budget:'


@takes_query(
    project_id=OF_PROJECT, all_projects=ALL_PROJECTS, limit=LIMIT, marker=marker(BUDGET_ID)
)
@gives(200, schemas.BUDGETS)
def index(call: Call) -> Any:
    """Budgets, by id."""
    project = call.whose('budgets:list')
    found = _budgets(call, project, call.query.get('marker', PREFIX), call.limit + 1)
    return call.page('budgets', [shown(one, call) for one in found], found, lambda one: one.id)


@takes_body(schemas.BUDGET_NEW)
@gives(201, schemas.BUDGET)
def create(call: Call) -> Any:
    """Open a budget with nothing in it; a transfer fills it, or its renewal."""
    wanted = dict(call.body)
    project = wanted.pop('project_id', call.project_id)
    call.authorize('budgets:create', project)
    made = Account(id=account('budget', str(uuid4())), project_id=project, **wanted)
    try:
        call.stores.accounts.open_budget(made, call.settings.max_budgets, alone=_alone(call))
    except BudgetNameTaken:
        raise
    except Conflict as error:
        raise ApiError(409, 'market.budget.too_many', str(error)) from None
    return Answer(body={'budget': shown(made, call)}, status=201)


@gives(200, schemas.BUDGET)
def show(call: Call) -> Any:
    """One budget."""
    return {'budget': shown(_visible(call), call)}


@takes_body(schemas.BUDGET_CHANGE)
@gives(200, schemas.BUDGET)
def update(call: Call) -> Any:
    """Change a budget's name or renewal."""
    found = _visible(call)
    call.authorize('budgets:update', found.project_id)
    changed = call.stores.accounts.set(found.id, call.body, alone=_alone(call))
    return {'budget': shown(changed, call)}


@gives(204)
def delete(call: Call) -> Any:
    """Close a budget that has nothing in it."""
    found = _visible(call)
    call.authorize('budgets:delete', found.project_id)
    app = call.stores.apps.app(found.id.removeprefix(PREFIX))
    if app is not None and not app.closed:
        raise ApiError(
            409, 'market.budget.of_app', f'application {app.id} pays by it: delete that one'
        )
    try:
        call.stores.accounts.close(found.id)
    except Conflict as error:
        raise ApiError(409, 'market.account.not_empty', str(error)) from None
    except UnknownAccount:
        pass  # somebody else was faster
    return Answer(status=204)


def _alone(call: Call) -> bool:
    """Whether a name may be given to one budget of a project only."""
    return call.version >= OWN_ACCOUNTS


def _budgets(call: Call, project: str | None, after: str, limit: int) -> list[Account]:
    """Ids sort by kind first, so budgets stand together."""
    found = call.stores.accounts.list(project, after, limit)
    return [one for one in found if one.id.startswith(PREFIX)]


def _visible(call: Call) -> Account:
    name = call.path['budget_id']
    found = call.stores.accounts.account(AccountId(name))
    there = None if found is None or found.closed else found
    return call.seen('budgets:show', 'budget', name, there)
