# SPDX-License-Identifier: Apache-2.0
"""Leases whose size changes while they last: since when, and what they had cost until then."""

import sqlalchemy as sa
from alembic import op

revision = '7d35a0e9c1f8'
down_revision = 'c8e41b7f2d06'
branch_labels = None
depends_on = None


def upgrade() -> None:
    there = {one['name'] for one in sa.inspect(op.get_bind()).get_columns('leases')}
    for column in (
        sa.Column('priced_since', sa.Double(), nullable=False, server_default='0'),
        sa.Column('priced_before', sa.BigInteger(), nullable=False, server_default='0'),
    ):
        if column.name not in there:
            op.add_column('leases', column)
