# SPDX-License-Identifier: Apache-2.0
"""A bid may leave a resource to the next place of rule B1: its amount is empty then."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import allow_nothing

revision = '3c8f1a60d2b7'
down_revision = '7d14e8b3f960'
branch_labels = None
depends_on = None

MAX = 2**53


def upgrade() -> None:
    ranges = [
        sa.CheckConstraint(f'{name} BETWEEN 0 AND {MAX}', name=f'bid_{name}_range')
        for name in ('cpu', 'memory')
    ]
    allow_nothing('bids', {name: sa.BigInteger() for name in ('cpu', 'memory')}, ranges)
