# SPDX-License-Identifier: Apache-2.0
"""Budgets: what a project sets aside for an application."""

from nova_market.api.policies.role import ADMIN, MEMBER, READER, documented

ONE = '/v1/budgets/{budget_id}'
RULES = (
    documented('budgets:list', READER, 'Budgets of a project.', ('GET', '/v1/budgets')),
    documented('budgets:list_all', ADMIN, 'Those of all projects.', ('GET', '/v1/budgets')),
    documented('budgets:show', READER, 'One budget.', ('GET', ONE)),
    documented('budgets:create', MEMBER, 'Open a budget.', ('POST', '/v1/budgets')),
    documented('budgets:update', MEMBER, 'Its name and its renewal.', ('PATCH', ONE)),
    documented('budgets:delete', MEMBER, 'Close an empty budget.', ('DELETE', ONE)),
)
