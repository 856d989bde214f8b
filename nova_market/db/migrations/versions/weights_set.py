# SPDX-License-Identifier: Apache-2.0
"""Whether the weight of a project was set, and what is claimed of it.

Accounts that are there keep the weight that they have.
"""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import add

revision = '8e41c7d92b05'
down_revision = '8f1b6ad40c93'
branch_labels = None
depends_on = None


def upgrade() -> None:
    add('accounts', sa.Column('weighed', sa.Boolean(), server_default=sa.true(), nullable=False))
    add('accounts', sa.Column('claimed', sa.BigInteger(), server_default='0', nullable=False))
