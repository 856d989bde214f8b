# SPDX-License-Identifier: Apache-2.0
"""Queues: where jobs go, and what share of the cloud they get."""

from nova_market.api.policies.role import ADMIN, MEMBER, READER, documented

ONE = '/v1/queues/{queue_id}'
RULES = (
    documented(
        'queues:list',
        READER,
        'Queues of a project, and those that take jobs of it.',
        ('GET', '/v1/queues'),
    ),
    documented('queues:list_all', ADMIN, 'Those of all projects.', ('GET', '/v1/queues')),
    documented(
        'queues:show',
        READER,
        'One queue and its statistics; for its project, and for those that may submit to it.',
        ('GET', ONE),
        ('GET', f'{ONE}/stats'),
    ),
    documented(
        'queues:show_cloud',
        ADMIN,
        'Statistics of all queues together.',
        ('GET', f'{ONE}/stats'),
    ),
    documented(
        'queues:create',
        MEMBER,
        "Make a queue; its workers are made with the caller's roles.",
        ('POST', '/v1/queues'),
    ),
    documented(
        'queues:set_share',
        ADMIN,
        'Set the share of a queue, and the aggregate that it is of.',
        ('POST', '/v1/queues'),
        ('PATCH', ONE),
    ),
    documented('queues:update', MEMBER, 'Everything else of a queue.', ('PATCH', ONE)),
    documented(
        'queues:accept',
        MEMBER,
        'Give a queue of another project that takes its jobs a name in the project, or take it back.',
        ('PUT', f'{ONE}/acceptance'),
        ('DELETE', f'{ONE}/acceptance'),
    ),
    documented('queues:delete', MEMBER, 'Delete it with its workers.', ('DELETE', ONE)),
)
