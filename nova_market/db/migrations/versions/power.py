# SPDX-License-Identifier: Apache-2.0
"""Hosts that are powered down and up, and their events."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import CONTENT, COUNTER, create, index

revision = 'c8e41b7f2d06'
down_revision = 'c41e7b9d30f6'
branch_labels = None
depends_on = None


def upgrade() -> None:
    create(
        'power_hosts',
        sa.Column('host', sa.String(length=255), nullable=False),
        sa.Column('phase', sa.String(length=16), nullable=False),
        *(sa.Column(name, sa.Double(), nullable=True) for name in ('since', 'acted', 'empty')),
        sa.Column('held', sa.Boolean(), nullable=False),
        sa.Column('until', sa.Double(), nullable=True),
        sa.Column('why', sa.String(length=1000), nullable=False),
        sa.Column('revision', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('host'),
    )
    create(
        'power_events',
        sa.Column('id', COUNTER, autoincrement=True, nullable=False),
        sa.Column('host', sa.String(length=255), nullable=False),
        sa.Column('at', sa.Double(), nullable=False),
        sa.Column('action', sa.String(length=32), nullable=False),
        sa.Column('reason', sa.String(length=1000), server_default='', nullable=False),
        sa.Column('numbers', CONTENT, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        sqlite_autoincrement=True,
    )
    index('power_events_of', 'power_events', ['host', 'id'])
