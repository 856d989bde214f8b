# SPDX-License-Identifier: Apache-2.0
"""Why nothing is sent to a user who has asked for notices."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import add

revision = 'b72d05e8c94f'
down_revision = '8e41c7d92b05'
branch_labels = None
depends_on = None


def upgrade() -> None:
    add(
        'notice_preferences',
        sa.Column('stopped', sa.String(length=255), server_default='', nullable=False),
    )
