# SPDX-License-Identifier: Apache-2.0
"""Tables of applications: the row, its servers, what happened, what was reported of them and of hooks.

For the applications of Merkat (INRIA RR-8648), section 2.3. Units: seconds since the epoch, periods.
Documents are JSON in UTF-8.
"""

from sqlalchemy import (
    BigInteger,
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

from nova_market.core.app.record import MAX_HOOK_TEXT
from nova_market.db.ledger_tables import TABLE, UUID_LENGTH, Base, Counter, table_of
from nova_market.db.market_tables import STATE_LENGTH

COMPONENT_LENGTH = 32
ACTION_LENGTH = 32
REASON_LENGTH = 1000
ADDRESS_LENGTH = 64
VERSION_LENGTH = 16
CONTENT = LargeBinary().with_variant(MEDIUMBLOB, 'mysql', 'mariadb')


class AppRow(Base):
    """template to generation are the owner's, but for the ids; state to closed the controller's."""

    __tablename__ = 'apps'
    __table_args__ = (
        Index('apps_of_project', 'project_id', 'id'),
        Index('apps_open', 'closed', 'id'),
        TABLE,
    )
    id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    user_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    template: Mapped[bytes] = mapped_column(CONTENT)
    user_data: Mapped[bytes] = mapped_column(CONTENT)
    trust_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    credential: Mapped[str] = mapped_column(String(64))
    wish: Mapped[str] = mapped_column(String(STATE_LENGTH))
    generation: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    created_at: Mapped[float] = mapped_column(Double)
    changed_at: Mapped[float] = mapped_column(Double)
    period: Mapped[int] = mapped_column(BigInteger, server_default=text('0'))
    memory: Mapped[bytes] = mapped_column(CONTENT)
    figures: Mapped[bytes] = mapped_column(CONTENT)
    closed: Mapped[bool] = mapped_column(server_default=false())


class ReplacedTrustRow(Base):
    """A trust that an application had before its present one, until it is ended."""

    __tablename__ = 'app_replaced_trusts'
    __table_args__ = (TABLE,)
    app_id: Mapped[str] = mapped_column(ForeignKey('apps.id', name='trust_app'), primary_key=True)
    trust_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)


class SlotRow(Base):
    __tablename__ = 'app_servers'
    __table_args__ = (Index('app_servers_by_server', 'server_id'), TABLE)
    app_id: Mapped[str] = mapped_column(ForeignKey('apps.id', name='slot_app'), primary_key=True)
    component: Mapped[str] = mapped_column(String(COMPONENT_LENGTH), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    intention: Mapped[str] = mapped_column(String(STATE_LENGTH))
    server_id: Mapped[str] = mapped_column(String(UUID_LENGTH), server_default='')
    attempts: Mapped[int] = mapped_column(Integer, server_default=text('0'))
    retry_at: Mapped[float] = mapped_column(Double, server_default=text('0'))
    address: Mapped[str] = mapped_column(String(ADDRESS_LENGTH), server_default='')
    drain_at: Mapped[float] = mapped_column(Double, server_default=text('0'))
    drain_until: Mapped[float] = mapped_column(Double, server_default=text('0'))


class EventRow(Base):
    __tablename__ = 'app_events'
    __table_args__ = (
        Index('app_events_of', 'app_id', 'id'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    id: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey('apps.id', name='event_app'))
    at: Mapped[float] = mapped_column(Double)
    period: Mapped[int] = mapped_column(BigInteger)
    action: Mapped[str] = mapped_column(String(ACTION_LENGTH))
    reason: Mapped[str] = mapped_column(String(REASON_LENGTH), server_default='')
    numbers: Mapped[bytes] = mapped_column(CONTENT)


class ReportRow(Base):
    """server_id '': of the whole application."""

    __tablename__ = 'app_reports'
    __table_args__ = (TABLE,)
    app_id: Mapped[str] = mapped_column(ForeignKey('apps.id', name='report_app'), primary_key=True)
    server_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    at: Mapped[float] = mapped_column(Double)
    metric: Mapped[float | None] = mapped_column(Double)
    total: Mapped[float | None] = mapped_column(Double)
    done: Mapped[float | None] = mapped_column(Double)
    seconds_each: Mapped[float | None] = mapped_column(Double)
    waiting: Mapped[int | None] = mapped_column(BigInteger)
    busy: Mapped[int | None] = mapped_column(BigInteger)


class HookRow(Base):
    """As ReportRow; `text` is what a guest printed."""

    __tablename__ = 'app_hooks'
    __table_args__ = (TABLE,)
    app_id: Mapped[str] = mapped_column(ForeignKey('apps.id', name='hook_app'), primary_key=True)
    server_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    at: Mapped[float] = mapped_column(Double)
    members: Mapped[str | None] = mapped_column(String(VERSION_LENGTH))
    drain: Mapped[int | None] = mapped_column(BigInteger)
    drained: Mapped[bool | None] = mapped_column()
    text: Mapped[str | None] = mapped_column(String(MAX_HOOK_TEXT))


apps = table_of(AppRow)
app_replaced_trusts = table_of(ReplacedTrustRow)
app_servers = table_of(SlotRow)
app_events = table_of(EventRow)
app_reports = table_of(ReportRow)
app_hooks = table_of(HookRow)
