# SPDX-License-Identifier: Apache-2.0
"""The economy of each round, and what each project could buy."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import create, index

revision = '4e8b1f62d7a9'
down_revision = 'd5a07e3c914b'
branch_labels = None
depends_on = None


def upgrade() -> None:
    create(
        'economy',
        sa.Column('period', sa.BigInteger(), primary_key=True, autoincrement=False),
        *(
            sa.Column(name, sa.BigInteger(), nullable=False)
            for name in ('projects', 'budgets', 'escrow', 'bank')
        ),
        sa.Column('charged', sa.BigInteger()),
        sa.Column('price_index', sa.Double()),
        sa.Column('base_rounds', sa.Integer(), nullable=False),
        *(
            sa.Column(f'base_{name}', sa.Double(), nullable=False)
            for name in ('level', 'cpu', 'memory', 'cpu_value', 'memory_value')
        ),
    )
    create(
        'purchasing_powers',
        sa.Column('period', sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column('project_id', sa.String(64), primary_key=True),
        sa.Column('wealth', sa.BigInteger(), nullable=False),
        sa.Column('spend', sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.Double()) for name in ('cores', 'part', 'real')),
    )
    index('powers_of_project', 'purchasing_powers', ['project_id', 'period'])
