# SPDX-License-Identifier: Apache-2.0
"""Tables of bags of tasks (rule T5 of doc/source/specs/tender.rst).

Units as in core.tender.bag. Documents are JSON in UTF-8.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Double,
    Index,
    Integer,
    String,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import Mapped, mapped_column

from nova_market.db.app_tables import ACTION_LENGTH, CONTENT, REASON_LENGTH
from nova_market.db.job_tables import DIGEST_LENGTH, NAME_LENGTH
from nova_market.db.ledger_tables import TABLE, UUID_LENGTH, Base, Counter, table_of
from nova_market.db.market_tables import STATE_LENGTH


class BagRow(Base):
    """document: roles, queues and defaults; utility to budget are the owner's, the rest the service's.

    totals: sums of its tasks (db.bag_progress) when it had ended: none of them changes any more
    """

    __tablename__ = 'bags'
    __table_args__ = (
        UniqueConstraint('id', name='bag_id'),
        Index('bags_of_project', 'project_id', 'number'),
        Index('bags_by_state', 'state', 'next_at'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    number: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    user_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    document: Mapped[bytes] = mapped_column(CONTENT)
    digest: Mapped[str] = mapped_column(String(DIGEST_LENGTH))
    utility: Mapped[str] = mapped_column(String(64))
    weight: Mapped[float] = mapped_column(Double)
    order: Mapped[str] = mapped_column(String(STATE_LENGTH))
    retry: Mapped[bool] = mapped_column(Boolean)
    alternatives: Mapped[bool] = mapped_column(Boolean)
    poll: Mapped[float] = mapped_column(Double)
    budget: Mapped[int | None] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    reason: Mapped[str] = mapped_column(String(REASON_LENGTH))
    cancel_jobs: Mapped[bool] = mapped_column(Boolean)
    round_at: Mapped[float] = mapped_column(Double)
    next_at: Mapped[float] = mapped_column(Double)
    again: Mapped[bool] = mapped_column(Boolean, server_default=false())
    created_at: Mapped[float] = mapped_column(Double)
    changed_at: Mapped[float] = mapped_column(Double)
    ended_at: Mapped[float] = mapped_column(Double)
    totals: Mapped[bytes | None] = mapped_column(CONTENT)


class BagContentRow(Base):
    """What tasks of a bag run; equal ones share a row."""

    __tablename__ = 'bag_contents'
    __table_args__ = (TABLE,)
    bag_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    digest: Mapped[str] = mapped_column(String(DIGEST_LENGTH), primary_key=True)
    document: Mapped[bytes] = mapped_column(CONTENT)


class BagTaskRow(Base):
    """bag_id to content never change, but for the deadline."""

    __tablename__ = 'bag_tasks'
    __table_args__ = (
        UniqueConstraint('bag_id', 'name', name='bag_task_name'),
        Index('bag_tasks_by_state', 'state', 'bag_id'),
        TABLE,
    )
    bag_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    row: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    flavors: Mapped[bytes] = mapped_column(CONTENT)
    time_limit: Mapped[int] = mapped_column(Integer)
    deadline: Mapped[float] = mapped_column(Double)
    importance: Mapped[float] = mapped_column(Double)
    environment: Mapped[bytes] = mapped_column(CONTENT)
    content: Mapped[str] = mapped_column(String(DIGEST_LENGTH))
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    why: Mapped[str] = mapped_column(String(STATE_LENGTH))
    reason: Mapped[str] = mapped_column(String(REASON_LENGTH))
    tries: Mapped[int] = mapped_column(Integer)
    tried_at: Mapped[float] = mapped_column(Double)
    queue_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    offer_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    job_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    cost: Mapped[int] = mapped_column(BigInteger)
    spent: Mapped[int] = mapped_column(BigInteger)
    due_at: Mapped[float] = mapped_column(Double)
    ended_at: Mapped[float] = mapped_column(Double)


class BagEventRow(Base):
    """What happened; of each bag the newest ones."""

    __tablename__ = 'bag_events'
    __table_args__ = (
        Index('bag_events_of', 'bag_id', 'id'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    id: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    bag_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    task: Mapped[str] = mapped_column(String(NAME_LENGTH))
    at: Mapped[float] = mapped_column(Double)
    action: Mapped[str] = mapped_column(String(ACTION_LENGTH))
    reason: Mapped[str] = mapped_column(String(REASON_LENGTH))
    numbers: Mapped[bytes] = mapped_column(CONTENT)


bags = table_of(BagRow)
bag_contents = table_of(BagContentRow)
bag_tasks = table_of(BagTaskRow)
bag_events = table_of(BagEventRow)
