# SPDX-License-Identifier: Apache-2.0
"""Queues and jobs as a test needs them: everything that it does not name has a plain value."""

from uuid import NAMESPACE_OID, uuid5

from nova_market.core.job.queue import StoredQueue, StoredWorker
from nova_market.core.job.record import JobContent, StoredAttempt, StoredJob
from nova_market.core.job.store_values import JobQuotas, NewJobs

QUOTAS = JobQuotas(most_waiting=100)


def id_of(name):
    """A UUID that is always the same for a name."""
    return str(uuid5(NAMESPACE_OID, name))


def queue(name='night', project='red', **more):
    given = {'flavors': ('small',), 'image': 'debian-13', 'policy': 'flexible'}
    return StoredQueue(id=id_of(name), name=name, project_id=project, **given | more)


def job(name='a', queue='night', project='red', **more):
    given = {'flavor': 'small', 'cores': 1.0, 'memory_mib': 1024.0, 'time_limit': 600}
    return StoredJob(
        id=id_of(name), queue_id=id_of(queue), project_id=project, user_id='u', name=name,
        **given | more,
    )  # fmt: skip


def new_jobs(*jobs, script='#!/bin/sh\ntrue\n', digest='d'):
    """A submission; every job runs the same."""
    ids = dict.fromkeys(one.content_id for one in jobs)
    contents = tuple(JobContent(id=name, script=script, digest=digest) for name in ids)
    return NewJobs(jobs=jobs, contents=contents)


def attempt(name='a', number=1, worker='w', **more):
    return StoredAttempt(job_id=id_of(name), number=number, worker_id=id_of(worker), **more)


def worker(name='w', queue='night', **more):
    given = {'flavor': 'small', 'cores': 1.0, 'memory_mib': 1024.0}
    return StoredWorker(id=id_of(name), queue_id=id_of(queue), **given | more)
