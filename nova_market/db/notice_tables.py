# SPDX-License-Identifier: Apache-2.0
"""Tables of notices: what users want to get, and what waits for being sent.

For rules N2 and N3 of doc/source/specs/notices.rst. Units as in core.notice. Documents are JSON in UTF-8.
"""

from sqlalchemy import Double, Index, Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from nova_market.core.notice.preference import MAX_ADDRESS, MAX_STOPPED, MAX_URL
from nova_market.db.app_tables import CONTENT
from nova_market.db.ledger_tables import TABLE, UUID_LENGTH, Base, Counter, table_of
from nova_market.db.market_tables import STATE_LENGTH

EVENT_LENGTH = 64
KEY_LENGTH = 200
HASH_LENGTH = 64


class PreferenceRow(Base):
    """One for each user of a project who has asked for notices."""

    __tablename__ = 'notice_preferences'
    __table_args__ = (
        UniqueConstraint('project_id', 'user_id', name='notices_of_user'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    number: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    user_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    events: Mapped[bytes] = mapped_column(CONTENT)
    mail: Mapped[str] = mapped_column(String(MAX_ADDRESS))
    confirmed: Mapped[bool]
    code_hash: Mapped[str] = mapped_column(String(HASH_LENGTH))
    code_until: Mapped[float] = mapped_column(Double)
    webhook: Mapped[str] = mapped_column(String(MAX_URL))
    secret: Mapped[str] = mapped_column(String(HASH_LENGTH))
    mine: Mapped[bool]
    all_projects: Mapped[bool]
    digest: Mapped[float] = mapped_column(Double)
    at_most: Mapped[int] = mapped_column(Integer)
    changed_at: Mapped[float] = mapped_column(Double)
    stopped: Mapped[str] = mapped_column(String(MAX_STOPPED), server_default='')


class OutboxRow(Base):
    """One event for one recipient. `of_project`: the event's; the other one is the recipient's."""

    __tablename__ = 'notice_outbox'
    __table_args__ = (
        Index('notices_due', 'state', 'due_at'),
        Index('notices_of_recipient', 'project_id', 'user_id', 'channel', 'state'),
        Index('notices_done', 'done_at'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    number: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    user_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    channel: Mapped[str] = mapped_column(String(STATE_LENGTH))
    target: Mapped[str] = mapped_column(String(MAX_URL))
    event: Mapped[str] = mapped_column(String(EVENT_LENGTH))
    key: Mapped[str] = mapped_column(String(KEY_LENGTH))
    of_project: Mapped[str] = mapped_column(String(UUID_LENGTH))
    at: Mapped[float] = mapped_column(Double)
    payload: Mapped[bytes] = mapped_column(CONTENT)
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    message: Mapped[str] = mapped_column(String(UUID_LENGTH))
    tries: Mapped[int] = mapped_column(Integer)
    due_at: Mapped[float] = mapped_column(Double)
    tried_at: Mapped[float] = mapped_column(Double)
    done_at: Mapped[float] = mapped_column(Double)


notice_preferences = table_of(PreferenceRow)
notice_outbox = table_of(OutboxRow)
