# SPDX-License-Identifier: Apache-2.0
"""Offers for jobs."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import CONTENT, COUNTER, create, index

revision = 'd94a0e5c72b8'
down_revision = 'b20f7c6e94d1'
branch_labels = None
depends_on = None


def upgrade() -> None:
    text, number, real = sa.String, sa.BigInteger, sa.Double
    create(
        'offers',
        sa.Column('number', COUNTER, autoincrement=True, nullable=False),
        *(
            sa.Column(name, text(length=64), nullable=False)
            for name in ('id', 'request_id', 'project_id', 'user_id', 'queue_id')
        ),
        sa.Column('flavors', CONTENT, nullable=False),
        sa.Column('servers', sa.Integer, nullable=False),
        sa.Column('time_limit', sa.Integer, nullable=False),
        sa.Column('deadline', real, nullable=False),
        sa.Column('utility', text(length=64), nullable=False),
        sa.Column('weight', real, nullable=False),
        sa.Column('flavor', text(length=255), nullable=False),
        sa.Column('how', text(length=16), nullable=False),
        sa.Column('count', sa.Integer, nullable=False),
        sa.Column('cost', number, nullable=False),
        sa.Column('seconds', real, nullable=False),
        sa.Column('price_core_hour', number, nullable=False),
        sa.Column('created_at', real, nullable=False),
        sa.Column('state', text(length=16), nullable=False),
        sa.Column('valid_until', real, nullable=False),
        sa.Column('holds', sa.Integer, nullable=False),
        sa.Column('fees', number, nullable=False),
        sa.Column('accepted_at', real, nullable=False),
        sa.Column('due_at', real, nullable=False),
        sa.Column('job_id', text(length=64), nullable=False),
        sa.Column('accept_key', text(length=255), nullable=False),
        sa.Column('late_refund', real, nullable=False),
        sa.Column('refunded', number, nullable=False),
        sa.PrimaryKeyConstraint('number'),
        sa.UniqueConstraint('id', name='offer_id'),
        sqlite_autoincrement=True,
    )
    index('offers_of_project', 'offers', ['project_id', 'number'])
    index('offers_of_request', 'offers', ['request_id'])
    index('offers_by_state', 'offers', ['state', 'valid_until'])
    index('offers_of_job', 'offers', ['job_id'])
    create(
        'offer_turns',
        sa.Column('name', text(length=20), nullable=False),
        sa.Column('turn', number, nullable=False),
        sa.PrimaryKeyConstraint('name'),
    )
