# SPDX-License-Identifier: Apache-2.0
"""Offers for leases and servers: what an offer is for, and the lease that it has become."""

import sqlalchemy as sa
from alembic import op

revision = 'c41e7b9d30f6'
down_revision = '1c7f93ab4e26'
branch_labels = None
depends_on = None


def upgrade() -> None:
    there = {one['name'] for one in sa.inspect(op.get_bind()).get_columns('offers')}
    for column in (
        sa.Column('kind', sa.String(length=16), nullable=False, server_default='job'),
        sa.Column('lease_id', sa.String(length=64), nullable=False, server_default=''),
    ):
        if column.name not in there:
            op.add_column('offers', column)
