# SPDX-License-Identifier: Apache-2.0
"""Names beside ids, in what people read.

A name is asked for when a table is drawn: formats for programs have ids only, and cost no request. A table
costs at most one list of servers, one of projects, one of users and one of budgets, however long it is. What
the caller may not list, and what is deleted, keeps its id alone.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from keystoneauth1.exceptions import ClientException
from openstack.exceptions import SDKException

from nova_market.osc.v1.columns import Column, Explanation, Lookup, Named, Reason


class Names:
    """Names by id, which are asked for once, at the first id whose name is wanted."""

    def __init__(self, ask: Callable[[], Mapping[str, str]]) -> None:
        self._ask = ask
        self._found: Mapping[str, str] | None = None

    def __call__(self, name: str) -> str | None:
        if self._found is None:
            try:
                self._found = self._ask()
            except (SDKException, ClientException):
                # he may not list them, or who knows them does not answer: an id is enough to read on
                self._found = {}
        return self._found.get(name)


def named(conn: Any, columns: Sequence[Column], *, all_projects: bool = False) -> list[Column]:
    """The columns with names beside ids of servers, projects, users and accounts.

    all_projects: the servers and budgets are those of all
    """
    lookups = _lookups(conn, all_projects=all_projects)

    def cell(attribute: str, given: Any) -> Any:
        if attribute in lookups:
            return partial(Named, lookup=lookups[attribute])
        if attribute == 'reason' and (given is None or _is_reason(given)):
            return partial(given or Reason, lookup=lookups['user_id'])
        return partial(given, lookup=lookups['server_id']) if given is Explanation else given

    return [(heading, attribute, cell(attribute, given)) for heading, attribute, given in columns]


def _is_reason(given: Any) -> bool:
    return isinstance(given, type) and issubclass(given, Reason)


def _lookups(conn: Any, *, all_projects: bool) -> dict[str, Lookup]:
    """By name of an attribute."""
    choice = {'all_projects': True} if all_projects else {}
    servers = Names(lambda: _by_id(conn.compute.servers(details=False, **choice)))
    every_project = Names(lambda: _by_id(conn.identity.projects()))
    every_user = Names(lambda: _by_id(conn.identity.users()))
    budgets = Names(lambda: _by_id(conn.market.budgets(**choice)))
    own = Names(lambda: of_token(conn.session))

    def project(name: str) -> str | None:
        return own(name) or every_project(name)

    def user(name: str) -> str | None:
        return own(name) or every_user(name)

    def account(name: str) -> str | None:
        kind, _, rest = name.partition(':')
        if kind == 'project':
            return project(rest)
        return budgets(name) if kind == 'budget' else None

    return {
        'server_id': servers,
        **dict.fromkeys(('project_id', 'payer_id'), project),
        **dict.fromkeys(('user_id', 'by', 'decided_by'), user),
        **dict.fromkeys(('debit', 'credit', 'payer'), account),
    }


def _by_id(found: Any) -> dict[str, str]:
    return {one.id: one.name for one in found}


def of_token(session: Any) -> dict[str, str]:
    """Names by id: one's own project and user, whose names the token has; without Keystone there are none."""
    get = getattr(session.auth, 'get_access', None)
    if get is None:
        return {}
    access = get(session)
    return {access.project_id: access.project_name, access.user_id: access.username}
