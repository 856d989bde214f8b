# SPDX-License-Identifier: Apache-2.0
"""The part of `conn.market` that opens queues and submits jobs."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from openstack import exceptions

from nova_market.sdk.v1.job import Job, JobEvent, JobOutput
from nova_market.sdk.v1.market_proxy import MarketProxy
from nova_market.sdk.v1.microversion import JOBS, LIMITS, OWN_WORKERS
from nova_market.sdk.v1.queue import Queue, QueueMinute


class JobProxy(MarketProxy):
    """Queues and jobs: doc/source/specs/jobs.rst."""

    def queues(self, **query: Any) -> Iterator[Queue]:
        """Queues one may see."""
        return self._pages(Queue, **query)

    def get_queue(self, queue: str | Queue) -> Queue:
        """One queue, by name or id."""
        return self._get(Queue, queue)

    def create_queue(self, **attributes: Any) -> Queue:
        """Open a queue: `name`, `flavors` and `image` at least; its workers are made with your trust."""
        # as it is: a resource would leave out what it does not know, and the service refuses that
        answer = self.post('/queues', json=attributes, microversion=self._newest(LIMITS))
        return self._read(Queue, answer)

    def update_queue(self, queue: str, **changes: Any) -> Queue:
        """Change a queue; with `generation` only what was read."""
        version = self._newest(LIMITS)
        answer = self.patch(f'/queues/{queue}', json=changes, microversion=version)
        return self._read(Queue, answer)

    def accept_queue(self, queue: str, name: str | None = None) -> Queue:
        """Let your project call a queue of another project by this name, by default the queue's own."""
        body = {} if name is None else {'name': name}
        answer = self.put(f'/queues/{queue}/acceptance', json=body, microversion=OWN_WORKERS)
        return self._read(Queue, answer)

    def reject_queue(self, queue: str) -> None:
        """Let your project call it by no name any more."""
        answer = self.delete(f'/queues/{queue}/acceptance', microversion=OWN_WORKERS)
        exceptions.raise_from_response(answer)

    def delete_queue(self, queue: str | Queue, *, ignore_missing: bool = True) -> None:
        """Close a queue without jobs; its workers are deleted a while later."""
        self._delete(Queue, queue, ignore_missing=ignore_missing)

    def queue_stats(self, queue: str, **query: Any) -> Iterator[QueueMinute]:
        """What the jobs of a queue used and did in each minute, oldest first; `since` and `until` choose."""
        return self._pages(QueueMinute, queue_id=queue, **query)

    def jobs(self, *, states: Iterable[str] = (), **query: Any) -> Iterator[Job]:
        """Jobs, newest first, without scripts; `states`, `queue`, `name` and others choose."""
        if states:
            query['state'] = ','.join(states)
        return self._pages(Job, **query)

    def get_job(self, job: str | Job) -> Job:
        """One job with its script, environment and attempts."""
        return self._get(Job, job)

    def create_jobs(
        self, jobs: Sequence[Mapping[str, Any]], *, key: str | None = None
    ) -> Sequence[Job]:
        """Submit jobs, all of them or none; the same `key` submits them once however often it is sent.

        A job: `queue`, `script`, `time_limit` at least. The elements of an `array` are jobs of their own.
        """
        answer = self.post(
            '/jobs',
            json={'jobs': list(jobs)},
            headers={'Idempotency-Key': key or str(uuid.uuid4())},
            microversion=JOBS,
            connect_retries=3,
        )
        exceptions.raise_from_response(answer)
        connection = self._get_connection()
        return [Job.existing(connection=connection, **one) for one in answer.json()['jobs']]

    def cancel_job(self, job_id: str) -> Job:
        """Take a job from its queue, or end it where it runs; it is shown as it is then."""
        answer = self.delete(f'/jobs/{job_id}', microversion=JOBS)
        return self._read(Job, answer)

    def requeue_job(self, job_id: str) -> Job:
        """Let a job that runs or has ended wait again."""
        answer = self.post(f'/jobs/{job_id}/requeue', microversion=JOBS)
        return self._read(Job, answer)

    def job_output(self, job_id: str, **query: Any) -> JobOutput:
        """The last of what a job has written, of its newest attempt and rank 0 by default."""
        params = {name: value for name, value in query.items() if value is not None}
        answer = self.get(f'/jobs/{job_id}/output', params=params, microversion=JOBS)
        return self._read(JobOutput, answer)

    def job_events(self, job_id: str, **query: Any) -> Iterator[JobEvent]:
        """What happened to a job and why, newest first."""
        return self._pages(JobEvent, job_id=job_id, **query)
