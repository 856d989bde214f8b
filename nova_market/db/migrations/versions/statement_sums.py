# SPDX-License-Identifier: Apache-2.0
"""Postings have the server that they are a charge for: statements are chosen and summed by it."""

import sqlalchemy as sa
from alembic import op

from nova_market.db.migrations.resumable import add, index

revision = 'b3d5c07e91a4'
down_revision = '3c8f1a60d2b7'
branch_labels = None
depends_on = None

postings = sa.table(
    'postings',
    sa.column('posting_key', sa.String),
    sa.column('reason', sa.String),
    sa.column('period', sa.BigInteger),
    sa.column('server_id', sa.String),
)


def upgrade() -> None:
    add('postings', sa.Column('server_id', sa.String(64), nullable=False, server_default=''))
    # charge:<period>:<server>; what a job or a lease is charged names that with a slash
    start = sa.func.length(sa.cast(postings.c.period, sa.String(20))) + len('charge::') + 1
    op.execute(
        sa.update(postings)
        .where(
            postings.c.reason == 'charge',
            postings.c.period > 0,
            postings.c.posting_key.not_like('%/%'),
        )
        .values(server_id=sa.func.substr(postings.c.posting_key, start, 64))
    )
    index('postings_of_server', 'postings', ['server_id', 'id'])
    # with all that sums need: they read no row of the table
    index('postings_at', 'postings', ['debit', 'posted_at', 'server_id', 'reason', 'amount'])
