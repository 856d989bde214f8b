# SPDX-License-Identifier: Apache-2.0
"""Statements of accounts, and sums of them, which the database computes.

For rules M1 and M2 of doc/source/specs/market.rst. Units: micro-credits, seconds
since the epoch.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Subquery,
    case,
    func,
    literal,
    select,
    union_all,
)

from nova_market.core.ledger.account import StatementLine
from nova_market.core.ledger.posting import AccountId, Posting, Reason, bare_id, kind_of
from nova_market.core.ledger.statement import DAY, Choice, Grouping, StatementSum
from nova_market.core.row_check import checked
from nova_market.db.ledger_tables import accounts, postings
from nova_market.db.sound_rows import sound_rows

EPOCH = date(1970, 1, 1).toordinal()


def posting_of(row: Row[Any]) -> Posting:
    """:raises BadRow: as `checked`."""
    made = Posting(
        key=row.posting_key,
        reason=Reason(row.reason),
        debit=AccountId(row.debit),
        credit=AccountId(row.credit),
        amount=row.amount,
    )
    return checked(made)


def key_of(row: Row[Any]) -> str:
    """By which a posting is known."""
    return str(row.posting_key)


def statement(
    connection: Connection, name: AccountId, before: int | None, limit: int, choice: Choice
) -> list[StatementLine]:
    """Those lines of an account's statement that are wanted, newest first."""

    def side(column: ColumnElement[str]) -> Subquery:
        query = _chosen(select(postings).where(column == name), choice)
        if before is not None:
            query = query.where(postings.c.id < before)
        return query.order_by(postings.c.id.desc()).limit(limit).subquery()

    both = [select(side(column)) for column in (postings.c.debit, postings.c.credit)]
    lines = union_all(*both).subquery()
    query = select(lines).order_by(lines.c.id.desc()).limit(limit)
    rows = list(connection.execute(query))
    found = sound_rows(connection, 'posting', rows, lambda row: _line(row, name), key_of)
    if len(found) < len(rows) == limit:
        found += statement(connection, name, rows[-1].id, limit - len(found), choice)
    return found


def sums(
    connection: Connection,
    name: AccountId,
    by: Grouping,
    choice: Choice,
    after: str | None,
    limit: int,
) -> list[StatementSum]:
    """Sums of the postings of an account, and of its budgets when it is a project's.

    Days newest first, servers and accounts by id. after: key of the last sum of the page before this one
    """
    newest = by is Grouping.DAY
    # by their names, and not by a subquery: MariaDB would read all postings of the accounts for any time
    summed = _accounts(connection, name)
    sides = [
        _chosen(_side(own, sign, by).where(own.in_(summed)), choice)
        for own, sign in ((postings.c.debit, -1), (postings.c.credit, 1))
    ]
    both = union_all(*sides).subquery()
    query = select(
        both.c.key, func.sum(both.c.charged), func.sum(both.c.change), func.sum(both.c.postings)
    ).group_by(both.c.key)
    if after is not None:
        query = query.where(both.c.key < _number(after) if newest else both.c.key > after)
    query = query.order_by(both.c.key.desc() if newest else both.c.key).limit(limit)
    found = list(connection.execute(query))
    names = _names(connection, [row[0] for row in found]) if by is Grouping.ACCOUNT else {}
    return [
        StatementSum(
            key=_day(key) if newest else key,
            name=names.get(key, ''),
            charged=int(charged),
            change=int(change),
            postings=int(count),
        )
        for key, charged, change, count in found
    ]


def _side(own: ColumnElement[str], sign: int, by: Grouping) -> Select[Any]:
    """Sums of what leaves these accounts, or of what comes to them. own: their column; sign: -1 or 1"""
    keys: dict[Grouping, ColumnElement[Any]] = {
        Grouping.SERVER: postings.c.server_id,
        Grouping.ACCOUNT: own,
        Grouping.DAY: func.floor(postings.c.posted_at / DAY),
    }
    amount = postings.c.amount
    charged = case((postings.c.reason == str(Reason.CHARGE), amount), else_=0)
    return select(
        keys[by].label('key'),
        func.sum(charged if sign < 0 else literal(0)).label('charged'),
        func.sum(sign * amount).label('change'),
        func.count().label('postings'),
    ).group_by(keys[by])


def _accounts(connection: Connection, name: AccountId) -> Sequence[str]:
    """An account, and the budgets of a project's, those that are closed too: applications have ended."""
    if kind_of(name) != 'project':
        return [name]
    query = select(accounts.c.id).where(accounts.c.project_id == bare_id(name))
    return connection.execute(query.order_by(accounts.c.id)).scalars().all()


def _names(connection: Connection, names: Sequence[str]) -> dict[str, str]:
    query = select(accounts.c.id, accounts.c.name).where(accounts.c.id.in_(names))
    return {one.id: one.name for one in connection.execute(query)}


def _chosen(query: Select[Any], choice: Choice) -> Select[Any]:
    if choice.since is not None:
        query = query.where(postings.c.posted_at >= choice.since)
    if choice.until is not None:
        query = query.where(postings.c.posted_at <= choice.until)
    if choice.server_id is not None:
        query = query.where(postings.c.server_id == choice.server_id)
    return query


def _line(row: Row[Any], name: AccountId) -> StatementLine:
    paid = row.debit == name
    return StatementLine(
        number=row.id,
        posting=posting_of(row),
        posted_at=row.posted_at,
        by=row.posted_by,
        change=-row.amount if paid else row.amount,
        balance=row.debit_balance if paid else row.credit_balance,
    )


def _day(number: float) -> str:
    return datetime.fromtimestamp(int(number) * DAY, UTC).date().isoformat()


def _number(day: str) -> int:
    return date.fromisoformat(day).toordinal() - EPOCH
