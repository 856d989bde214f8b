# SPDX-License-Identifier: Apache-2.0
"""Accounts, projects, servers and applications that a user names by name or id.

An account is given by its id (`project:<id>`, `budget:<id>`, `bank`, `escrow`, `mint`), by the name of a
budget, or by name or id of a project; nothing at all means one's own project.
"""

import uuid
from collections.abc import Sequence
from typing import Any

from openstack.exceptions import DuplicateResource, ForbiddenException
from osc_lib import exceptions

from nova_market.core.ledger.posting import SINGLE
from nova_market.osc.v1.names import of_token

MOST_IDS = 5
"""That an error names."""


def own_account(conn: Any) -> str:
    """The account of the project one is logged in to."""
    project_id = conn.current_project_id
    if not project_id:
        raise exceptions.CommandError('this token has no project: name an account')
    return f'project:{project_id}'


def account_id(conn: Any, text: str | None) -> str:
    """The account a user means."""
    if not text:
        return own_account(conn)
    if text in SINGLE or ':' in text:
        return text
    named = [budget.id for budget in conn.market.budgets() if budget.name == text]
    if not named:
        return f'project:{project_id_of(conn, text)}'
    return _only('budgets', text, named, '')


def own_or_known_account(conn: Any, text: str | None) -> str:
    """The same, where the service knows no projects by name."""
    found = account_id(conn, text)
    if found == f'project:{text}' and not is_project_id(text or ''):
        raise exceptions.CommandError(
            f'no budget of your project is named {text}, and you may not look up other projects by name: '
            '"openstack market account list" shows your accounts; another project is project:<id>'
        )
    return found


def budget_id(conn: Any, text: str) -> str:
    """The budget a user means."""
    if ':' in text:
        return text
    named = [budget.id for budget in conn.market.budgets() if text in (budget.name, budget.id)]
    none = f'0 budgets are named {text}: "openstack market budget list" shows them'
    return _only('budgets', text, named, none)


def _only(what: str, text: str, ids: Sequence[str], none: str) -> str:
    """The one id that has the name. none: the refusal where there is none"""
    if not ids:
        raise exceptions.CommandError(none)
    if len(ids) > 1:
        more = f' and {len(ids) - MOST_IDS} more' if len(ids) > MOST_IDS else ''
        raise exceptions.CommandError(
            f'{len(ids)} {what} are named {text}: give the id of one: {", ".join(ids[:MOST_IDS])}{more}'
        )
    return str(ids[0])


def project_id_of(conn: Any, text: str) -> str:
    """The id of a project; for who may not list projects in Keystone of his own one, else the text itself."""
    try:
        found = conn.identity.find_project(text, ignore_missing=True)
    except ForbiddenException:
        own = {name: key for key, name in of_token(conn.session).items()}
        return own.get(text, text)
    except DuplicateResource:
        raise exceptions.CommandError(
            f'several projects are named {text}: give the id of one; "openstack project list" shows them'
        ) from None
    if found is None:
        raise exceptions.CommandError(f'no account, budget or project is called {text}')
    return str(found.id)


def known_project_id(conn: Any, text: str) -> str:
    """The same, for what is kept: a name that nobody could look up would stand for no project ever."""
    found = project_id_of(conn, text)
    if found == text and not is_project_id(text):
        raise exceptions.CommandError(
            f'you may not look up other projects by name, {text} for one: give the id of the project; '
            '"openstack project show" has it for those who are in it'
        )
    return found


def server_id_of(conn: Any, text: str) -> str:
    """The id of a server. An id is not looked up, because a bid may outlive its server."""
    if is_uuid(text):
        return text
    found = conn.compute.find_server(text, ignore_missing=True)
    if found is None:
        raise exceptions.CommandError(
            f'your project has no server {text}; a server of another project is given by its id'
        )
    return str(found.id)


def app_id_of(conn: Any, text: str) -> str:
    """The id of an application. An id is not looked up."""
    if is_uuid(text):
        return text
    named = [app.id for app in conn.market.apps() if app.name == text]
    none = f'0 applications are named {text}: "openstack market app list" shows them'
    return _only('applications', text, named, none)


def lease_id_of(conn: Any, text: str) -> str:
    """The id of a lease, which is not looked up; a name stands for the lease of that name that has not ended,
    or for the newest one when all have.
    """
    if is_uuid(text):
        return text
    named = [one for one in conn.market.leases() if one.name == text]
    chosen = [one for one in named if one.state not in ('ended', 'failed')] or named[:1]
    none = f'no lease is named {text}: "openstack market lease list" shows those of your project'
    return _only('leases', text, [one.id for one in chosen], none)


def is_project_id(text: str) -> bool:
    """As Keystone makes them, with hyphens or without."""
    try:
        return bool(uuid.UUID(text))
    except ValueError:
        return False


def is_uuid(text: str) -> bool:
    """Is this an id, rather than a name?"""
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
