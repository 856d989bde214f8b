# SPDX-License-Identifier: Apache-2.0
"""Notices: of the user who has asked for them, in a project."""

from nova_market.api.policies.role import ADMIN, MANAGER, READER, documented

ALL, ONE = '/v1/notices', '/v1/notices/{user_id}'
RULES = (
    documented('notices:list', READER, "One's own notices of a project.", ('GET', ALL)),
    documented('notices:list_all', ADMIN, 'Those of all projects.', ('GET', ALL)),
    documented(
        'notices:others',
        MANAGER,
        'See and end those of other users of the project.',
        ('GET', ALL),
        ('GET', ONE),
        ('DELETE', ONE),
    ),
    documented(
        'notices:own',
        READER,
        'See, set, confirm and end the own ones.',
        ('GET', ONE),
        ('PUT', ONE),
        ('DELETE', ONE),
        ('POST', f'{ONE}/confirm'),
    ),
    documented(
        'notices:all_projects', ADMIN, 'Get notices of the events of all projects.', ('PUT', ONE)
    ),
)
