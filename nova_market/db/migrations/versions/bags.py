# SPDX-License-Identifier: Apache-2.0
"""Bags of tasks."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import CONTENT, COUNTER, create, index

revision = '5b7c30e9a1f4'
down_revision = '5a81c3f07e2d'
branch_labels = None
depends_on = None


def upgrade() -> None:
    _bags()
    _tasks()
    create(
        'bag_contents',
        sa.Column('bag_id', sa.String(length=64), nullable=False),
        sa.Column('digest', sa.String(length=64), nullable=False),
        sa.Column('document', CONTENT, nullable=False),
        sa.PrimaryKeyConstraint('bag_id', 'digest'),
    )
    create(
        'bag_events',
        sa.Column('id', COUNTER, autoincrement=True, nullable=False),
        sa.Column('bag_id', sa.String(length=64), nullable=False),
        sa.Column('task', sa.String(length=64), nullable=False),
        sa.Column('at', sa.Double, nullable=False),
        sa.Column('action', sa.String(length=32), nullable=False),
        sa.Column('reason', sa.String(length=1000), nullable=False),
        sa.Column('numbers', CONTENT, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        sqlite_autoincrement=True,
    )
    index('bag_events_of', 'bag_events', ['bag_id', 'id'])


def _bags() -> None:
    text, number, real = sa.String, sa.BigInteger, sa.Double
    create(
        'bags',
        sa.Column('number', COUNTER, autoincrement=True, nullable=False),
        sa.Column('id', text(length=64), nullable=False),
        sa.Column('project_id', text(length=64), nullable=False),
        sa.Column('user_id', text(length=64), nullable=False),
        sa.Column('name', text(length=64), nullable=False),
        sa.Column('document', CONTENT, nullable=False),
        sa.Column('digest', text(length=64), nullable=False),
        sa.Column('utility', text(length=64), nullable=False),
        sa.Column('weight', real, nullable=False),
        sa.Column('order', text(length=16), nullable=False),
        sa.Column('retry', sa.Boolean, nullable=False),
        sa.Column('alternatives', sa.Boolean, nullable=False),
        sa.Column('poll', real, nullable=False),
        sa.Column('budget', number, nullable=True),
        sa.Column('state', text(length=16), nullable=False),
        sa.Column('reason', text(length=1000), nullable=False),
        sa.Column('cancel_jobs', sa.Boolean, nullable=False),
        *(
            sa.Column(name, real, nullable=False)
            for name in ('round_at', 'next_at', 'created_at', 'changed_at', 'ended_at')
        ),
        sa.PrimaryKeyConstraint('number'),
        sa.UniqueConstraint('id', name='bag_id'),
        sqlite_autoincrement=True,
    )
    index('bags_of_project', 'bags', ['project_id', 'number'])
    index('bags_by_state', 'bags', ['state', 'next_at'])


def _tasks() -> None:
    text, number, real = sa.String, sa.BigInteger, sa.Double
    create(
        'bag_tasks',
        sa.Column('bag_id', text(length=64), nullable=False),
        sa.Column('row', sa.Integer, autoincrement=False, nullable=False),
        sa.Column('name', text(length=64), nullable=False),
        sa.Column('flavors', CONTENT, nullable=False),
        sa.Column('time_limit', sa.Integer, nullable=False),
        sa.Column('deadline', real, nullable=False),
        sa.Column('importance', real, nullable=False),
        sa.Column('environment', CONTENT, nullable=False),
        sa.Column('content', text(length=64), nullable=False),
        sa.Column('state', text(length=16), nullable=False),
        sa.Column('why', text(length=16), nullable=False),
        sa.Column('reason', text(length=1000), nullable=False),
        sa.Column('tries', sa.Integer, nullable=False),
        sa.Column('tried_at', real, nullable=False),
        *(
            sa.Column(name, text(length=64), nullable=False)
            for name in ('queue_id', 'offer_id', 'job_id')
        ),
        sa.Column('cost', number, nullable=False),
        sa.Column('spent', number, nullable=False),
        sa.Column('due_at', real, nullable=False),
        sa.Column('ended_at', real, nullable=False),
        sa.PrimaryKeyConstraint('bag_id', 'row'),
        sa.UniqueConstraint('bag_id', 'name', name='bag_task_name'),
    )
    index('bag_tasks_by_state', 'bag_tasks', ['state', 'bag_id'])
