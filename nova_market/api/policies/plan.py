# SPDX-License-Identifier: Apache-2.0
"""Migration plans, which name hosts and other projects' servers."""

from nova_market.api.policies.role import ADMIN, documented

ONE = '/v1/plans/{plan_id}'
RULES = (
    documented('plans:list', ADMIN, 'Migration plans.', ('GET', '/v1/plans')),
    documented('plans:show', ADMIN, 'A plan with its moves.', ('GET', ONE)),
    documented('plans:approve', ADMIN, 'Have a plan carried out.', ('POST', f'{ONE}/approve')),
    documented('plans:reject', ADMIN, 'Put a plan away.', ('POST', f'{ONE}/reject')),
)
