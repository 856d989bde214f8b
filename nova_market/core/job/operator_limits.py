# SPDX-License-Identifier: Apache-2.0
"""The operator's limits of queues and jobs, and what of a stored value is in force under them.

Implements rule J11 of doc/source/specs/jobs.rst. Of two limits the lower one is in force; what was stored
before the operator lowered a limit stays stored, and has no effect beyond it. Seconds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from nova_market.core.job.queue import SHORT_BELOW, QueueLimits, StoredQueue
from nova_market.core.job.record import JobKind, PreemptAction, StoredJob

LIMITED = {
    'notice': 'max_notice',
    'least_run_time': 'max_least_run_time',
    'retries': 'max_retries',
}
"""What a submitter gives, and the limit that a queue and the operator set for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """What no owner of a queue can exceed, from group [jobs].

    max_short_below: largest `short_below` of a queue; the others: of a job
    """

    max_short_below: int = SHORT_BELOW
    max_notice: int = 600
    max_least_run_time: int = 3600
    max_retries: int = 10


def limits_in_force(limits: QueueLimits, most: JobLimits) -> QueueLimits:
    """A queue's limits, each at most the operator's."""
    return replace(
        limits,
        **{
            name: operators if own is None else min(own, operators)
            for name in LIMITED.values()
            for own, operators in [(getattr(limits, name), getattr(most, name))]
        },
    )


def limits_for(queue: StoredQueue | None, most: JobLimits) -> QueueLimits:
    """What limits the jobs of a queue, in force. None: it is gone, and sets no limit of its own."""
    return limits_in_force(QueueLimits() if queue is None else queue.limits, most)


def queue_in_force(queue: StoredQueue, most: JobLimits) -> StoredQueue:
    """The queue with what counts of its limits."""
    return replace(
        queue,
        short_below=min(queue.short_below, most.max_short_below),
        limits=limits_for(queue, most),
    )


def job_in_force(job: StoredJob, limits: QueueLimits) -> StoredJob:
    """The job with what counts of its values. limits: of its queue, in force.

    A best-effort job that asks to be suspended is shelved: a suspended server keeps its room, and the
    operator's limits are there to get that back.
    """
    changed: dict[str, Any] = {
        name: most
        for name, limit in LIMITED.items()
        if (most := getattr(limits, limit)) is not None and getattr(job, name) > most
    }
    if job.kind is JobKind.BEST_EFFORT and job.preempt_action is PreemptAction.SUSPEND:
        changed['preempt_action'] = PreemptAction.SHELVE
    return replace(job, **changed) if changed else job


def jobs_in_force(
    jobs: Iterable[StoredJob], queues: Iterable[StoredQueue], most: JobLimits
) -> list[StoredJob]:
    """Jobs with what counts of their values. queues: theirs, those that are not gone."""
    operators = limits_for(None, most)
    limits = {one.id: limits_for(one, most) for one in queues}
    return [job_in_force(one, limits.get(one.queue_id, operators)) for one in jobs]
