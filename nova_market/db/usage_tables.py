# SPDX-License-Identifier: Apache-2.0
"""Tables of usage history: who was measured, a table for each resolution, and how far it is rolled up.

For rule U1 of doc/source/specs/usage.rst. `at` is the first second of a span of time since the epoch. A row
holds the use of SHARD servers with consecutive numbers (core.usage.packing): about 3 kB, of which pages of
4 and of 16 kB are filled well.
"""

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, String, UniqueConstraint
from sqlalchemy.dialects.mysql import MEDIUMBLOB
from sqlalchemy.orm import Mapped, mapped_column

from nova_market.db.ledger_tables import TABLE, UUID_LENGTH, Base, Counter, table_of

SHARD = 640
"""Numbers of series in one row; it must not change while there is history."""

HOST_LENGTH = 255
PACKED = LargeBinary().with_variant(MEDIUMBLOB(), 'mysql', 'mariadb')


class UsageSeriesRow(Base):
    """number never changes; last_at: the end of the newest day with use."""

    __tablename__ = 'usage_series'
    __table_args__ = (
        UniqueConstraint(
            *('server_id', 'project_id', 'host', 'vcpus', 'memory_mib', 'lease_id'),
            name='usage_series_key',
        ),
        Index('usage_series_of_project', 'project_id', 'number'),
        Index('usage_series_of_host', 'host', 'number'),
        Index('usage_series_of_lease', 'lease_id'),
        Index('usage_series_by_end', 'last_at'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    number: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    server_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    host: Mapped[str] = mapped_column(String(HOST_LENGTH))
    vcpus: Mapped[int] = mapped_column(Integer)
    memory_mib: Mapped[int] = mapped_column(BigInteger)
    lease_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    first_at: Mapped[int] = mapped_column(BigInteger)
    last_at: Mapped[int] = mapped_column(BigInteger)


class UsageMinuteRow(Base):
    __tablename__ = 'usage_minutes'
    __table_args__ = (TABLE,)
    at: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    shard: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    content: Mapped[bytes] = mapped_column(PACKED)


class UsageTenMinutesRow(Base):
    __tablename__ = 'usage_ten_minutes'
    __table_args__ = (TABLE,)
    at: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    shard: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    content: Mapped[bytes] = mapped_column(PACKED)


class UsageDayRow(Base):
    __tablename__ = 'usage_days'
    __table_args__ = (TABLE,)
    at: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    shard: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    content: Mapped[bytes] = mapped_column(PACKED)


class UsageProgressRow(Base):
    """name 'rolled': minutes before `at` are rolled up. Its lock is the one of all writers."""

    __tablename__ = 'usage_progress'
    __table_args__ = (TABLE,)
    name: Mapped[str] = mapped_column(String(16), primary_key=True)
    at: Mapped[int] = mapped_column(BigInteger)


usage_series = table_of(UsageSeriesRow)
usage_minutes = table_of(UsageMinuteRow)
usage_ten_minutes = table_of(UsageTenMinutesRow)
usage_days = table_of(UsageDayRow)
usage_progress = table_of(UsageProgressRow)
