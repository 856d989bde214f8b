# SPDX-License-Identifier: Apache-2.0
"""Tables of power: where each host is on its way down or up, and what happened.

For rule W3 of doc/source/specs/leases.rst. Seconds since the epoch; NULL where core.power.host_step has an
infinite time.
"""

from sqlalchemy import Boolean, Double, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from nova_market.db.app_tables import ACTION_LENGTH, CONTENT, REASON_LENGTH
from nova_market.db.lease_tables import HOST_LENGTH
from nova_market.db.ledger_tables import TABLE, Base, Counter, table_of
from nova_market.db.market_tables import STATE_LENGTH


class PowerHostRow(Base):
    """A host on which a step was taken."""

    __tablename__ = 'power_hosts'
    __table_args__ = (TABLE,)
    host: Mapped[str] = mapped_column(String(HOST_LENGTH), primary_key=True)
    phase: Mapped[str] = mapped_column(String(STATE_LENGTH))
    since: Mapped[float | None] = mapped_column(Double)
    acted: Mapped[float | None] = mapped_column(Double)
    empty: Mapped[float | None] = mapped_column(Double)
    held: Mapped[bool] = mapped_column(Boolean)
    until: Mapped[float | None] = mapped_column(Double)
    why: Mapped[str] = mapped_column(String(REASON_LENGTH))
    revision: Mapped[int] = mapped_column(Integer)


class PowerEventRow(Base):
    """One step of a host that an operator should see."""

    __tablename__ = 'power_events'
    __table_args__ = (
        Index('power_events_of', 'host', 'id'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    id: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    host: Mapped[str] = mapped_column(String(HOST_LENGTH))
    at: Mapped[float] = mapped_column(Double)
    action: Mapped[str] = mapped_column(String(ACTION_LENGTH))
    reason: Mapped[str] = mapped_column(String(REASON_LENGTH), server_default='')
    numbers: Mapped[bytes] = mapped_column(CONTENT)


power_hosts = table_of(PowerHostRow)
power_events = table_of(PowerEventRow)
