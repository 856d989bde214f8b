# SPDX-License-Identifier: Apache-2.0
"""Bids, and what rounds decide: prices, allocations, documents, the economy, migration plans."""

import sqlalchemy as sa

from nova_market.db.migrations.initial.ledger import MAX
from nova_market.db.migrations.resumable import CONTENT, create, index


def make() -> None:
    _bids()
    _prices()
    _rounds()
    _plans()
    _economy()


def _bids() -> None:
    create(
        'bids',
        sa.Column('server_id', sa.String(length=64), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('payer', sa.String(length=270), nullable=False),
        sa.Column('cpu', sa.BigInteger(), nullable=False),
        sa.Column('memory', sa.BigInteger(), nullable=False),
        sa.Column('max_cpu', sa.Double(), nullable=True),
        sa.Column('max_memory_mib', sa.Double(), nullable=True),
        sa.Column('source', sa.String(length=16), nullable=False),
        sa.Column('generation', sa.BigInteger(), nullable=False),
        sa.Column('changed_at', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.CheckConstraint(f'cpu BETWEEN 0 AND {MAX}', name='bid_cpu_range'),
        sa.CheckConstraint(f'memory BETWEEN 0 AND {MAX}', name='bid_memory_range'),
        sa.ForeignKeyConstraint(['payer'], ['accounts.id'], name='bid_payer'),
        sa.PrimaryKeyConstraint('server_id'),
    )
    index('bids_of_project', 'bids', ['project_id', 'server_id'])


def _prices() -> None:
    create(
        'prices',
        sa.Column('period', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column('resource', sa.String(length=32), nullable=False),
        sa.Column('price', sa.Double(), nullable=False),
        sa.Column('bid_price', sa.Double(), nullable=False),
        sa.Column('capacity', sa.Double(), nullable=False),
        sa.Column('allocated', sa.Double(), nullable=False),
        sa.Column('bids', sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint('period', 'resource'),
    )
    create(
        'allocations',
        sa.Column('period', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column('server_id', sa.String(length=64), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('host', sa.String(length=255), nullable=False),
        sa.Column('ideal_cpu', sa.Double(), nullable=False),
        sa.Column('actual_cpu', sa.Double(), nullable=False),
        sa.Column('ideal_memory_mib', sa.Double(), nullable=False),
        sa.Column('actual_memory_mib', sa.Double(), nullable=False),
        sa.Column('error', sa.Double(), nullable=False),
        sa.Column('charge_cpu', sa.BigInteger(), nullable=False),
        sa.Column('charge_memory', sa.BigInteger(), nullable=False),
        sa.Column('confirmed', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint('period', 'server_id'),
    )
    index('allocations_of_server', 'allocations', ['server_id', 'period'])


def _rounds() -> None:
    create(
        'rounds',
        sa.Column('period', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column('state', sa.String(length=16), nullable=False),
        sa.Column('leader', sa.String(length=255), nullable=False),
        sa.Column('started_at', sa.Double(), nullable=False),
        sa.Column('changed_at', sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint('period'),
    )
    index('rounds_in_state', 'rounds', ['state', 'period'])
    create(
        'round_documents',
        sa.Column('period', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column('part', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('content', CONTENT, nullable=False),
        sa.ForeignKeyConstraint(['period'], ['rounds.period'], name='document_round'),
        sa.PrimaryKeyConstraint('period', 'part'),
    )


def _plans() -> None:
    create(
        'plans',
        sa.Column('id', sa.String(length=64), nullable=False),
        sa.Column('period', sa.BigInteger(), nullable=False),
        sa.Column('mode', sa.String(length=16), nullable=False),
        sa.Column('state', sa.String(length=16), nullable=False),
        sa.Column('created_at', sa.Double(), nullable=False),
        sa.Column('decided_by', sa.String(length=64), server_default='', nullable=False),
        sa.Column('decided_at', sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint('id'),
    )
    index('plans_in_state', 'plans', ['state', 'created_at'])
    create(
        'plan_moves',
        sa.Column('plan_id', sa.String(length=64), nullable=False),
        sa.Column('position', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('server_id', sa.String(length=64), nullable=False),
        sa.Column('source', sa.String(length=255), nullable=False),
        sa.Column('destination', sa.String(length=255), nullable=False),
        sa.Column('error_before', sa.Double(), nullable=False),
        sa.Column('error_after', sa.Double(), nullable=False),
        sa.Column('gain', sa.Double(), nullable=False),
        sa.Column('cost', sa.Double(), nullable=False),
        sa.Column('reason', sa.String(length=1000), server_default='', nullable=False),
        sa.Column('state', sa.String(length=16), nullable=False),
        sa.Column('outcome', sa.String(length=1000), server_default='', nullable=False),
        sa.Column('changed_at', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.ForeignKeyConstraint(['plan_id'], ['plans.id'], name='move_plan'),
        sa.PrimaryKeyConstraint('plan_id', 'position'),
    )


def _economy() -> None:
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
