# SPDX-License-Identifier: Apache-2.0
"""Tables of the ledger; those of bids, rounds and plans are in market_tables.

Implements rules M1 and M2 of doc/source/specs/market.rst as constraints: amounts are integers, a key is
posted once, no account but `mint` goes below zero, and nobody's amount leaves the range that JSON and
floats hold exactly. Units: micro-credits; seconds since the epoch.

Names compare by byte on every database: MariaDB's usual collation would take two keys that differ in
case for one.
"""

from typing import cast

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
    false,
    text,
    true,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from nova_market.core.ledger.money import MAX_AMOUNT

TABLE = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
    'mariadb_engine': 'InnoDB',
    'mariadb_charset': 'utf8mb4',
    'mariadb_collate': 'utf8mb4_bin',
}
ID_LENGTH = 270
"""Of an account: its kind, a colon, at most 255 characters."""

KEY_LENGTH = 380
"""Of a posting: reason, period, and the id of an account or a request."""

UUID_LENGTH = 64
"""Of servers and projects: UUIDs with or without hyphens, and what Keystone allows beyond."""

Counter = BigInteger().with_variant(Integer, 'sqlite')
"""SQLite numbers rows by itself only in a column that is called INTEGER."""


class Base(DeclarativeBase):
    """All tables of the market."""


class AccountRow(Base):
    """weighed: false where nobody has set the weight; claimed: of a project, what is claimed of it (M6).

    balance is `carried` (postings that were purged) plus all postings to it, less those from it.
    """

    __tablename__ = 'accounts'
    __table_args__ = (
        CheckConstraint("balance >= 0 OR id = 'mint'", name='no_overdraft'),
        CheckConstraint(f'balance BETWEEN -{MAX_AMOUNT} AND {MAX_AMOUNT}', name='balance_range'),
        CheckConstraint('weight >= 0', name='weight_range'),
        Index('accounts_of_project', 'project_id'),
        TABLE,
    )
    id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH), server_default='')
    name: Mapped[str] = mapped_column(String(255), server_default='')
    weight: Mapped[float] = mapped_column(Double, server_default=text('1'))
    weighed: Mapped[bool] = mapped_column(server_default=true())
    claimed: Mapped[int] = mapped_column(BigInteger, server_default=text('0'))
    renew_amount: Mapped[int | None] = mapped_column(BigInteger)
    renew_every: Mapped[int] = mapped_column(Integer, server_default=text('1'))
    balance: Mapped[int] = mapped_column(BigInteger, server_default=text('0'))
    carried: Mapped[int] = mapped_column(BigInteger, server_default=text('0'))
    closed: Mapped[bool] = mapped_column(server_default=false())


class PostingRow(Base):
    """One move of money. Never changed; purged only into `carried`."""

    __tablename__ = 'postings'
    __table_args__ = (
        UniqueConstraint('posting_key', name='posted_once'),
        CheckConstraint(f'amount BETWEEN 1 AND {MAX_AMOUNT}', name='amount_range'),
        CheckConstraint('debit <> credit', name='two_accounts'),
        Index('postings_from', 'debit', 'id'),
        Index('postings_to', 'credit', 'id'),
        Index('postings_of_period', 'period'),
        Index('postings_of_server', 'server_id', 'id'),
        Index('postings_at', 'debit', 'posted_at', 'server_id', 'reason', 'amount'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    id: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    posting_key: Mapped[str] = mapped_column(String(KEY_LENGTH))
    reason: Mapped[str] = mapped_column(String(20))
    period: Mapped[int] = mapped_column(BigInteger)
    """From the key; 0 when it belongs to a request, a job or a lease instead: it is purged by its age."""

    server_id: Mapped[str] = mapped_column(String(UUID_LENGTH), server_default='')
    """From the key of a round's charge for a server; '' of what is for none."""

    debit: Mapped[str] = mapped_column(ForeignKey('accounts.id', name='posting_debit'))
    credit: Mapped[str] = mapped_column(ForeignKey('accounts.id', name='posting_credit'))
    amount: Mapped[int] = mapped_column(BigInteger)
    debit_balance: Mapped[int] = mapped_column(BigInteger)
    credit_balance: Mapped[int] = mapped_column(BigInteger)
    posted_at: Mapped[float] = mapped_column(Double)
    posted_by: Mapped[str] = mapped_column(String(UUID_LENGTH), server_default='')


class HorizonRow(Base):
    """Up to which period, inclusive, history was purged."""

    __tablename__ = 'horizons'
    __table_args__ = (TABLE,)
    name: Mapped[str] = mapped_column(String(20), primary_key=True)
    period: Mapped[int] = mapped_column(BigInteger, server_default=text('0'))


def table_of(row: type[Base]) -> Table:
    """The table, with the type that it always has: SQLAlchemy promises less."""
    return cast(Table, row.__table__)


accounts = table_of(AccountRow)
postings = table_of(PostingRow)
horizons = table_of(HorizonRow)

__all__ = ['TABLE', 'Base', 'Counter', 'accounts', 'horizons', 'postings']
