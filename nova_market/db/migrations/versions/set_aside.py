# SPDX-License-Identifier: Apache-2.0
"""What services have set aside; and amounts that could be stored, and are beyond what decisions take.

Jobs in a queue of their own project could cost more than any posting can have, and a bid could have a limit
so near to zero that nothing can be computed with it.
"""

import sqlalchemy as sa
from alembic import op

from nova_market.db.migrations.resumable import create, index

revision = '8f1b6ad40c93'
down_revision = 'c3a97e50d14b'
branch_labels = None
depends_on = None

MOST = 2**53
LEAST = {'max_cpu': 0.001, 'max_memory_mib': 1.0}
AMOUNTS = ('cost_limit', 'value', 'charged', 'compensation', 'reserve', 'owed')


def upgrade() -> None:
    create(
        'set_aside',
        *(
            sa.Column(name, sa.String(length=length), nullable=False)
            for name, length in (('service', 40), ('kind', 40), ('id', 255), ('stage', 40))
        ),
        sa.Column('project_id', sa.String(length=64), server_default='', nullable=False),
        sa.Column('reason', sa.String(length=1000), nullable=False),
        sa.Column('since', sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint('service', 'kind', 'id', 'stage'),
    )
    index('set_aside_of_project', 'set_aside', ['project_id', 'since'])
    jobs = sa.table('jobs', *(sa.column(name) for name in AMOUNTS))
    for name in AMOUNTS:
        beyond = jobs.update().where(jobs.c[name] > MOST)
        op.get_bind().execute(beyond.values({name: MOST}))
    bids = sa.table('bids', *(sa.column(name) for name in LEAST))
    for name, least in LEAST.items():
        below = bids.update().where(bids.c[name] < least)
        op.get_bind().execute(below.values({name: least}))
