# SPDX-License-Identifier: Apache-2.0
"""Tables of leases: the row, its nodes on their hosts, what happened.

For rules L1, L4 and L6 of doc/source/specs/leases.rst. Units as in core.lease.record. Documents are JSON in
UTF-8. Whoever books takes a turn of the calendar (db.turns).
"""

from sqlalchemy import (
    BigInteger,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from nova_market.db.app_tables import ACTION_LENGTH, CONTENT, REASON_LENGTH
from nova_market.db.ledger_tables import TABLE, UUID_LENGTH, Base, Counter, table_of
from nova_market.db.market_tables import STATE_LENGTH

NAME_LENGTH = 255
PURPOSE_LENGTH = 1000
HOST_LENGTH = 255


class LeaseRow(Base):
    """number, id, payer_id, user_id and created_at never change."""

    __tablename__ = 'leases'
    __table_args__ = (
        UniqueConstraint('id', name='lease_id'),
        Index('leases_of_project', 'project_id', 'number'),
        Index('leases_by_state', 'state', 'end'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    number: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    payer_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    user_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    purpose: Mapped[str] = mapped_column(String(PURPOSE_LENGTH))
    cores: Mapped[float] = mapped_column(Double)
    memory_mib: Mapped[float] = mapped_column(Double)
    disk_gib: Mapped[float] = mapped_column(Double)
    count: Mapped[int] = mapped_column(Integer)
    whole: Mapped[bool]
    utilisation: Mapped[float] = mapped_column(Double)
    duration: Mapped[float] = mapped_column(Double)
    earliest: Mapped[float] = mapped_column(Double)
    finish: Mapped[float] = mapped_column(Double)
    hosts: Mapped[bytes] = mapped_column(CONTENT)
    flexible: Mapped[bool]
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    start: Mapped[float] = mapped_column(Double)
    end: Mapped[float] = mapped_column(Double)
    ended_at: Mapped[float] = mapped_column(Double)
    cost: Mapped[int] = mapped_column(BigInteger)
    charged: Mapped[int] = mapped_column(BigInteger)
    refunded: Mapped[int] = mapped_column(BigInteger)
    priced_since: Mapped[float] = mapped_column(Double, server_default=text('0'))
    priced_before: Mapped[int] = mapped_column(BigInteger, server_default=text('0'))
    algorithm: Mapped[str] = mapped_column(String(64))
    objective: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[float] = mapped_column(Double)
    revision: Mapped[int] = mapped_column(Integer)


class LeaseNodeRow(Base):
    """A node on its host, during the time of its lease."""

    __tablename__ = 'lease_nodes'
    __table_args__ = (Index('lease_nodes_of_host', 'host'), TABLE)
    lease_id: Mapped[str] = mapped_column(
        ForeignKey('leases.id', name='lease_of_node'), primary_key=True
    )
    place: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    host: Mapped[str] = mapped_column(String(HOST_LENGTH))
    cores: Mapped[float] = mapped_column(Double)
    memory_mib: Mapped[float] = mapped_column(Double)
    disk_gib: Mapped[float] = mapped_column(Double)


class LeaseEventRow(Base):
    """One thing that happened to a lease."""

    __tablename__ = 'lease_events'
    __table_args__ = (
        Index('lease_events_of', 'lease_id', 'id'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    id: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    lease_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    at: Mapped[float] = mapped_column(Double)
    action: Mapped[str] = mapped_column(String(ACTION_LENGTH))
    reason: Mapped[str] = mapped_column(String(REASON_LENGTH), server_default='')
    numbers: Mapped[bytes] = mapped_column(CONTENT)


leases = table_of(LeaseRow)
lease_nodes = table_of(LeaseNodeRow)
lease_events = table_of(LeaseEventRow)
