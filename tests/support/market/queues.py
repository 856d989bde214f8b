# SPDX-License-Identifier: Apache-2.0
"""Queues and jobs through the API."""

from dataclasses import replace
from typing import Any

from nova_market.core.job.queue import QueueName, StoredQueue
from nova_market.core.job.record import StoredJob
from tests.support.job_records import QUOTAS, new_jobs
from tests.support.market.api import ALICE, Market

QUEUE = {'name': 'night', 'flavors': ['small', 'big'], 'image': 'debian-13'}
JOB_ENTRY = {'queue': 'night', 'script': '#!/bin/sh\ntrue\n', 'time_limit': 600}
MEMBER = f'member@{ALICE}'


def make_queue(market: Market, token: str = MEMBER, **parts: Any) -> dict[str, Any]:
    """A queue of Alice's; its submitters call it by its name."""
    answer = market.call('POST', '/v1/queues', token, json={**QUEUE, **parts})
    assert answer.status_code == 201, answer.json
    made: dict[str, Any] = answer.json['queue']
    for project in made['submitters']['projects']:
        name = QueueName(project_id=project, name=made['name'], user_id='u')
        market.stores.queues.accept(made['id'], name, 9)
    return made


def submit(
    market: Market, *entries: dict[str, Any], token: str = MEMBER, status: int = 201, **more: Any
) -> Any:
    """The jobs of a submission, or its error."""
    answer = market.call('POST', '/v1/jobs', token, json={'jobs': list(entries)}, **more)
    assert answer.status_code == status, answer.json
    return answer.json['jobs'] if status in {200, 201} else answer.json['errors'][0]


JOB = '00000000-0000-4000-8000-00000000bbbb'
NIGHT = '00000000-0000-4000-8000-00000000cccc'


def add_job(market: Market, **parts: Any) -> None:
    """A queue of Alice's, or with other parts, with a job of hers that waits."""
    queue = StoredQueue(
        id=NIGHT, name='night', project_id=ALICE, flavors=('small', 'big'), image='debian-13'
    )
    market.stores.queues.create(replace(queue, **parts), 9)
    job = StoredJob(
        id=JOB, queue_id=NIGHT, project_id=ALICE, user_id='member-user', flavor='small', cores=1.0,
        memory_mib=1024.0, time_limit=600,
    )  # fmt: skip
    market.stores.jobs.submit(new_jobs(job), QUOTAS)
