# SPDX-License-Identifier: Apache-2.0
"""Tables of offers (rules O1 to O3 of doc/source/specs/tender.rst).

Units as in core.tender.stored_offer. Documents are JSON in UTF-8.
"""

from sqlalchemy import BigInteger, Double, Index, Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from nova_market.db.app_tables import CONTENT
from nova_market.db.job_tables import FLAVOR_LENGTH
from nova_market.db.ledger_tables import TABLE, UUID_LENGTH, Base, Counter, table_of
from nova_market.db.market_tables import STATE_LENGTH

ACCEPT_KEY_LENGTH = 255


class OfferRow(Base):
    """number to created_at never change."""

    __tablename__ = 'offers'
    __table_args__ = (
        UniqueConstraint('id', name='offer_id'),
        Index('offers_of_project', 'project_id', 'number'),
        Index('offers_live', 'project_id', 'valid_until', 'state'),
        Index('offers_of_request', 'request_id'),
        Index('offers_by_state', 'state', 'valid_until'),
        Index('offers_of_job', 'job_id'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    number: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    request_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    user_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    queue_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    flavors: Mapped[bytes] = mapped_column(CONTENT)
    servers: Mapped[int] = mapped_column(Integer)
    time_limit: Mapped[int] = mapped_column(Integer)
    deadline: Mapped[float] = mapped_column(Double)
    utility: Mapped[str] = mapped_column(String(64))
    weight: Mapped[float] = mapped_column(Double)
    flavor: Mapped[str] = mapped_column(String(FLAVOR_LENGTH))
    how: Mapped[str] = mapped_column(String(STATE_LENGTH))
    count: Mapped[int] = mapped_column(Integer)
    cost: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float] = mapped_column(Double)
    price_core_hour: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[float] = mapped_column(Double)
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    valid_until: Mapped[float] = mapped_column(Double)
    holds: Mapped[int] = mapped_column(Integer)
    fees: Mapped[int] = mapped_column(BigInteger)
    accepted_at: Mapped[float] = mapped_column(Double)
    due_at: Mapped[float] = mapped_column(Double)
    job_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    accept_key: Mapped[str] = mapped_column(String(ACCEPT_KEY_LENGTH))
    late_refund: Mapped[float] = mapped_column(Double)
    refunded: Mapped[int] = mapped_column(BigInteger)
    kind: Mapped[str] = mapped_column(String(STATE_LENGTH), server_default='job')
    lease_id: Mapped[str] = mapped_column(String(UUID_LENGTH), server_default='')


class OfferTurnRow(Base):
    """A row for each kind of promise: grows with each one (db.turns)."""

    __tablename__ = 'offer_turns'
    __table_args__ = (TABLE,)
    name: Mapped[str] = mapped_column(String(20), primary_key=True)
    turn: Mapped[int] = mapped_column(BigInteger)


offers = table_of(OfferRow)
offer_turns = table_of(OfferTurnRow)
