# SPDX-License-Identifier: Apache-2.0
"""Limits: what the operator allows to a project."""

from nova_market.api.policies.role import READER, documented

RULES = (
    documented(
        'limits:show',
        READER,
        'What the operator allows to a project, and how much of that it has.',
        ('GET', '/v1/limits'),
    ),
)
