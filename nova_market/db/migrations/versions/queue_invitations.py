# SPDX-License-Identifier: Apache-2.0
"""Whom queues invite, in a table: who lists the queues that take jobs of a project reads no others."""

import json

import sqlalchemy as sa
from alembic import op

from nova_market.db.migrations.resumable import create, index

revision = '7d14e8b3f960'
down_revision = '5be0c19d7a42'
branch_labels = None
depends_on = None


def upgrade() -> None:
    create(
        'job_queue_invitations',
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column(
            'queue_id',
            sa.String(length=64),
            sa.ForeignKey('job_queues.id', name='invitation_queue'),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint('project_id', 'queue_id'),
    )
    index('invitations_of_queue', 'job_queue_invitations', ['queue_id'])
    _fill()


def _fill() -> None:
    connection = op.get_bind()
    queues = sa.table('job_queues', *map(sa.column, ('id', 'project_id', 'settings')))
    invitations = sa.table('job_queue_invitations', *map(sa.column, ('project_id', 'queue_id')))
    connection.execute(invitations.delete())
    rows = [
        {'project_id': project, 'queue_id': row.id}
        for row in connection.execute(sa.select(queues))
        for project in sorted(set(json.loads(bytes(row.settings))['projects']) - {row.project_id})
    ]
    if rows:
        connection.execute(invitations.insert(), rows)
