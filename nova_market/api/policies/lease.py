# SPDX-License-Identifier: Apache-2.0
"""Leases: of the project that has them."""

from nova_market.api.policies.role import (
    ADMIN,
    ANYBODY,
    BLAZAR_ROLE,
    MANAGER,
    MEMBER,
    READER,
    documented,
)

BLAZAR = '/v1/blazar'
ALL, ONE = '/v1/leases', '/v1/leases/{lease_id}'
RULES = (
    documented('leases:list', READER, 'Leases of a project.', ('GET', ALL)),
    documented('leases:list_all', ADMIN, 'Those of all projects.', ('GET', ALL)),
    documented('leases:create', MEMBER, 'Book a lease, paid by the project.', ('POST', ALL)),
    documented(
        'leases:show', READER, 'A lease and its events.', ('GET', ONE), ('GET', f'{ONE}/events')
    ),
    documented(
        'leases:change', MEMBER, 'Change or delete a lease.', ('PATCH', ONE), ('DELETE', ONE)
    ),
    documented('leases:give', MANAGER, 'Give a lease to another project.', ('POST', f'{ONE}/give')),
    documented(
        'leases:calendar',
        ANYBODY,
        'What hosts have free when. Whose the leases of others are is not shown.',
        ('GET', '/v1/lease-calendar'),
    ),
    documented(
        'leases:end_blazar', ADMIN, 'Delete a lease that Blazar has not made.', ('DELETE', ONE)
    ),
    documented(
        'leases:blazar',
        f'role:{BLAZAR_ROLE}',
        'Blazar pays its leases from the accounts of their projects: it spends for every project.',
        *(
            ('POST', f'{BLAZAR}/{one}')
            for one in (
                'check-create',
                'commit-create',
                'check-update',
                'commit-update',
                'on-end',
            )
        ),
    ),
    documented('leases:replan', ADMIN, 'Move future leases.', ('POST', '/v1/lease-replans')),
)
