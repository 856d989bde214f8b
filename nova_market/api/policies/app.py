# SPDX-License-Identifier: Apache-2.0
"""Applications: what a project has the controller run."""

from nova_market.api.policies.role import ADMIN, MEMBER, READER, documented

ONE = '/v1/apps/{app_id}'
RULES = (
    documented('apps:list', READER, 'Applications of a project.', ('GET', '/v1/apps')),
    documented('apps:list_all', ADMIN, 'Those of all projects.', ('GET', '/v1/apps')),
    documented(
        'apps:show',
        READER,
        'One application: servers, statistics, events.',
        ('GET', ONE),
        ('GET', f'{ONE}/events'),
    ),
    documented(
        'apps:create',
        MEMBER,
        'Have an application run; the caller hands his roles on to the controller. Check a template.',
        ('POST', '/v1/apps'),
        ('POST', '/v1/apps/validate'),
    ),
    documented('apps:update', MEMBER, 'Its objective, budget, parameters.', ('PATCH', ONE)),
    documented('apps:suspend', MEMBER, 'Suspend its servers.', ('POST', f'{ONE}/suspend')),
    documented('apps:resume', MEMBER, 'Let it run again.', ('POST', f'{ONE}/resume')),
    documented('apps:delete', MEMBER, 'Delete it with its servers.', ('DELETE', ONE)),
)
