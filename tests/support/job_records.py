# SPDX-License-Identifier: Apache-2.0
"""Queues and jobs as a test needs them: everything that it does not name has a plain value."""

from uuid import NAMESPACE_OID, uuid5

import numpy as np

from nova_market.core.job.queue import StoredQueue, StoredWorker
from nova_market.core.job.record import JobContent, JobKind, StoredAttempt, StoredJob
from nova_market.core.job.store_values import JobQuotas, NewJobs, WaitingRows

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


def waiting_rows(jobs=()):
    """These jobs as the columns of all that wait."""
    return WaitingRows(
        ids=tuple(one.id for one in jobs),
        queue_ids=tuple(one.queue_id for one in jobs),
        project_ids=tuple(one.project_id for one in jobs),
        flavors=tuple(one.flavor for one in jobs),
        reasons=tuple(one.reason.code if one.reason else '' for one in jobs),
        number=np.array([one.number for one in jobs], dtype=np.int64),
        best_effort=np.array([one.kind is JobKind.BEST_EFFORT for one in jobs], dtype=np.bool_),
        by_offer=np.array([one.by_offer for one in jobs], dtype=np.bool_),
        priority=np.array([one.priority for one in jobs], dtype=np.int64),
        weight=np.array([one.weight for one in jobs]),
        amount=np.array(
            [[getattr(one, axis) for one in jobs] for axis in ('cores', 'memory_mib', 'disk_gib')]
        ),
        servers=np.array([one.servers for one in jobs], dtype=np.int64),
        time_limit=np.array([float(one.time_limit) for one in jobs]),
        submitted_at=np.array([one.submitted_at for one in jobs]),
        not_before=np.array([one.not_before for one in jobs]),
        value=np.array([one.value for one in jobs], dtype=np.int64),
        expected_start=np.array([one.expected_start for one in jobs], dtype=np.float64),
    )
