# SPDX-License-Identifier: Apache-2.0
"""Tables of bids, rounds, prices, the economy, allocations and migration plans.

Implements rules B1, P3, P4, A3 and A4 of doc/source/specs/market.rst. Units: micro-credits, cores, MiB,
seconds since the epoch.

A round's document is cut into parts of 1 MiB: one of a large cloud is longer than the packet that MariaDB
takes by default (16 MiB).
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    false,
    text,
)
from sqlalchemy.dialects.mysql import MEDIUMBLOB
from sqlalchemy.orm import Mapped, mapped_column

from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.db.ledger_tables import TABLE, UUID_LENGTH, Base, table_of

PART_BYTES = 2**20
STATE_LENGTH = 16


class BidRow(Base):
    __tablename__ = 'bids'
    __table_args__ = (
        CheckConstraint(f'cpu BETWEEN 0 AND {MAX_AMOUNT}', name='bid_cpu_range'),
        CheckConstraint(f'memory BETWEEN 0 AND {MAX_AMOUNT}', name='bid_memory_range'),
        Index('bids_of_project', 'project_id', 'server_id'),
        TABLE,
    )
    server_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    payer: Mapped[str] = mapped_column(ForeignKey('accounts.id', name='bid_payer'))
    cpu: Mapped[int | None] = mapped_column(BigInteger)
    memory: Mapped[int | None] = mapped_column(BigInteger)
    max_cpu: Mapped[float | None] = mapped_column(Double)
    max_memory_mib: Mapped[float | None] = mapped_column(Double)
    source: Mapped[str] = mapped_column(String(STATE_LENGTH))
    generation: Mapped[int] = mapped_column(BigInteger)
    changed_at: Mapped[float] = mapped_column(Double, server_default=text('0'))


class RoundRow(Base):
    __tablename__ = 'rounds'
    __table_args__ = (Index('rounds_in_state', 'state', 'period'), TABLE)
    period: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    leader: Mapped[str] = mapped_column(String(255))
    started_at: Mapped[float] = mapped_column(Double)
    changed_at: Mapped[float] = mapped_column(Double)


class DocumentRow(Base):
    __tablename__ = 'round_documents'
    __table_args__ = (TABLE,)
    period: Mapped[int] = mapped_column(
        ForeignKey('rounds.period', name='document_round'), primary_key=True, autoincrement=False
    )
    part: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    content: Mapped[bytes] = mapped_column(
        LargeBinary().with_variant(MEDIUMBLOB, 'mysql', 'mariadb')
    )


class PriceRow(Base):
    __tablename__ = 'prices'
    __table_args__ = (TABLE,)
    period: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    resource: Mapped[str] = mapped_column(String(32), primary_key=True)
    price: Mapped[float] = mapped_column(Double)
    bid_price: Mapped[float] = mapped_column(Double)
    capacity: Mapped[float] = mapped_column(Double)
    allocated: Mapped[float] = mapped_column(Double)
    bids: Mapped[int] = mapped_column(BigInteger)


class EconomyRow(Base):
    __tablename__ = 'economy'
    __table_args__ = (TABLE,)
    period: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    projects: Mapped[int] = mapped_column(BigInteger)
    budgets: Mapped[int] = mapped_column(BigInteger)
    escrow: Mapped[int] = mapped_column(BigInteger)
    bank: Mapped[int] = mapped_column(BigInteger)
    charged: Mapped[int | None] = mapped_column(BigInteger)
    price_index: Mapped[float | None] = mapped_column(Double)
    base_rounds: Mapped[int] = mapped_column(Integer)
    base_level: Mapped[float] = mapped_column(Double)
    base_cpu: Mapped[float] = mapped_column(Double)
    base_memory: Mapped[float] = mapped_column(Double)
    base_cpu_value: Mapped[float] = mapped_column(Double)
    base_memory_value: Mapped[float] = mapped_column(Double)


class PowerRow(Base):
    __tablename__ = 'purchasing_powers'
    __table_args__ = (Index('powers_of_project', 'project_id', 'period'), TABLE)
    period: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    wealth: Mapped[int] = mapped_column(BigInteger)
    spend: Mapped[int] = mapped_column(BigInteger)
    cores: Mapped[float | None] = mapped_column(Double)
    part: Mapped[float | None] = mapped_column(Double)
    real: Mapped[float | None] = mapped_column(Double)


class AllocationRow(Base):
    __tablename__ = 'allocations'
    __table_args__ = (Index('allocations_of_server', 'server_id', 'period'), TABLE)
    period: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    server_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    host: Mapped[str] = mapped_column(String(255))
    ideal_cpu: Mapped[float] = mapped_column(Double)
    actual_cpu: Mapped[float] = mapped_column(Double)
    ideal_memory_mib: Mapped[float] = mapped_column(Double)
    actual_memory_mib: Mapped[float] = mapped_column(Double)
    error: Mapped[float] = mapped_column(Double)
    charge_cpu: Mapped[int] = mapped_column(BigInteger)
    charge_memory: Mapped[int] = mapped_column(BigInteger)
    confirmed: Mapped[bool] = mapped_column(server_default=false())


class PlanRow(Base):
    __tablename__ = 'plans'
    __table_args__ = (Index('plans_in_state', 'state', 'created_at'), TABLE)
    id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    period: Mapped[int] = mapped_column(BigInteger)
    mode: Mapped[str] = mapped_column(String(STATE_LENGTH))
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    created_at: Mapped[float] = mapped_column(Double)
    decided_by: Mapped[str] = mapped_column(String(UUID_LENGTH), server_default='')
    decided_at: Mapped[float | None] = mapped_column(Double)


class MoveRow(Base):
    __tablename__ = 'plan_moves'
    __table_args__ = (TABLE,)
    plan_id: Mapped[str] = mapped_column(ForeignKey('plans.id', name='move_plan'), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    server_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    source: Mapped[str] = mapped_column(String(255))
    destination: Mapped[str] = mapped_column(String(255))
    error_before: Mapped[float] = mapped_column(Double)
    error_after: Mapped[float] = mapped_column(Double)
    gain: Mapped[float] = mapped_column(Double)
    cost: Mapped[float] = mapped_column(Double)
    reason: Mapped[str] = mapped_column(String(1000), server_default='')
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    outcome: Mapped[str] = mapped_column(String(1000), server_default='')
    changed_at: Mapped[float] = mapped_column(Double, server_default=text('0'))


bids = table_of(BidRow)
rounds = table_of(RoundRow)
round_documents = table_of(DocumentRow)
prices = table_of(PriceRow)
economy = table_of(EconomyRow)
purchasing_powers = table_of(PowerRow)
allocations = table_of(AllocationRow)
plans = table_of(PlanRow)
plan_moves = table_of(MoveRow)
