# SPDX-License-Identifier: Apache-2.0
"""Accounts, grants, transfers and statements."""

from nova_market.api.policies.role import (
    ADMIN,
    MANAGER,
    MEMBER,
    READER,
    SERVICE_OR_ADMIN,
    SERVICE_OR_READER,
    documented,
)

RULES = (
    documented(
        'accounts:list',
        SERVICE_OR_READER,
        'Accounts and budgets of a project with their balances.',
        ('GET', '/v1/accounts'),
    ),
    documented(
        'accounts:list_all', SERVICE_OR_ADMIN, 'Those of all projects.', ('GET', '/v1/accounts')
    ),
    documented(
        'accounts:show',
        SERVICE_OR_READER,
        'One account with its balance.',
        ('GET', '/v1/accounts/{account_id}'),
    ),
    documented(
        'accounts:rename', MANAGER, "An account's name.", ('PATCH', '/v1/accounts/{account_id}')
    ),
    documented(
        'accounts:weigh',
        ADMIN,
        "A project's weight in what the operator hands out.",
        ('PATCH', '/v1/accounts/{account_id}'),
    ),
    documented(
        'accounts:grant',
        ADMIN,
        'New credits for an account, and taking them back.',
        ('POST', '/v1/accounts/{account_id}/grants'),
        ('POST', '/v1/accounts/{account_id}/revocations'),
    ),
    documented(
        'statements:show',
        READER,
        'Every posting of an account, and sums of them.',
        ('GET', '/v1/accounts/{account_id}/statement'),
        ('GET', '/v1/accounts/{account_id}/statement/sums'),
    ),
    documented(
        'transfers:create',
        MEMBER,
        'Move credits between accounts of one project.',
        ('POST', '/v1/transfers'),
    ),
    documented(
        'transfers:create_to_other',
        MANAGER,
        'Move credits to another project.',
        ('POST', '/v1/transfers'),
    ),
)
