# SPDX-License-Identifier: Apache-2.0
"""What the service of jobs and its workers would leave in the stores, one job and one step at a time.

The commands and the documentation need jobs in every state, without a cloud that runs them.
"""

import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nova_market.core.job.queue import QueueMinute, StoredWorker, WorkerState
from nova_market.core.job.record import (
    AttemptState,
    JobAction,
    JobEvent,
    JobReason,
    JobState,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.store_values import AttemptReport, JobExplanation, JobStep
from tests.support.market.api_server import MarketService

ENDS = {0: (JobState.FINISHED, AttemptState.FINISHED, JobAction.FINISHED)}
FAILED = (JobState.FAILED, AttemptState.FAILED, JobAction.FAILED)


class JobService:
    """stores: of the API. wall: its clock, seconds since the epoch."""

    def __init__(self, stores: Any, wall: Callable[[], float]) -> None:
        self._stores, self._wall = stores, wall

    def waits(self, job: StoredJob, code: str, text: str, start: float | None = None) -> None:
        """The last pass did not start it."""
        reason = JobReason(code=code, text=text)
        explained = JobExplanation(job_id=job.id, reason=reason, expected_start=start)
        self._stores.jobs.explain([explained])

    def starts(self, job: StoredJob) -> None:
        """Its servers have been made, and its script runs in each of them."""
        now, number = self._wall(), job.attempt + 1
        # in one step, which nobody sees half of
        self._decide(
            job,
            JobState.WAITING,
            {
                'state': JobState.RUNNING, 'attempt': number, 'started_at': now, 'reason': None,
                'expected_start': None,
            },
            attempts=tuple(self._attempts(job, number, AttemptState.RUNNING)),
            workers=tuple(self._workers(job, number)),
            events=(
                _event(job, now, number, JobAction.STARTING, 'it fits'),
                _event(job, now, number, JobAction.STARTED, 'all of its servers have called'),
            ),
        )  # fmt: skip

    def writes(
        self, job: StoredJob, output: bytes, total: int | None = None, rank: int = 0
    ) -> None:
        """A heartbeat with the tail of its output."""
        self._stores.attempts.report(
            AttemptReport(
                job_id=job.id, number=job.attempt, rank=rank, worker_id=_worker(job, rank),
                at=self._wall(), state=AttemptState.RUNNING, output=output,
                output_total=len(output) if total is None else total,
            )
        )  # fmt: skip

    def ends(self, job: StoredJob, code: int, charged: int = 0) -> None:
        """All of its scripts have exited with this code."""
        now = self._wall()
        state, of_attempt, action = ENDS.get(code, FAILED)
        for rank in range(job.servers):
            self._stores.attempts.report(
                AttemptReport(
                    job_id=job.id, number=job.attempt, rank=rank, worker_id=_worker(job, rank), at=now,
                    state=of_attempt, exit_code=code,
                    usage={'cpu_seconds': 1.5, 'wall_seconds': now - job.started_at},
                )
            )  # fmt: skip
        text = f'exit code {code}'
        self._decide(
            job,
            JobState.RUNNING,
            {
                'state': state, 'ended_at': now, 'exit_code': code, 'charged': charged,
                'reason': JobReason(code='exit', text=text, numbers={'exit_code': code}),
            },
            events=(_event(job, now, job.attempt, action, text),),
        )  # fmt: skip

    def is_preempted(self, job: StoredJob) -> None:
        """It got its notice, has saved its work, and waits again."""
        now, number = self._wall(), job.attempt
        self._decide(
            job,
            JobState.RUNNING,
            {'state': JobState.WAITING, 'requeues': job.requeues + 1},
            attempts=tuple(self._attempts(job, number, AttemptState.PREEMPTED)),
            events=(
                _event(
                    job, now, number, JobAction.PREEMPTING, 'a production job needs its room',
                    notice=job.notice,
                ),
                _event(
                    job, now, number, JobAction.PREEMPTED, 'its checkpoint script has ended'
                ),
                _event(job, now, number, JobAction.REQUEUED, 'it waits again'),
            ),
        )  # fmt: skip

    def has_worked(self, queue_id: str, minutes: Mapping[int, Mapping[str, float]]) -> None:
        """Statistics: columns of QueueMinute by the number of the minute."""
        rows: Any = [
            QueueMinute(queue_id=queue_id, minute=number, **values)  # type: ignore[arg-type]
            for number, values in minutes.items()
        ]
        self._stores.queues.note(rows)

    def _decide(
        self, job: StoredJob, before: JobState, changed: Mapping[str, Any], **more: Any
    ) -> None:
        step = JobStep(job_id=job.id, before=before, changed=changed, **more)
        assert self._stores.jobs.decide([step]) == [job.id], f'{job.name} is not {before}'

    def _attempts(
        self, job: StoredJob, number: int, state: AttemptState
    ) -> Iterator[StoredAttempt]:
        now = self._wall()
        for rank in range(job.servers):
            yield StoredAttempt(
                job_id=job.id, number=number, rank=rank, worker_id=_worker(job, rank), state=state,
                created_at=now, started_at=now,
            )  # fmt: skip

    def _workers(self, job: StoredJob, number: int) -> Iterator[StoredWorker]:
        for rank in range(job.servers):
            yield StoredWorker(
                id=_worker(job, rank), queue_id=job.queue_id, flavor=job.flavor, cores=job.cores,
                memory_mib=job.memory_mib, disk_gib=job.disk_gib, state=WorkerState.BUSY,
                server_id=_worker(job, rank), job_id=job.id, attempt=number, rank=rank,
                created_at=self._wall(), seen_at=self._wall(),
            )  # fmt: skip


@contextmanager
def working(
    service: JobService, market: MarketService, find: Callable[[], StoredJob | None], code: int = 0
) -> Iterator[None]:
    """Meanwhile the next job is started before a client's second look at it, and ends before the third.

    find: the job, None until it is there. The job changes within the client's own request, so a client that
    looks sees every state once, however slow it or the machine is.
    """
    steps: list[Callable[[StoredJob], None]] = [
        lambda _job: None, service.starts, lambda job: service.ends(job, code),
    ]  # fmt: skip
    failed: list[Exception] = []

    def before(asked: str) -> None:
        if not (asked.startswith('GET') and '/jobs' in asked and steps):
            return
        try:
            if (job := find()) is not None:
                steps.pop(0)(job)
        except Exception as error:
            # in a thread of the server, where nobody would see it
            failed.append(error)

    usual, market.before = market.before, before
    try:
        yield
    finally:
        market.before = usual
        if failed:
            raise failed[0]


def _worker(job: StoredJob, rank: int) -> str:
    """The same id in each run of a test."""
    return str(uuid.UUID(hashlib.sha256(f'{job.id}/{rank}'.encode()).hexdigest()[:32]))


def _event(
    job: StoredJob, at: float, attempt: int, action: str, reason: str, **numbers: float
) -> JobEvent:
    return JobEvent(
        job_id=job.id, at=at, attempt=attempt, action=action, reason=reason, numbers=numbers
    )
