# SPDX-License-Identifier: Apache-2.0
"""What Nova's scheduler receives."""

from nova_market.api.policies.role import SERVICE_OR_ADMIN, documented

RULES = (
    documented(
        'scheduler_snapshot:show',
        SERVICE_OR_ADMIN,
        "The newest round as Nova's scheduler plug-ins need it: all hosts, all projects' balances.",
        ('GET', '/v1/scheduler-snapshot'),
    ),
)
