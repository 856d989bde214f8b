# SPDX-License-Identifier: Apache-2.0
"""How many requests of whom were refused for their number."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import create

revision = '5be0c19d7a42'
down_revision = 'b72d05e8c94f'
branch_labels = None
depends_on = None


def upgrade() -> None:
    create(
        'refused_requests',
        sa.Column('kind', sa.String(length=16), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('total', sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint('kind', 'project_id'),
    )
