# SPDX-License-Identifier: Apache-2.0
"""Accounts: opened, weighted, renewed, closed.

Implements rules M1 (one per project, one per budget; escrow, bank, mint) and M4 of
doc/source/specs/market.rst. Units: micro-credits.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import (
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    insert,
    select,
    update,
)

from nova_market.core.ledger.account import ACCOUNT_BOUNDS, Account
from nova_market.core.ledger.money import MAX_AMOUNT, credit_text
from nova_market.core.ledger.posting import KINDS, SINGLE, AccountId, kind_of
from nova_market.core.ledger.posting import account as account_id
from nova_market.core.row_check import checked
from nova_market.db.database import Database
from nova_market.db.ledger import MAX_PAGE, lock_accounts, slices
from nova_market.db.ledger_tables import ID_LENGTH, accounts, postings
from nova_market.db.market_tables import bids
from nova_market.db.sound_rows import sound_page, sound_row
from nova_market.errors import BadAmount, BudgetNameTaken, Conflict, UnknownAccount

NAME = re.compile(rf'[!-~]{{1,{ID_LENGTH}}}')
UNUSED = and_(
    accounts.c.balance == 0,
    accounts.c.carried == 0,
    ~exists().where(postings.c.debit == accounts.c.id),
    ~exists().where(postings.c.credit == accounts.c.id),
    ~exists().where(bids.c.payer == accounts.c.id),
)
"""Nothing that is stored names it: it can be forgotten."""

SETTINGS = ('name', 'weight', 'renew_amount', 'renew_every')


class DatabaseAccounts:
    """Implements ports.AccountStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open(self, wanted: Sequence[Account]) -> int:
        """Open accounts, all with nothing in them; how many were new. One that exists stays as it is."""
        for one in wanted:
            _check(one)
        return self._database.write(_open, tuple(wanted))

    def open_budget(self, budget: Account, most: int, *, alone: bool = False) -> None:
        """Open a budget, and its project's account; of those that ask at once only `most` budgets result.

        alone: no other budget of the project may have its name

        :raises Conflict: the project has that many.
        :raises BudgetNameTaken: another one has its name.
        """
        _check(budget)
        own = Account(id=account_id('project', budget.project_id), project_id=budget.project_id)
        self.open([own])
        self._database.write(_open_budget, own.id, budget, most, alone)

    def account(self, name: AccountId) -> Account | None:
        """One account, None when it was never opened."""
        return self._database.read(_one, name)

    def list(
        self, project_id: str | None = None, after: str = '', limit: int = 1000
    ) -> Sequence[Account]:
        """Accounts that are open, by id, those of one project or all; `after`: last id of a page."""
        query = select(accounts).where(accounts.c.id > after, accounts.c.closed.is_(False))
        if project_id is not None:
            query = query.where(accounts.c.project_id == project_id)
        return self._database.read(_some, query.order_by(accounts.c.id), min(limit, MAX_PAGE))

    def set(self, name: AccountId, changed: Mapping[str, Any], *, alone: bool = False) -> Account:
        """Change what is named of SETTINGS, nothing else; the account as it is then.

        alone: no other budget of the project may have its new name

        :raises BudgetNameTaken: another one has it.
        :raises UnknownAccount: it does not exist or is closed.
        :raises BadAmount: no such setting, or out of range.
        """
        return self._database.write(_set, name, dict(changed), alone)

    def claim(self, claims: Mapping[str, int]) -> None:
        """Project -> what is claimed of it now, all others: nothing."""
        self._database.write(_claim, dict(claims))

    def close(self, name: AccountId) -> None:
        """Close an account, for good.

        :raises Conflict: there is something in it.
        :raises UnknownAccount: it does not exist, or it is the cloud's own.
        """
        self._database.write(_close, name)


def _check(one: Account) -> None:
    if not NAME.fullmatch(one.id) or kind_of(one.id) not in KINDS:
        raise BadAmount(
            f'account {one.id!r:.80}: give a kind ({", ".join(sorted(KINDS))}) and an id'
        )
    if one.weight is not None and not (math.isfinite(one.weight) and one.weight >= 0):
        raise BadAmount(f'weight {one.weight} of {one.id}: give a finite number, 0 or more')
    if one.renew_amount is not None and not 0 <= one.renew_amount <= MAX_AMOUNT:
        raise BadAmount(f'renewal of {one.id}: {one.renew_amount}; give 0 to {MAX_AMOUNT}')
    if not 1 <= one.renew_every < 2**31:
        raise BadAmount(f'renewal of {one.id} every {one.renew_every} periods: give 1 or more')


def _open(connection: Connection, wanted: Sequence[Account]) -> int:
    by_id = {one.id: one for one in wanted}
    known: set[str] = set()
    for part in slices(sorted(by_id)):
        query = select(accounts.c.id).where(accounts.c.id.in_(part))
        known.update(connection.execute(query).scalars())
    rows = [
        {'id': name, 'project_id': by_id[name].project_id, **_settings(by_id[name])}
        for name in sorted(by_id.keys() - known)
    ]
    try:
        if rows:
            connection.execute(insert(accounts), rows)
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error
    return len(rows)


def _open_budget(
    connection: Connection, own: AccountId, budget: Account, most: int, alone: bool
) -> None:
    # before anything is read: whoever comes second sees what the first one has opened
    lock_accounts(connection, [own])
    there = _budgets(connection, budget.project_id)
    if budget.id in there:
        return  # ours, when the answer to an earlier try got lost
    if len(there) >= most:
        raise Conflict(f'the project has {most} budgets: delete one first')
    if alone:
        _check_alone(there, budget)
    _open(connection, [budget])


def _budgets(connection: Connection, project_id: str) -> Mapping[str, str]:
    """Names of the budgets of a project that are open, by id."""
    query = select(accounts.c.id, accounts.c.name).where(
        accounts.c.project_id == project_id,
        accounts.c.id.between('budget:', 'budget;'),
        accounts.c.closed.is_(False),
    )
    return {row.id: row.name for row in connection.execute(query)}


def _check_alone(there: Mapping[str, str], budget: Account) -> None:
    for name, text in sorted(there.items()):
        if text == budget.name and name != budget.id:
            raise BudgetNameTaken(
                f'{name} of the project is named {budget.name!r:.100} already: give another name, or use it'
            )


def _set(
    connection: Connection, name: AccountId, changed: Mapping[str, Any], alone: bool
) -> Account:
    if unknown := sorted(changed.keys() - set(SETTINGS)):
        raise BadAmount(f'{unknown[0]!r:.80} of {name}: give one of {", ".join(SETTINGS)}')
    row = lock_accounts(connection, [name])[name]
    found = sound_row(connection, 'account', row, _account)
    if found.closed:
        raise UnknownAccount(f'account {name} is closed')
    stored = replace(found, **changed)
    _check(stored)
    if alone and stored.name != found.name:
        _check_alone(_budgets(connection, found.project_id), stored)
    if changed:
        values = dict(changed)
        if 'weight' in changed:
            values |= _weight(stored)
        connection.execute(update(accounts).where(accounts.c.id == name).values(**values))
    return stored


def _claim(connection: Connection, claims: Mapping[str, int]) -> None:
    wanted = {account_id('project', project): amount for project, amount in claims.items()}
    query = select(accounts.c.id, accounts.c.claimed).where(accounts.c.claimed != 0)
    known = {AccountId(name): amount for name, amount in connection.execute(query)}
    changed = [
        {'account': name, 'now': wanted.get(name, 0)}
        for name in sorted({*wanted, *known})
        if wanted.get(name, 0) != known.get(name, 0)
    ]
    if changed:
        change = update(accounts).where(accounts.c.id == bindparam('account'))
        connection.execute(change.values(claimed=bindparam('now')), changed)


def _close(connection: Connection, name: AccountId) -> None:
    if kind_of(name) in SINGLE:
        raise UnknownAccount(f"account {name} is the cloud's own and is never closed")
    row = lock_accounts(connection, [name])[name]
    if row.balance:
        raise Conflict(f'{name} has {credit_text(row.balance)} credits: move them first')
    if (
        kind_of(name) == 'budget'
        and connection.execute(select(accounts.c.id).where(accounts.c.id == name, UNUSED)).first()
    ):
        connection.execute(delete(accounts).where(accounts.c.id == name))
    else:
        connection.execute(update(accounts).where(accounts.c.id == name).values(closed=True))


def _settings(one: Account) -> dict[str, object]:
    return {name: getattr(one, name) for name in SETTINGS} | _weight(one)


def _weight(one: Account) -> dict[str, object]:
    return {'weight': one.weight or 0.0, 'weighed': one.weight is not None}


def _one(connection: Connection, name: AccountId) -> Account | None:
    row = connection.execute(select(accounts).where(accounts.c.id == name)).first()
    return sound_row(connection, 'account', row, _account) if row else None


def _some(connection: Connection, query: Select[Any], limit: int) -> list[Account]:
    return sound_page(connection, 'account', query, limit, _account)


def _account(row: Row[Any]) -> Account:
    made = Account(
        id=AccountId(row.id),
        project_id=row.project_id,
        name=row.name,
        weight=row.weight if row.weighed and kind_of(row.id) == 'project' else None,
        claimed=row.claimed,
        renew_amount=row.renew_amount,
        renew_every=row.renew_every,
        balance=row.balance,
        closed=row.closed,
    )
    return checked(made, ACCOUNT_BOUNDS)
