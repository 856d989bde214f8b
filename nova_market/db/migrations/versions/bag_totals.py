# SPDX-License-Identifier: Apache-2.0
"""Bags: whether another round follows the one in progress, and the sums of those that have ended."""

import sqlalchemy as sa
from alembic import op

from nova_market.db.migrations.resumable import CONTENT

revision = '1f6d92c47ab0'
down_revision = '5b7c30e9a1f4'
branch_labels = None
depends_on = None


def upgrade() -> None:
    there = {one['name'] for one in sa.inspect(op.get_bind()).get_columns('bags')}
    if 'again' not in there:
        again = sa.Column('again', sa.Boolean, nullable=False, server_default=sa.false())
        op.add_column('bags', again)
    if 'totals' not in there:
        op.add_column('bags', sa.Column('totals', CONTENT, nullable=True))
