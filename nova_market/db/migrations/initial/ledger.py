# SPDX-License-Identifier: Apache-2.0
"""Accounts, postings, and how far they were purged."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import COUNTER, create, index, row

MAX = 2**53


def make() -> None:
    _accounts()
    _postings()
    _first_rows()


def _accounts() -> None:
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
        sa.Column('weighed', sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column('claimed', sa.BigInteger(), server_default='0', nullable=False),
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


def _postings() -> None:
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


def _first_rows() -> None:
    """The accounts that every cloud has, and a horizon before all periods."""
    for name in ('mint', 'bank', 'escrow'):
        row('accounts', 'id', id=name)
    row('horizons', 'name', name='postings')
