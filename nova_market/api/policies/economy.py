# SPDX-License-Identifier: Apache-2.0
"""The economy of the cloud is for everybody with a role; what a project can buy is its own matter."""

from nova_market.api.policies.role import ADMIN, ANYBODY, READER, documented

POWER = (('GET', '/v1/purchasing-power'), ('GET', '/v1/purchasing-power/history'))
RULES = (
    documented(
        'economy:show',
        ANYBODY,
        'Money supply, velocity and price index, now and in the past.',
        ('GET', '/v1/economy'),
        ('GET', '/v1/economy/history'),
    ),
    documented(
        'purchasing_power:show', READER, 'What the means of a project buy, now and before.', *POWER
    ),
    documented('purchasing_power:show_all', ADMIN, 'That of all projects.', *POWER),
)
