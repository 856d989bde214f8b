# SPDX-License-Identifier: Apache-2.0
"""Projects that have submitted jobs: rows to lock while a quota is counted.

Nothing was held for jobs that are stored already, so they are not charged either.
"""

import sqlalchemy as sa
from alembic import op

from nova_market.db.migrations.resumable import create

revision = 'b20f7c6e94d1'
down_revision = 'e83d15c07ab6'
branch_labels = None
depends_on = None


def upgrade() -> None:
    create(
        'job_projects',
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint('project_id'),
    )
    jobs = sa.table('jobs', sa.column('cost_limit', sa.BigInteger))
    op.get_bind().execute(jobs.update().where(jobs.c.cost_limit > 0).values(cost_limit=0))
