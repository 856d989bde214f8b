# SPDX-License-Identifier: Apache-2.0
"""The rules that others are made of, and how a rule is written down."""

from oslo_policy import policy

OWN = 'project_id:%(project_id)s'

BLAZAR_ROLE = 'market_blazar'
"""Of the one account that makes the calls of Blazar: who has it can spend for every project."""

ADMIN = 'rule:market_admin'
READER = 'rule:market_reader'
MEMBER = 'rule:market_member'
MANAGER = 'rule:market_manager'
SERVICE_OR_ADMIN = 'rule:market_service_or_admin'
SERVICE_OR_READER = 'rule:market_service_or_reader'
ANYBODY = 'rule:market_anybody'

RULES = (
    policy.RuleDefault('market_admin', 'role:admin', 'Runs the market.'),
    policy.RuleDefault(
        'market_reader', f'{ADMIN} or (role:reader and {OWN})', 'Sees what is of the project.'
    ),
    policy.RuleDefault(
        'market_member', f'{ADMIN} or (role:member and {OWN})', 'Acts for the project.'
    ),
    policy.RuleDefault(
        'market_manager',
        f'{ADMIN} or (role:manager and {OWN})',
        "Gives the project's credits away.",
    ),
    policy.RuleDefault(
        'market_service_or_admin',
        f'{ADMIN} or role:service',
        'Other services read what they decide by, of all projects.',
    ),
    policy.RuleDefault(
        'market_service_or_reader',
        f'{READER} or role:service',
        'Other services read what they decide by, of every project.',
    ),
    policy.RuleDefault(
        'market_anybody',
        'role:reader or role:service or role:admin',
        'Everybody with a role in some project.',
    ),
)


def documented(
    name: str, check: str, text: str, *operations: tuple[str, str]
) -> policy.DocumentedRuleDefault:
    """A rule of the API; operations: (method, path) each."""
    return policy.DocumentedRuleDefault(
        name=f'market:{name}',
        check_str=check,
        description=text,
        operations=[{'method': method, 'path': path} for method, path in operations],
        scope_types=['project'],
    )
