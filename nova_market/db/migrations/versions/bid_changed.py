# SPDX-License-Identifier: Apache-2.0
"""When a bid was set, so that bids of servers that are gone can be purged; older ones count from now."""

import time

import sqlalchemy as sa
from alembic import op

revision = '9c41d7e05b2a'
down_revision = '7f2c9e41a6d0'
branch_labels = None
depends_on = None


def upgrade() -> None:
    bind = op.get_bind()
    if 'changed_at' not in {one['name'] for one in sa.inspect(bind).get_columns('bids')}:
        column: sa.Column[float] = sa.Column(
            'changed_at', sa.Double(), server_default=sa.text('0'), nullable=False
        )
        op.add_column('bids', column)
    bids = sa.table('bids', sa.column('changed_at', sa.Double()))
    bind.execute(bids.update().where(bids.c.changed_at == 0).values(changed_at=time.time()))
