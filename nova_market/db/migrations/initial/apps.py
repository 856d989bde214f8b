# SPDX-License-Identifier: Apache-2.0
"""Applications that a controller runs: their rows, servers, events, reports and hooks."""

import sqlalchemy as sa

from nova_market.db.migrations.initial.events import make_events
from nova_market.db.migrations.resumable import CONTENT, create, index


def make() -> None:
    _apps()
    _servers()
    _events()
    _reports()


def _apps() -> None:
    create(
        'apps',
        sa.Column('id', sa.String(length=64), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('user_id', sa.String(length=64), nullable=False),
        sa.Column('template', CONTENT, nullable=False),
        sa.Column('user_data', CONTENT, nullable=False),
        sa.Column('trust_id', sa.String(length=64), nullable=False),
        sa.Column('credential', sa.String(length=64), nullable=False),
        sa.Column('wish', sa.String(length=16), nullable=False),
        sa.Column('generation', sa.BigInteger(), nullable=False),
        sa.Column('state', sa.String(length=16), nullable=False),
        sa.Column('created_at', sa.Double(), nullable=False),
        sa.Column('changed_at', sa.Double(), nullable=False),
        sa.Column('period', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.Column('memory', CONTENT, nullable=False),
        sa.Column('figures', CONTENT, nullable=False),
        sa.Column('closed', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint('id'),
    )
    index('apps_of_project', 'apps', ['project_id', 'id'])
    index('apps_open', 'apps', ['closed', 'id'])
    create(
        'app_replaced_trusts',
        sa.Column('app_id', sa.String(length=64), nullable=False),
        sa.Column('trust_id', sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(['app_id'], ['apps.id'], name='trust_app'),
        sa.PrimaryKeyConstraint('app_id', 'trust_id'),
    )


def _servers() -> None:
    create(
        'app_servers',
        sa.Column('app_id', sa.String(length=64), nullable=False),
        sa.Column('component', sa.String(length=32), nullable=False),
        sa.Column('number', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('intention', sa.String(length=16), nullable=False),
        sa.Column('server_id', sa.String(length=64), server_default='', nullable=False),
        sa.Column('attempts', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('retry_at', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.Column('address', sa.String(length=64), server_default='', nullable=False),
        sa.Column('drain_at', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.Column('drain_until', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.ForeignKeyConstraint(['app_id'], ['apps.id'], name='slot_app'),
        sa.PrimaryKeyConstraint('app_id', 'component', 'number'),
    )
    index('app_servers_by_server', 'app_servers', ['server_id'])


def _events() -> None:
    make_events(
        'app_events',
        'app_id',
        sa.Column('period', sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(['app_id'], ['apps.id'], name='event_app'),
    )


def _reports() -> None:
    create(
        'app_reports',
        sa.Column('app_id', sa.String(length=64), nullable=False),
        sa.Column('server_id', sa.String(length=64), nullable=False),
        sa.Column('at', sa.Double(), nullable=False),
        sa.Column('metric', sa.Double(), nullable=True),
        sa.Column('total', sa.Double(), nullable=True),
        sa.Column('done', sa.Double(), nullable=True),
        sa.Column('seconds_each', sa.Double(), nullable=True),
        sa.Column('waiting', sa.BigInteger(), nullable=True),
        sa.Column('busy', sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(['app_id'], ['apps.id'], name='report_app'),
        sa.PrimaryKeyConstraint('app_id', 'server_id'),
    )
    create(
        'app_hooks',
        sa.Column('app_id', sa.String(length=64), nullable=False),
        sa.Column('server_id', sa.String(length=64), nullable=False),
        sa.Column('at', sa.Double(), nullable=False),
        sa.Column('members', sa.String(length=16), nullable=True),
        sa.Column('drain', sa.BigInteger(), nullable=True),
        sa.Column('drained', sa.Boolean(), nullable=True),
        sa.Column('text', sa.String(length=200), nullable=True),
        sa.ForeignKeyConstraint(['app_id'], ['apps.id'], name='hook_app'),
        sa.PrimaryKeyConstraint('app_id', 'server_id'),
    )
