# SPDX-License-Identifier: Apache-2.0
"""All tables, as they were when this became the first step."""

from nova_market.db.migrations.initial import (
    apps,
    jobs,
    leases,
    ledger,
    market,
    notices,
    operation,
    queues,
    tenders,
    usage,
)

revision = '7d14e8b3f960'
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    for topic in (ledger, market, apps, queues, jobs, tenders, leases, notices, usage, operation):
        topic.make()
