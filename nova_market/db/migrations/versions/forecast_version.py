# SPDX-License-Identifier: Apache-2.0
"""Versions of documents, so that a forecast is read once; indexes to count open offers and idle workers."""

import sqlalchemy as sa
from alembic import op

from nova_market.db.migrations.resumable import index

revision = '5a81c3f07e2d'
down_revision = 'a6c3e58f10d4'
branch_labels = None
depends_on = None


def upgrade() -> None:
    if 'version' not in {
        one['name'] for one in sa.inspect(op.get_bind()).get_columns('job_states')
    }:
        number = sa.Column('version', sa.BigInteger, nullable=False, server_default=sa.text('0'))
        op.add_column('job_states', number)
    index('offers_live', 'offers', ['project_id', 'valid_until', 'state'])
    index('workers_idle', 'job_workers', ['queue_id', 'intention', 'state', 'job_id', 'flavor'])
