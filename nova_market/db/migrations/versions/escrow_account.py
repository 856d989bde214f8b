# SPDX-License-Identifier: Apache-2.0
"""The account that holds what open rounds will charge."""

import sqlalchemy as sa
from alembic import op

revision = '3b8d05f7c1e4'
down_revision = '9c41d7e05b2a'
branch_labels = None
depends_on = None

ESCROW = 'escrow'


def upgrade() -> None:
    bind = op.get_bind()
    rows = sa.table('accounts', sa.column('id'))
    if bind.execute(sa.select(rows.c.id).where(rows.c.id == ESCROW)).first() is None:
        bind.execute(rows.insert().values(id=ESCROW))
