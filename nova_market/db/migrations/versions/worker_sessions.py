# SPDX-License-Identifier: Apache-2.0
"""The session that a worker's boot secret was exchanged for, and whose jobs a worker has run.

Agents that have called already show their boot secret until they end: it is their session. Whose jobs an idle
worker has run is not known: it gets no other ones.
"""

import sqlalchemy as sa
from alembic import op

from nova_market.db.migrations.resumable import add

revision = '8b41f6c2d95e'
down_revision = '5d20e8b1f7c4'
branch_labels = None
depends_on = None


def upgrade() -> None:
    add('job_workers', sa.Column('session', sa.String(64), server_default='', nullable=False))
    add('job_workers', sa.Column('project_id', sa.String(64), server_default='', nullable=False))
    names = ('id', 'credential', 'session', 'seen_at', 'job_id', 'project_id')
    workers = sa.table('job_workers', *map(sa.column, names))
    jobs = sa.table('jobs', sa.column('id'), sa.column('project_id'))
    called = workers.update().where(workers.c.session == '', workers.c.seen_at > 0)
    op.get_bind().execute(called.values(session=workers.c.credential))
    whose = sa.select(jobs.c.project_id).where(jobs.c.id == workers.c.job_id).scalar_subquery()
    busy = workers.update().where(workers.c.project_id == '', workers.c.job_id != '')
    op.get_bind().execute(busy.values(project_id=sa.func.coalesce(whose, '')))
