# SPDX-License-Identifier: Apache-2.0
"""Tables of the market: accounts, postings, bids, rounds, prices, allocations, migration plans."""

import sqlalchemy as sa
from alembic import op

from nova_market.db.migrations.resumable import CONTENT, COUNTER, create, index

revision = '7f2c9e41a6d0'
down_revision = None
branch_labels = None
depends_on = None

MAX = 2**53


def upgrade() -> None:
    _ledger()
    _market()
    _rounds()
    _plans()
    _first_rows()


def _first_rows() -> None:
    """The two accounts that every cloud has, and a horizon before all periods."""
    bind = op.get_bind()
    for table, column, names in (
        ('accounts', 'id', ('mint', 'bank')),
        ('horizons', 'name', ('postings',)),
    ):
        rows = sa.table(table, sa.column(column))
        there = set(bind.execute(sa.select(rows.c[column])).scalars())
        for name in names:
            if name not in there:
                bind.execute(rows.insert().values({column: name}))


def _ledger() -> None:
    """Accounts, postings, and how far they were purged."""
    create(
        'accounts',
        sa.Column('id', sa.String(length=270), nullable=False),
        sa.Column('project_id', sa.String(length=64), server_default='', nullable=False),
        sa.Column('name', sa.String(length=255), server_default='', nullable=False),
        sa.Column('weight', sa.Double(), server_default=sa.text('1'), nullable=False),
        sa.Column('renew_amount', sa.BigInteger(), nullable=True),
        sa.Column('renew_every', sa.Integer(), server_default=sa.text('1'), nullable=False),
        sa.Column('balance', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.Column('carried', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.Column('closed', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.CheckConstraint("balance >= 0 OR id = 'mint'", name='no_overdraft'),
        sa.CheckConstraint(f'balance BETWEEN -{MAX} AND {MAX}', name='balance_range'),
        sa.CheckConstraint('weight >= 0', name='weight_range'),
        sa.PrimaryKeyConstraint('id'),
    )
    index('accounts_of_project', 'accounts', ['project_id'])
    create(
        'horizons',
        sa.Column('name', sa.String(length=20), nullable=False),
        sa.Column('period', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.PrimaryKeyConstraint('name'),
    )
    create(
        'postings',
        sa.Column('id', COUNTER, autoincrement=True, nullable=False),
        sa.Column('posting_key', sa.String(length=380), nullable=False),
        sa.Column('reason', sa.String(length=20), nullable=False),
        sa.Column('period', sa.BigInteger(), nullable=False),
        sa.Column('debit', sa.String(length=270), nullable=False),
        sa.Column('credit', sa.String(length=270), nullable=False),
        sa.Column('amount', sa.BigInteger(), nullable=False),
        sa.Column('debit_balance', sa.BigInteger(), nullable=False),
        sa.Column('credit_balance', sa.BigInteger(), nullable=False),
        sa.Column('posted_at', sa.Double(), nullable=False),
        sa.Column('posted_by', sa.String(length=64), server_default='', nullable=False),
        sa.CheckConstraint(f'amount BETWEEN 1 AND {MAX}', name='amount_range'),
        sa.CheckConstraint('debit <> credit', name='two_accounts'),
        sa.ForeignKeyConstraint(['credit'], ['accounts.id'], name='posting_credit'),
        sa.ForeignKeyConstraint(['debit'], ['accounts.id'], name='posting_debit'),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('posting_key', name='posted_once'),
        sqlite_autoincrement=True,
    )
    index('postings_from', 'postings', ['debit', 'id'])
    index('postings_of_period', 'postings', ['period'])
    index('postings_to', 'postings', ['credit', 'id'])


def _market() -> None:
    """Bids, and what a round decides."""
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
        sa.CheckConstraint(f'cpu BETWEEN 0 AND {MAX}', name='bid_cpu_range'),
        sa.CheckConstraint(f'memory BETWEEN 0 AND {MAX}', name='bid_memory_range'),
        sa.ForeignKeyConstraint(['payer'], ['accounts.id'], name='bid_payer'),
        sa.PrimaryKeyConstraint('server_id'),
    )
    index('bids_of_project', 'bids', ['project_id', 'server_id'])
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
    """Rounds with their documents."""
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
    """Migration plans."""
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
