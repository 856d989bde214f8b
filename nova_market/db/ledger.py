# SPDX-License-Identifier: Apache-2.0
"""Postings in the database.

Implements rules M1 and M2 of doc/source/specs/market.rst: the rules are core.ledger.posting's, run on the
accounts that a batch touches while their rows are locked; the constraints of models stand behind them.

Order in a transaction, which is what makes it safe: lock the accounts in the order of their ids (so two
batches never wait for each other in a ring), then read what is posted already and what was purged, then
write. Two batches with one key touch the same accounts, so the second one sees the first; where they do
not, the key is reused, and the unique constraint makes the second one look again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, Row, bindparam, func, insert, literal, select, union_all, update

from nova_market.core.ledger.account import StatementLine
from nova_market.core.ledger.money import MAX_AMOUNT, credit_text
from nova_market.core.ledger.posting import AccountId, Book, Posting, Reason, reused, server_of
from nova_market.core.ledger.statement import EVERYTHING, Choice, Grouping, StatementSum
from nova_market.db.database import Database
from nova_market.db.ledger_tables import KEY_LENGTH, accounts, horizons, postings
from nova_market.db.sound_rows import sound_row, sound_rows
from nova_market.db.statements import key_of, posting_of, statement, sums
from nova_market.errors import BadAmount, BalanceTooLow, PeriodPurged, UnknownAccount

Item = TypeVar('Item')

IN_ONE_QUERY = 1000
"""Names in one IN list: below every database's limit, and one packet."""

MAX_PAGE = 10_000

CHOSEN = frozenset({Reason.TRANSFER, Reason.HOLD, Reason.CHARGE})
"""Why credits move because their project wants it, outside of the periods of the market: what the operator
claims of them (M6) moves for none of these."""

KEY = re.compile(rf'[!-~]{{1,{KEY_LENGTH}}}')
"""Printable ASCII without blanks: MariaDB ignores blanks at the end, PostgreSQL takes no NUL."""


class DatabaseLedger:
    """Implements ports.LedgerStore."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall

    def post(self, batch: Sequence[Posting], by: str = '') -> int:
        """Write all postings or none; how many were new. One transaction: thousands at a time are best."""
        if not batch:
            return 0
        for posting in batch:
            check_key(posting.key)
        return self._database.write(post_in, tuple(batch), by, self._wall())

    def balances(self, names: Sequence[AccountId]) -> Mapping[AccountId, int]:
        """Micro-credits by account; an account that does not exist is left out."""
        return self._database.read(_balances, names)

    def posted(self, keys: Sequence[str]) -> Mapping[str, Posting]:
        """What is written under these keys, but for those that are not taken, or are set aside."""
        return self._database.read(_readable, tuple(keys))

    def statement(
        self,
        name: AccountId,
        before: int | None = None,
        limit: int = 100,
        choice: Choice = EVERYTHING,
    ) -> Sequence[StatementLine]:
        """Postings of one account, newest first; `before`: the number of the last line of a page."""
        return self._database.read(statement, name, before, min(limit, MAX_PAGE), choice)

    def sums(
        self,
        name: AccountId,
        by: Grouping,
        choice: Choice = EVERYTHING,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[StatementSum]:
        """Sums of the postings of an account, and of its budgets when it is a project's.

        Days newest first, servers and accounts by id. after: key of the last sum of the page before this one
        """
        given = name, by, choice, after, min(limit, MAX_PAGE)
        return self._database.read(sums, *given)

    def totals(self, period: int, reason: Reason) -> Mapping[tuple[AccountId, AccountId], int]:
        """What moved in one period for one reason, by (from, to): what a return is computed from (M3)."""
        return self._database.read(_totals, period, reason)

    def discrepancies(self) -> Sequence[str]:
        """What breaks M1 or M2, one sentence each; empty: every micro-credit is where it should be."""
        return self._database.read(_discrepancies)


def check_key(key: str) -> None:
    """:raises BadAmount: a key that not every database can tell from others."""
    if not KEY.fullmatch(key):
        raise BadAmount(
            f'key {key!r:.80}: give 1 to {KEY_LENGTH} printable ASCII characters, no blanks'
        )


def period_of(key: str) -> int:
    """The period in a key of core.ledger.posting.posting_key; 0 when it has none."""
    fields = key.split(':', 2)
    return int(fields[1]) if len(fields) == 3 and fields[1].isascii() and fields[1].isdigit() else 0


def slices(items: Sequence[Item], size: int = IN_ONE_QUERY) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def lock_accounts(connection: Connection, names: Iterable[str]) -> dict[AccountId, Row[Any]]:
    """Rows of the accounts, which nobody else can change until this transaction ends.

    :raises UnknownAccount: one of them does not exist.
    """
    wanted = sorted(set(names))
    found: dict[AccountId, Row[Any]] = {}
    for part in slices(wanted):
        query = select(accounts).where(accounts.c.id.in_(part)).order_by(accounts.c.id)
        found |= {AccountId(row.id): row for row in connection.execute(query.with_for_update())}
    for name in wanted:
        if name not in found:
            raise UnknownAccount(f'there is no account {name}: open it first')
    return found


def hold(connection: Connection, wanted: Sequence[Posting], by: str, now: float) -> None:
    """Write postings in the transaction of something else, each at most what its account has now."""
    held = lock_accounts(connection, (name for p in wanted for name in (p.debit, p.credit)))
    batch = [
        replace(p, amount=min(p.amount, held[p.debit].balance))
        for p in wanted
        if held[p.debit].balance > 0
    ]
    if batch:
        post_in(connection, batch, by, now)


def post_in(connection: Connection, batch: Sequence[Posting], by: str, now: float) -> int:
    """Write all postings in the transaction of something else; how many were new. See LedgerStore.post."""
    held = lock_accounts(connection, (name for p in batch for name in (p.debit, p.credit)))
    known = _posted(connection, [posting.key for posting in batch])
    book = Book({name: row.balance for name, row in held.items()})
    rows: list[dict[str, object]] = []
    fresh: dict[str, Posting] = {}
    for posting in batch:
        before = fresh.get(posting.key) or known.get(posting.key)
        if before is not None and before != posting:
            raise reused(before)
        if before is not None:
            continue
        _refuse_closed(held, posting)
        book.post(posting)
        _refuse_excess(book, posting)
        fresh[posting.key] = posting
        rows.append(_row(posting, book, by, now))
    if rows:
        _refuse_purged(connection, rows)
        _refuse_claimed(connection, held, book, fresh.values())
        _write(connection, rows, {n: book.balance(n) - held[n].balance for n in held})
    return len(rows)


def _row(posting: Posting, book: Book, by: str, now: float) -> dict[str, object]:
    return {
        'posting_key': posting.key,
        'reason': str(posting.reason),
        'period': period_of(posting.key),
        'server_id': server_of(posting.key),
        'debit': posting.debit,
        'credit': posting.credit,
        'amount': posting.amount,
        'debit_balance': book.balance(posting.debit),
        'credit_balance': book.balance(posting.credit),
        'posted_at': now,
        'posted_by': by,
    }


def _write(
    connection: Connection, rows: list[dict[str, object]], changes: Mapping[AccountId, int]
) -> None:
    try:
        connection.execute(insert(postings), rows)
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error
    change = update(accounts).where(accounts.c.id == bindparam('account'))
    change = change.values(balance=accounts.c.balance + bindparam('change'))
    moved = [{'account': name, 'change': by} for name, by in sorted(changes.items()) if by]
    if moved:
        connection.execute(change, moved)


def _refuse_excess(book: Book, posting: Posting) -> None:
    for name in (posting.debit, posting.credit):
        if abs(book.balance(name)) > MAX_AMOUNT:
            raise BadAmount(
                f'{name} would have more than {credit_text(MAX_AMOUNT)} credits: post less'
            )


def _refuse_closed(held: Mapping[AccountId, Row[Any]], posting: Posting) -> None:
    for name in (posting.debit, posting.credit):
        if held[name].closed:
            raise UnknownAccount(f'account {name} is closed: nothing can be posted to or from it')


def _refuse_claimed(
    connection: Connection,
    held: Mapping[AccountId, Row[Any]],
    book: Book,
    wanted: Iterable[Posting],
) -> None:
    """M6: what is claimed of a project is neither promised nor given to others before it was taken."""
    for project in sorted({held[one.debit].project_id for one in wanted if _leaves(held, one)}):
        own = accounts.c.project_id == project, accounts.c.closed.is_(False)
        query = select(func.sum(accounts.c.claimed), func.sum(accounts.c.balance)).where(*own)
        claimed, before = (int(one or 0) for one in connection.execute(query).one())
        change = sum(
            book.balance(n) - one.balance for n, one in held.items() if one.project_id == project
        )
        if claimed and change < 0 and before + change < claimed:
            raise BalanceTooLow(
                f'project {project} has {credit_text(before)} credits, and the operator claims '
                f'{credit_text(claimed)} of them: these cannot be held for jobs and leases, paid for offers, '
                'or transferred'
            )


def _leaves(held: Mapping[AccountId, Row[Any]], posting: Posting) -> bool:
    """Whether somebody gives or promises by it what is a project's; not what rounds hold, for a period.

    A fee is a charge that nothing was held for; else as much is released in the same batch.
    """
    owner = held[posting.debit].project_id
    chosen = posting.reason in CHOSEN and not period_of(posting.key)
    return bool(owner) and chosen and held[posting.credit].project_id != owner


def _refuse_purged(connection: Connection, rows: Sequence[Mapping[str, object]]) -> None:
    """Read after the accounts are locked: a purge locks them too before it takes postings away."""
    query = select(horizons.c.period).where(horizons.c.name == 'postings')
    horizon = connection.execute(query).scalar() or 0
    for row in rows:
        if 0 < int(str(row['period'])) <= horizon:
            raise PeriodPurged(
                f'posting {row["posting_key"]}: periods up to {horizon} were purged, so it may have been '
                'posted before'
            )


def _posted(connection: Connection, keys: Sequence[str]) -> dict[str, Posting]:
    """:raises BadRow: one of them cannot be read: it must not be posted once more."""
    return {
        row.posting_key: sound_row(connection, 'posting', row, posting_of, key_of)
        for row in _rows_of(connection, keys)
    }


def _readable(connection: Connection, keys: Sequence[str]) -> dict[str, Posting]:
    rows = _rows_of(connection, keys)
    return {one.key: one for one in sound_rows(connection, 'posting', rows, posting_of, key_of)}


def _rows_of(connection: Connection, keys: Sequence[str]) -> Iterator[Row[Any]]:
    for part in slices(keys):
        yield from connection.execute(select(postings).where(postings.c.posting_key.in_(part)))


def _balances(connection: Connection, names: Sequence[AccountId]) -> dict[AccountId, int]:
    found: dict[AccountId, int] = {}
    for part in slices(sorted(set(names))):
        query = select(accounts.c.id, accounts.c.balance).where(accounts.c.id.in_(part))
        found |= {AccountId(name): balance for name, balance in connection.execute(query)}
    return found


def _totals(
    connection: Connection, period: int, reason: Reason
) -> dict[tuple[AccountId, AccountId], int]:
    query = (
        select(postings.c.debit, postings.c.credit, func.sum(postings.c.amount))
        .where(postings.c.period == period, postings.c.reason == str(reason))
        .group_by(postings.c.debit, postings.c.credit)
        .order_by(postings.c.debit, postings.c.credit)
    )
    return {(AccountId(a), AccountId(b)): int(total) for a, b, total in connection.execute(query)}


def _discrepancies(connection: Connection) -> list[str]:
    amount = postings.c.amount
    moved = union_all(
        select(postings.c.debit.label('id'), (-amount).label('change')),
        select(postings.c.credit.label('id'), amount.label('change')),
    ).subquery()
    moved = (
        select(moved.c.id, func.sum(moved.c.change).label('change')).group_by(moved.c.id).subquery()
    )
    query = select(
        accounts.c.id, accounts.c.balance, accounts.c.carried,
        func.coalesce(moved.c.change, literal(0)),
    ).outerjoin(moved, accounts.c.id == moved.c.id).order_by(accounts.c.id)  # fmt: skip
    found, total = [], 0
    for name, balance, carried, change in connection.execute(query):
        total += balance
        if balance != carried + int(change):
            found.append(
                f'{name} has {balance} micro-credits, its postings add up to {carried + int(change)}'
            )
        if balance < 0 and name != 'mint':
            found.append(f'{name} has {balance} micro-credits, below zero')
    if total:
        found.append(f'all accounts add up to {total} micro-credits, not to zero')
    return found
