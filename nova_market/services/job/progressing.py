# SPDX-License-Identifier: Apache-2.0
"""What has happened to jobs is stored, and paid before their end is.

Implements rules J2 (jobs that come after others), J5 and F5 of doc/source/specs/jobs.rst (SVMSched, section
4.2.3). Each job is in a boundary of its own (R2 of doc/source/specs/passes.rst). Seconds since the epoch.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nova_market.core.job.charge import EndedRun, Settled, ended_run
from nova_market.core.job.dependency import release
from nova_market.core.job.part_fate import ActiveJob
from nova_market.core.job.progress import progress
from nova_market.core.job.queue import QueueState, StoredQueue, StoredWorker
from nova_market.core.job.record import (
    JobAction,
    JobEvent,
    JobReason,
    JobState,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.store_values import JobExplanation, JobStep
from nova_market.core.market.owner_server import OwnerServer
from nova_market.errors import BadRow
from nova_market.row_boundary import RowBoundary
from nova_market.services.job.billing import Billing
from nova_market.services.job.inputs import JobStores, active_jobs
from nova_market.services.job.settings import JobsSettings
from nova_market.services.job.worker_servers import ServerView

LOG = logging.getLogger(__name__)

BATCH = 200
"""Steps in one transaction: rows of jobs are locked until it ends, and their owners wait."""

NO_FUNDS = 'its project cannot pay another run'


class Progressing:
    """One pass after the other; remembers only which reasons it has written."""

    def __init__(
        self, stores: JobStores, billing: Billing, settings: JobsSettings, boundary: RowBoundary
    ) -> None:
        self._boundary = boundary
        self._stores = stores
        self._billing = billing
        self._settings = settings
        self._held: dict[str, str] = {}

    def forget(self) -> None:
        self._held = {}

    def release(self, now: float) -> list[JobStep]:
        """Jobs that are held no longer: they wait, or are cancelled; the steps that were written."""
        steps, reasons, texts = [], [], {}
        for one in self._stores.jobs.held():
            with self._boundary.row('job', one.id, 'release'):
                state, reason = release(one)
                if state is not JobState.HELD or reason is None:
                    steps.append(_released(one.id, state, reason, now))
                    continue
                texts[one.id] = reason.text
                if self._held.get(one.id) != reason.text:
                    reasons.append(JobExplanation(job_id=one.id, reason=reason))
        written = self._settled(steps, {}) if steps else []
        self.explain(reasons)
        self._held = texts
        return written

    def progress(
        self,
        queues: Sequence[StoredQueue],
        workers: Mapping[str, StoredWorker],
        view: ServerView,
        refused: Mapping[str, OwnerServer],
        now: float,
        since: float,
    ) -> list[JobStep]:
        """The next step of each active job; those that were written.

        refused: servers that the cloud has refused to make, by worker; since: as Listening.since
        """
        active = active_jobs(self._stores.jobs, queues, self._settings.limits)
        attempts = self._stores.attempts.attempts([job.id for job in active])
        reuse = {one.id: one.reuse and one.state is not QueueState.DELETING for one in queues}
        servers = {**refused, **view.by_worker}
        steps = []
        for job in self.readable(active):
            with self._boundary.row('job', job.id, 'progress'):
                seen = ActiveJob(
                    job=job,
                    attempts=attempts.get(job.id, ()),
                    workers=workers,
                    reuse=reuse.get(job.queue_id, False),
                )
                self._check_workers(seen)
                step = progress(
                    seen,
                    servers,
                    now=now,
                    listening_since=since,
                    pace=self._settings.pace,
                    settings=self._settings.progress,
                    unknown=view.unknown,
                    hosts=view.hosts,
                )
                if step is not None:
                    steps.append(step)
                else:
                    self._boundary.works('job', job.id, 'end', 'charge', 'pay', 'store')
        return self._settled(steps, attempts) if steps else []

    def readable(self, jobs: Sequence[StoredJob]) -> list[StoredJob]:
        """Those of which everything could be read: without its attempts a job would be taken to be lost."""
        unread = self._boundary.unread('job')
        return [one for one in jobs if one.id not in unread]

    def store(self, steps: Sequence[JobStep]) -> list[JobStep]:
        """Those that were written, each only if its job is still where it was."""
        found: list[JobStep] = []
        for start in range(0, len(steps), BATCH):
            part = steps[start : start + BATCH]
            done = self._boundary.batch('job', part, _job_of, 'store', self._stores.jobs.decide)
            written = frozenset(done)
            found += [step for step in part if step.job_id in written]
        for step in found:
            for event in step.events:
                LOG.info('job %s: %s: %s', event.job_id, event.action, event.reason)
        return found

    def explain(self, reasons: Sequence[JobExplanation]) -> None:
        """Set why these jobs wait."""

        def write(some: Sequence[JobExplanation]) -> Sequence[None]:
            self._stores.jobs.explain(some)
            return ()

        self._boundary.batch('job', reasons, _job_of, 'explain', write)

    def _check_workers(self, seen: ActiveJob) -> None:
        """:raises BadRow: one of its workers is there, and cannot be read."""
        for one in seen.parts:
            if one.worker_id in self._boundary.unread('worker'):
                raise BadRow(f'its worker {one.worker_id} cannot be read')

    def _settled(
        self, steps: Sequence[JobStep], attempts: Mapping[str, Sequence[StoredAttempt]]
    ) -> list[JobStep]:
        """Pay what ends, then store it: whoever is killed in between pays nothing twice."""
        found: list[JobStep] = []
        for start in range(0, len(steps), BATCH):
            part = steps[start : start + BATCH]
            runs, unpaid = self._runs(part, attempts)
            settled = self._billing.settle(runs)
            unpaid |= {run.job.id for run in runs} - settled.keys()
            paid = [step for step in part if step.job_id not in unpaid]
            found += self.store([_with(step, settled.get(step.job_id)) for step in paid])
        return found

    def _runs(
        self, steps: Sequence[JobStep], attempts: Mapping[str, Sequence[StoredAttempt]]
    ) -> tuple[list[EndedRun], set[str]]:
        """(what these steps end, jobs of which that cannot be known)."""
        ending = [step for step in steps if 'state' in step.changed]
        jobs = self._stores.jobs.by_ids([step.job_id for step in ending])
        displacers = self._stores.jobs.by_ids(
            sorted({one.displaced_by for one in jobs.values() if one.displaced_by})
        )
        queues: dict[str, StoredQueue | None] = {}
        found, unknown = [], {step.job_id for step in ending}
        for step in ending:
            with self._boundary.row('job', step.job_id, 'end'):
                job = jobs.get(step.job_id)
                self._check_read(step.job_id, job)
                if job is not None and job.queue_id not in queues:
                    queues[job.queue_id] = self._stores.queues.queue(job.queue_id)
                queue = queues[job.queue_id] if job is not None else None
                if job is not None and queue is not None and job.state is step.before:
                    run = ended_run(step, job, attempts.get(job.id, ()), queue)
                    if run is not None:
                        found.append(replace(run, displacer=displacers.get(job.displaced_by)))
                unknown.discard(step.job_id)
        return found, unknown

    def _check_read(self, job_id: str, job: StoredJob | None) -> None:
        """:raises BadRow: it, or the one that displaced it, is there and cannot be read."""
        unread = self._boundary.unread('job')
        for name in (job_id, job.displaced_by if job is not None else ''):
            if name in unread:
                raise BadRow(f'job {name} cannot be read')


def _job_of(one: JobStep | JobExplanation) -> str:
    return one.job_id


def _with(step: JobStep, settled: Settled | None) -> JobStep:
    """The step with what was paid; a job whose next run cannot be paid ends instead of waiting."""
    if settled is None:
        return step
    changed = {**step.changed, **settled.changed}
    if settled.funds:
        return replace(step, changed=changed)
    ends = max((event.at for event in step.events), default=0.0)
    changed |= {
        'state': JobState.FAILED,
        'ended_at': ends,
        'reason': JobReason(code='funds', text=NO_FUNDS),
    }
    events = tuple(
        replace(event, action=JobAction.FAILED, reason=NO_FUNDS)
        if event.action == JobAction.REQUEUED
        else event
        for event in step.events
    )
    return replace(step, changed=changed, events=events)


def _released(job_id: str, state: JobState, reason: JobReason | None, now: float) -> JobStep:
    if state is JobState.WAITING:
        return JobStep(
            job_id=job_id,
            before=JobState.HELD,
            changed={'state': state, 'reason': None},
            events=(
                JobEvent(job_id=job_id, at=now, action='released', reason='nothing holds it up'),
            ),
        )
    text = reason.text if reason is not None else ''
    return JobStep(
        job_id=job_id,
        before=JobState.HELD,
        changed={'state': state, 'reason': reason, 'ended_at': now, 'expected_start': None},
        events=(JobEvent(job_id=job_id, at=now, action=JobAction.CANCELLED, reason=text),),
    )
