# SPDX-License-Identifier: Apache-2.0
"""What the service of jobs carries from one pass to the next: documents by name."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import CONTENT, create

revision = 'e83d15c07ab6'
down_revision = 'c17a5be84f02'
branch_labels = None
depends_on = None


def upgrade() -> None:
    create(
        'job_states',
        sa.Column('name', sa.String(length=20), nullable=False),
        sa.Column('document', CONTENT, nullable=False),
        sa.PrimaryKeyConstraint('name'),
    )
