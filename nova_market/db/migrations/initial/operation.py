# SPDX-License-Identifier: Apache-2.0
"""What services have set aside, and requests that were refused."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import create, index


def make() -> None:
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
    create(
        'refused_requests',
        sa.Column('kind', sa.String(length=16), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('total', sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint('kind', 'project_id'),
    )
