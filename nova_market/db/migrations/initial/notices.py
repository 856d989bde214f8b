# SPDX-License-Identifier: Apache-2.0
"""What users want to get of events, and what waits for being sent."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import CONTENT, COUNTER, create, index


def make() -> None:
    _preferences()
    _outbox()


def _text(name: str, length: int = 64) -> sa.Column[str]:
    return sa.Column(name, sa.String(length=length), nullable=False)


def _real(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Double(), nullable=False)


def _preferences() -> None:
    create(
        'notice_preferences',
        sa.Column('number', COUNTER, autoincrement=True, nullable=False),
        _text('project_id'),
        _text('user_id'),
        sa.Column('events', CONTENT, nullable=False),
        _text('mail', 254),
        sa.Column('confirmed', sa.Boolean(), nullable=False),
        _text('code_hash'),
        _real('code_until'),
        _text('webhook', 1000),
        _text('secret'),
        sa.Column('mine', sa.Boolean(), nullable=False),
        sa.Column('all_projects', sa.Boolean(), nullable=False),
        _real('digest'),
        sa.Column('at_most', sa.Integer(), nullable=False),
        _real('changed_at'),
        sa.Column('stopped', sa.String(length=255), server_default='', nullable=False),
        sa.PrimaryKeyConstraint('number'),
        sa.UniqueConstraint('project_id', 'user_id', name='notices_of_user'),
        sqlite_autoincrement=True,
    )


def _outbox() -> None:
    create(
        'notice_outbox',
        sa.Column('number', COUNTER, autoincrement=True, nullable=False),
        _text('project_id'),
        _text('user_id'),
        _text('channel', 16),
        _text('target', 1000),
        _text('event'),
        _text('key', 200),
        _text('of_project'),
        _real('at'),
        sa.Column('payload', CONTENT, nullable=False),
        _text('state', 16),
        _text('message'),
        sa.Column('tries', sa.Integer(), nullable=False),
        _real('due_at'),
        _real('tried_at'),
        _real('done_at'),
        sa.PrimaryKeyConstraint('number'),
        sqlite_autoincrement=True,
    )
    index('notices_due', 'notice_outbox', ['state', 'due_at'])
    index('notices_of_recipient', 'notice_outbox', ['project_id', 'user_id', 'channel', 'state'])
    index('notices_done', 'notice_outbox', ['done_at'])
