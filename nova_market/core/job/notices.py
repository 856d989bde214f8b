# SPDX-License-Identifier: Apache-2.0
"""Notifications about jobs, made of their events: `market.job.<action>`.

For users of SVMSched, section 4.2, who wait for their jobs. A lost notification does no harm: events stay.
"""

from collections.abc import Mapping, Sequence

from nova_market.core.job.record import JobAction, JobEvent, StoredJob
from nova_market.core.notice.notice import Notice

ACTIONS = frozenset(
    {
        JobAction.STARTED,
        JobAction.FINISHED,
        JobAction.FAILED,
        JobAction.CANCELLED,
        JobAction.PREEMPTED,
        JobAction.REQUEUED,
        JobAction.LOST,
        JobAction.SET_ASIDE,
    }
)
"""What is sent; other events, such as a wish of the owner's, are only kept."""


def job_notices(events: Sequence[JobEvent], jobs: Mapping[str, StoredJob]) -> list[Notice]:
    """Notices of these events, in their order. jobs: those of them that are still there, by id."""
    return [
        _notice(event, jobs[event.job_id])
        for event in events
        if event.action in ACTIONS and event.job_id in jobs
    ]


def _notice(event: JobEvent, job: StoredJob) -> Notice:
    return Notice(
        event=f'market.job.{event.action}',
        project_id=job.project_id,
        payload={
            **event.numbers,
            'job_id': job.id,
            'queue_id': job.queue_id,
            'name': job.name,
            'attempt': event.attempt,
            'exit_code': job.exit_code,
            'reason': event.reason,
        },
        key=f'job:{event.number}',
        at=event.at,
        user_id=job.user_id,
    )
