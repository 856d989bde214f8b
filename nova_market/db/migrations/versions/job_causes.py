# SPDX-License-Identifier: Apache-2.0
"""What money follows when an attempt ends: since when it has its script, and whether the cloud ended it.

Jobs that are stored already hold nothing for those that they displace, and so they pay nothing.
"""

import sqlalchemy as sa
from alembic import op

from nova_market.db.migrations.resumable import add

revision = '5d20e8b1f7c4'
down_revision = '7d35a0e9c1f8'
branch_labels = None
depends_on = None

NONE, NO = sa.text('0'), sa.false()


def upgrade() -> None:
    add('jobs', sa.Column('saves', sa.Boolean(), server_default=NO, nullable=False))
    add('jobs', sa.Column('by_offer', sa.Boolean(), server_default=NO, nullable=False))
    add('jobs', sa.Column('reserve', sa.BigInteger(), server_default=NONE, nullable=False))
    add('jobs', sa.Column('owed', sa.BigInteger(), server_default=NONE, nullable=False))
    add('job_attempts', sa.Column('given_at', sa.Double(), server_default=NONE, nullable=False))
    add('job_attempts', sa.Column('excluded', sa.Double(), server_default=NONE, nullable=False))
    add('job_attempts', sa.Column('by_cloud', sa.Boolean(), server_default=NO, nullable=False))
    attempts = sa.table('job_attempts', sa.column('given_at'), sa.column('started_at'))
    unknown = attempts.update().where(attempts.c.given_at == 0)
    op.get_bind().execute(unknown.values(given_at=attempts.c.started_at))
