# SPDX-License-Identifier: Apache-2.0
"""Offers, and bags of tasks."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import CONTENT, COUNTER, create, index


def make() -> None:
    _offers()
    _turns()
    _bags()
    _tasks()
    _bag_events()


def _offers() -> None:
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
        sa.Column('kind', text(length=16), nullable=False, server_default='job'),
        sa.Column('lease_id', text(length=64), nullable=False, server_default=''),
        sa.PrimaryKeyConstraint('number'),
        sa.UniqueConstraint('id', name='offer_id'),
        sqlite_autoincrement=True,
    )
    index('offers_of_project', 'offers', ['project_id', 'number'])
    index('offers_of_request', 'offers', ['request_id'])
    index('offers_by_state', 'offers', ['state', 'valid_until'])
    index('offers_of_job', 'offers', ['job_id'])
    index('offers_live', 'offers', ['project_id', 'valid_until', 'state'])


def _turns() -> None:
    create(
        'offer_turns',
        sa.Column('name', sa.String(length=20), nullable=False),
        sa.Column('turn', sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint('name'),
    )


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
        sa.Column('again', sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column('totals', CONTENT, nullable=True),
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


def _bag_events() -> None:
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
