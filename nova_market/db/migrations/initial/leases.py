# SPDX-License-Identifier: Apache-2.0
"""Leases, their nodes and their events; hosts that are powered down and up."""

import sqlalchemy as sa

from nova_market.db.migrations.initial.events import make_events
from nova_market.db.migrations.resumable import CONTENT, COUNTER, create, index


def make() -> None:
    _leases()
    _nodes()
    _events()
    _power()


def _leases() -> None:
    text, number, real = sa.String, sa.BigInteger, sa.Double
    create(
        'leases',
        sa.Column('number', COUNTER, autoincrement=True, nullable=False),
        *(
            sa.Column(name, text(length=64), nullable=False)
            for name in ('id', 'project_id', 'payer_id', 'user_id')
        ),
        sa.Column('name', text(length=255), nullable=False),
        sa.Column('purpose', text(length=1000), nullable=False),
        *(sa.Column(name, real, nullable=False) for name in ('cores', 'memory_mib', 'disk_gib')),
        sa.Column('count', sa.Integer, nullable=False),
        sa.Column('whole', sa.Boolean(), nullable=False),
        *(
            sa.Column(name, real, nullable=False)
            for name in ('utilisation', 'duration', 'earliest', 'finish')
        ),
        sa.Column('hosts', CONTENT, nullable=False),
        sa.Column('flexible', sa.Boolean(), nullable=False),
        sa.Column('state', text(length=16), nullable=False),
        *(sa.Column(name, real, nullable=False) for name in ('start', 'end', 'ended_at')),
        *(sa.Column(name, number, nullable=False) for name in ('cost', 'charged', 'refunded')),
        sa.Column('algorithm', text(length=64), nullable=False),
        sa.Column('objective', text(length=64), nullable=False),
        sa.Column('created_at', real, nullable=False),
        sa.Column('revision', sa.Integer, nullable=False),
        sa.Column('priced_since', real, nullable=False, server_default='0'),
        sa.Column('priced_before', number, nullable=False, server_default='0'),
        sa.PrimaryKeyConstraint('number'),
        sa.UniqueConstraint('id', name='lease_id'),
        sqlite_autoincrement=True,
    )
    index('leases_of_project', 'leases', ['project_id', 'number'])
    index('leases_by_state', 'leases', ['state', 'end'])


def _nodes() -> None:
    create(
        'lease_nodes',
        sa.Column('lease_id', sa.String(length=64), nullable=False),
        sa.Column('place', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('host', sa.String(length=255), nullable=False),
        *(
            sa.Column(name, sa.Double(), nullable=False)
            for name in ('cores', 'memory_mib', 'disk_gib')
        ),
        sa.ForeignKeyConstraint(['lease_id'], ['leases.id'], name='lease_of_node'),
        sa.PrimaryKeyConstraint('lease_id', 'place'),
    )
    index('lease_nodes_of_host', 'lease_nodes', ['host'])


def _events() -> None:
    make_events('lease_events', 'lease_id')


def _power() -> None:
    create(
        'power_hosts',
        sa.Column('host', sa.String(length=255), nullable=False),
        sa.Column('phase', sa.String(length=16), nullable=False),
        *(sa.Column(name, sa.Double(), nullable=True) for name in ('since', 'acted', 'empty')),
        sa.Column('held', sa.Boolean(), nullable=False),
        sa.Column('until', sa.Double(), nullable=True),
        sa.Column('why', sa.String(length=1000), nullable=False),
        sa.Column('revision', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('host'),
    )
    make_events('power_events', 'host', length=255)
