# SPDX-License-Identifier: Apache-2.0
"""Bags of tasks: of the project that created them."""

from nova_market.api.policies.role import ADMIN, MEMBER, READER, documented

ALL, ONE = '/v1/bags', '/v1/bags/{bag_id}'
RULES = (
    documented('bags:list', READER, 'Bags of a project.', ('GET', ALL)),
    documented('bags:list_all', ADMIN, 'Those of all projects.', ('GET', ALL)),
    documented(
        'bags:create',
        MEMBER,
        'Create a bag: it accepts offers, which submits jobs and spends credits of the project.',
        ('POST', ALL),
        ('POST', f'{ONE}/tasks'),
    ),
    documented(
        'bags:show',
        READER,
        'A bag, its tasks and events.',
        ('GET', ONE),
        ('GET', f'{ONE}/tasks'),
        ('GET', f'{ONE}/events'),
    ),
    documented('bags:change', MEMBER, 'Change or cancel a bag.', ('PATCH', ONE), ('DELETE', ONE)),
)
