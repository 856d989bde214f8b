# SPDX-License-Identifier: Apache-2.0
"""Jobs: of the project that submitted them, and of the project of their queue."""

from nova_market.api.policies.role import ADMIN, MEMBER, READER, documented

ONE = '/v1/jobs/{job_id}'
SHOWN = (('GET', ONE), ('GET', f'{ONE}/output'), ('GET', f'{ONE}/events'))
CHANGED = (('DELETE', ONE), ('POST', f'{ONE}/requeue'))
RULES = (
    documented('jobs:list', READER, 'Jobs of a project.', ('GET', '/v1/jobs')),
    documented('jobs:list_all', ADMIN, 'Those of all projects.', ('GET', '/v1/jobs')),
    documented(
        'jobs:list_queue',
        READER,
        "All jobs of a queue, whoever submitted them; the target is the queue's project.",
        ('GET', '/v1/jobs'),
    ),
    documented(
        'jobs:create',
        MEMBER,
        'Submit jobs to queues that take those of the project.',
        ('POST', '/v1/jobs'),
    ),
    documented(
        'jobs:prioritize',
        MEMBER,
        "Submit jobs that go before others; the target is the queue's project.",
        ('POST', '/v1/jobs'),
    ),
    documented('jobs:show', READER, 'A job: script, attempts, output, events.', *SHOWN),
    documented(
        'jobs:show_queue',
        READER,
        "The same; the target is the project of the job's queue.",
        *SHOWN,
    ),
    documented(
        'jobs:show_host', ADMIN, 'The hosts of its workers, shown to nobody else.', ('GET', ONE)
    ),
    documented('jobs:change', MEMBER, 'Cancel or requeue a job.', *CHANGED),
    documented(
        'jobs:change_queue',
        MEMBER,
        "The same; the target is the project of the job's queue.",
        *CHANGED,
    ),
)
