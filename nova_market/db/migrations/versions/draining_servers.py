# SPDX-License-Identifier: Apache-2.0
"""Servers that end their work before they are deleted, and what agents report of their hooks."""

import sqlalchemy as sa
from alembic import op

from nova_market.db.migrations.resumable import create

revision = '6e2f81b0d3a9'
down_revision = '4e8b1f62d7a9'
branch_labels = None
depends_on = None


def upgrade() -> None:
    known = {column['name'] for column in sa.inspect(op.get_bind()).get_columns('app_servers')}
    added: tuple[sa.Column[str] | sa.Column[float], ...] = (
        sa.Column('address', sa.String(length=64), server_default='', nullable=False),
        sa.Column('drain_at', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.Column('drain_until', sa.Double(), server_default=sa.text('0'), nullable=False),
    )
    for column in added:
        if column.name not in known:
            op.add_column('app_servers', column)
    create(
        'app_hooks',
        sa.Column('app_id', sa.String(length=64), nullable=False),
        sa.Column('server_id', sa.String(length=64), nullable=False),
        sa.Column('at', sa.Double(), nullable=False),
        sa.Column('members', sa.String(length=16), nullable=True),
        sa.Column('drain', sa.BigInteger(), nullable=True),
        sa.Column('drained', sa.Boolean(), nullable=True),
        sa.Column('text', sa.String(length=200), nullable=True),
        sa.ForeignKeyConstraint(['app_id'], ['apps.id'], name='hook_app'),
        sa.PrimaryKeyConstraint('app_id', 'server_id'),
    )
