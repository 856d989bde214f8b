# SPDX-License-Identifier: Apache-2.0
"""Names of queues are those of a project, no longer of the cloud, and rest after a queue has gone.

Projects whose jobs a queue takes go on calling it by the name that it has now.
"""

import json

import sqlalchemy as sa
from alembic import op

from nova_market.db.migrations.resumable import create, index

revision = 'c3a97e50d14b'
down_revision = '8b41f6c2d95e'
branch_labels = None
depends_on = None

QUEUES, BEFORE, SINCE = 'job_queues', 'queue_name', 'queue_of_project'


def upgrade() -> None:
    there = {one['name'] for one in sa.inspect(op.get_bind()).get_unique_constraints(QUEUES)}
    with op.batch_alter_table(QUEUES) as queues:
        if SINCE not in there:
            queues.create_unique_constraint(SINCE, ['project_id', 'name'])
        if BEFORE in there:
            queues.drop_constraint(BEFORE, type_='unique')
    if 'queues_of_project' in {i['name'] for i in sa.inspect(op.get_bind()).get_indexes(QUEUES)}:
        op.drop_index('queues_of_project', QUEUES)
    index('queues_by_name', QUEUES, ['name', 'project_id'])
    create(
        'job_queue_names',
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('name', sa.String(length=64), nullable=False),
        sa.Column('user_id', sa.String(length=64), nullable=False),
        sa.Column('left_at', sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint('project_id', 'name'),
    )
    create(
        'job_queue_aliases',
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('name', sa.String(length=64), nullable=False),
        sa.Column(
            'queue_id',
            sa.String(length=64),
            sa.ForeignKey('job_queues.id', name='alias_queue'),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint('project_id', 'name'),
    )
    index('aliases_of_queue', 'job_queue_aliases', ['queue_id'])
    _accept()


def _accept() -> None:
    """As every project could until now."""
    connection = op.get_bind()
    queues = sa.table(QUEUES, *map(sa.column, ('id', 'name', 'project_id', 'settings')))
    aliases = sa.table('job_queue_aliases', *map(sa.column, ('project_id', 'name', 'queue_id')))
    connection.execute(aliases.delete())
    rows = [
        {'project_id': project, 'name': row.name, 'queue_id': row.id}
        for row in connection.execute(sa.select(queues))
        for project in sorted(set(json.loads(bytes(row.settings))['projects']) - {row.project_id})
    ]
    if rows:
        connection.execute(aliases.insert(), rows)
