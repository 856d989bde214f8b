# SPDX-License-Identifier: Apache-2.0
"""Tables of what happened, which applications, jobs, leases and hosts have alike."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import CONTENT, COUNTER, create, index


def make_events(name: str, of: str, *more: sa.schema.SchemaItem, length: int = 64) -> None:
    """One table of events, with the index by which those of one thing are read.

    of:     the column with the id of the thing, of this length
    more:   what else the table has: columns, references
    """
    create(
        name,
        sa.Column('id', COUNTER, autoincrement=True, nullable=False),
        sa.Column(of, sa.String(length=length), nullable=False),
        sa.Column('at', sa.Double(), nullable=False),
        *more,
        sa.Column('action', sa.String(length=32), nullable=False),
        sa.Column('reason', sa.String(length=1000), server_default='', nullable=False),
        sa.Column('numbers', CONTENT, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        sqlite_autoincrement=True,
    )
    index(f'{name}_of', name, [of, 'id'])
