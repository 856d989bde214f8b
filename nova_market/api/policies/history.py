# SPDX-License-Identifier: Apache-2.0
"""What rounds decided: allocations, explanations, heaviness, hosts."""

from nova_market.api.policies.role import (
    ADMIN,
    ANYBODY,
    READER,
    SERVICE_OR_ADMIN,
    SERVICE_OR_READER,
    documented,
)

RULES = (
    documented(
        'rounds:show',
        ANYBODY,
        "Rounds and their explanations, with the lines of one's own servers.",
        ('GET', '/v1/rounds'),
        ('GET', '/v1/rounds/{period}'),
    ),
    documented(
        'rounds:show_all',
        ADMIN,
        "Everything a round knew and decided, with all projects' servers and hosts.",
        ('GET', '/v1/rounds/{period}'),
    ),
    documented(
        'allocations:list',
        READER,
        "Allocations and charges of a project's servers in a round.",
        ('GET', '/v1/rounds/{period}/allocations'),
    ),
    documented(
        'allocations:list_all',
        ADMIN,
        'Those of all projects.',
        ('GET', '/v1/rounds/{period}/allocations'),
    ),
    documented(
        'allocations:show_server',
        READER,
        'Allocations and charges of one server.',
        ('GET', '/v1/servers/{server_id}/allocations'),
    ),
    documented(
        'allocations:show_host',
        ADMIN,
        'The name of the host a server ran on, which is shown to nobody else.',
        ('GET', '/v1/rounds/{period}/allocations'),
        ('GET', '/v1/servers/{server_id}/allocations'),
    ),
    documented(
        'heaviness:show',
        SERVICE_OR_READER,
        'How heavy a project weighs on the cloud.',
        ('GET', '/v1/heaviness'),
    ),
    documented(
        'heaviness:show_all', SERVICE_OR_ADMIN, 'That of all projects.', ('GET', '/v1/heaviness')
    ),
    documented('hosts:list', ADMIN, 'Hosts in the newest round.', ('GET', '/v1/hosts')),
)
