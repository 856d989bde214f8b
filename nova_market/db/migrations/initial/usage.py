# SPDX-License-Identifier: Apache-2.0
"""Usage history: a table for each resolution, the servers that were measured, and the progress."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import CONTENT, COUNTER, create, index


def make() -> None:
    text, number = sa.String, sa.BigInteger
    create(
        'usage_series',
        sa.Column('number', COUNTER, autoincrement=True, nullable=False),
        sa.Column('server_id', text(length=64), nullable=False),
        sa.Column('project_id', text(length=64), nullable=False),
        sa.Column('host', text(length=255), nullable=False),
        sa.Column('vcpus', sa.Integer(), nullable=False),
        sa.Column('memory_mib', number, nullable=False),
        sa.Column('lease_id', text(length=64), nullable=False),
        sa.Column('first_at', number, nullable=False),
        sa.Column('last_at', number, nullable=False),
        sa.PrimaryKeyConstraint('number'),
        sa.UniqueConstraint(
            *('server_id', 'project_id', 'host', 'vcpus', 'memory_mib', 'lease_id'),
            name='usage_series_key',
        ),
        sqlite_autoincrement=True,
    )
    index('usage_series_of_project', 'usage_series', ['project_id', 'number'])
    index('usage_series_of_host', 'usage_series', ['host', 'number'])
    index('usage_series_of_lease', 'usage_series', ['lease_id'])
    index('usage_series_by_end', 'usage_series', ['last_at'])
    for name in ('usage_minutes', 'usage_ten_minutes', 'usage_days'):
        create(
            name,
            sa.Column('at', number, autoincrement=False, nullable=False),
            sa.Column('shard', sa.Integer(), autoincrement=False, nullable=False),
            sa.Column('content', CONTENT, nullable=False),
            sa.PrimaryKeyConstraint('at', 'shard'),
        )
    create(
        'usage_progress',
        sa.Column('name', text(length=16), nullable=False),
        sa.Column('at', number, nullable=False),
        sa.PrimaryKeyConstraint('name'),
    )
