# SPDX-License-Identifier: Apache-2.0
"""Names beside ids, in what people read.

A name is asked for when a table is drawn: formats for programs have ids only, and cost no request. A table
costs at most one list of servers, one of projects and one of budgets, however long it is. What the caller may
not list, and what is deleted, keeps its id alone.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from cliff.columns import FormattableColumn
from openstack.exceptions import SDKException

from nova_market.osc.v1.columns import Column
from nova_market.osc.v1.market_command import MarketCommand

Lookup = Callable[[str], str | None]
"""The name of what has this id; None: not known."""


class Named(FormattableColumn[Any]):
    """An id, which is read as <name> (<id>)."""

    def __init__(self, lookup: Lookup, value: Any) -> None:
        super().__init__(value)
        self._lookup = lookup

    def human_readable(self) -> str:
        if not self._value:
            return ''
        name = self._lookup(self._value)
        return f'{name} ({self._value})' if name and name != self._value else str(self._value)


class Names:
    """Names by id, which are asked for once, at the first id whose name is wanted."""

    def __init__(self, ask: Callable[[], Mapping[str, str]]) -> None:
        self._ask = ask
        self._found: Mapping[str, str] | None = None

    def __call__(self, name: str) -> str | None:
        if self._found is None:
            try:
                self._found = self._ask()
            except SDKException:
                # he may not list them, or who knows them does not answer: an id is enough to read on
                self._found = {}
        return self._found.get(name)


def named(
    command: MarketCommand, columns: Sequence[Column], *, all_projects: bool = False
) -> list[Column]:
    """The columns with names beside ids of servers, projects and accounts. all_projects: of the servers"""
    lookups = _lookups(command.conn, all_projects=all_projects)
    return [
        (heading, attribute, partial(Named, lookups[attribute]) if attribute in lookups else cell)
        for heading, attribute, cell in columns
    ]


def _lookups(conn: Any, *, all_projects: bool) -> dict[str, Lookup]:
    """By name of an attribute."""
    choice = {'all_projects': True} if all_projects else {}
    servers = Names(lambda: _by_id(conn.compute.servers(details=False, **choice)))
    every_project = Names(lambda: _by_id(conn.identity.projects()))
    budgets = Names(lambda: _by_id(conn.market.budgets(**choice)))

    def project(name: str) -> str | None:
        # one's own is known by the token
        own = conn.current_project
        return own.name if own and own.id == name else every_project(name)

    def account(name: str) -> str | None:
        kind, _, rest = name.partition(':')
        if kind == 'project':
            return project(rest)
        return budgets(name) if kind == 'budget' else None

    return {
        'server_id': servers,
        'project_id': project,
        **dict.fromkeys(('debit', 'credit', 'payer'), account),
    }


def _by_id(found: Any) -> dict[str, str]:
    return {one.id: one.name for one in found}
