# SPDX-License-Identifier: Apache-2.0
"""Which parts of an attempt the service ends itself, and why; and what it knows for that.

Implements the service's half of rule J5 of doc/source/specs/jobs.rst and of JW8 of
doc/source/specs/worker.rst (SVMSched, section 4.2.3); the workers' half is core.job.attempt. A part ends

- CANCELLED or PREEMPTED: its job is to end, and it has not begun, or its notice is over
- LOST: its server is gone, could not be made or has never called; or its worker was silent for too long
- FAILED: it is past its time limit and its notice, and was heard of until then, or is heard of still

Nothing follows from silence while the API did not answer (`listening_since`), nor from the absence of a
server where its part of the cloud did not answer. Seconds of the service's clock.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from nova_market.core.job.attempt import KEPT, WorkerPace, is_lost, last_end, last_notice
from nova_market.core.job.cause import silenced_by_cloud
from nova_market.core.job.queue import DesiredWorkerState, StoredWorker
from nova_market.core.job.record import (
    OPEN_ATTEMPT,
    AttemptState,
    JobState,
    JobWish,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.market.inventory import CloudHost
from nova_market.core.market.owner_server import OwnerServer, ServerState

DOUBT = 3
"""Times the silence of a lost worker, within which Nova finds out that a host has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressSettings:
    """Seconds.

    start_timeout: from the order to the first call of a new worker, boot included; and until a server is
                   suspended, shelved or back
    margin:        over a notice and over a time limit, before the service ends a part itself
    first_pause, longest_pause: before a job is started again whose servers could not be made; doubled from
                   one such start to the next
    """

    start_timeout: float = 900.0
    margin: float = 15.0
    first_pause: float = 30.0
    longest_pause: float = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveJob:
    """A job that is active, and what is stored of it.

    attempts: all parts of all of its attempts; workers: by id, at least those of the newest attempt
    reuse:    a worker whose job has ended may run another one
    """

    job: StoredJob
    attempts: Sequence[StoredAttempt]
    workers: Mapping[str, StoredWorker]
    reuse: bool = True

    @property
    def parts(self) -> list[StoredAttempt]:
        """Of the newest attempt, by rank."""
        return [one for one in self.attempts if one.number == self.job.attempt]

    @property
    def rests(self) -> bool:
        """Is it preempted with its servers kept, or coming back from that?"""
        kept = self.job.preempt_action in KEPT and self.job.wish is JobWish.RUN
        open_ = [one.state for one in self.parts if one.state in OPEN_ATTEMPT]
        return kept and bool(open_) and all(one is AttemptState.PREEMPTING for one in open_)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known beside the rows of one job.

    servers, hosts: by the id of their worker
    unknown: workers of which nothing is known, None: all of them
    listening_since: since when the API has answered without a gap
    """

    servers: Mapping[str, OwnerServer]
    hosts: Mapping[str, CloudHost]
    unknown: Collection[str] | None
    now: float
    listening_since: float
    pace: WorkerPace
    settings: ProgressSettings


class StartFailure(StrEnum):
    """Why a part has never begun."""

    NO_SERVER = 'no_server'
    """Its server could not be made, or was deleted. It is nobody's fault, and no retry is taken for it."""

    NOT_CALLED = 'not_called'
    """There is a server, and no agent calls: its image or its network may be wrong."""


def server_of(worker: StoredWorker, known: Circumstances) -> OwnerServer | None:
    """The worker's server; None: there is none, or nothing is known of it."""
    found = known.servers.get(worker.id)
    return None if found is None or found.state is ServerState.UNKNOWN else found


def is_gone(worker: StoredWorker | None, known: Circumstances) -> bool:
    """Whether there is no such worker any more, or its server was deleted."""
    if worker is None:
        return True
    if known.unknown is None or worker.id in known.unknown:
        return False
    server = known.servers.get(worker.id)
    if server is None:
        return bool(worker.server_id)
    return server.state is ServerState.DELETING


def start_failure(
    active: ActiveJob, part: StoredAttempt, known: Circumstances
) -> tuple[StartFailure, str] | None:
    """Why this part, which has not begun, never will; None: it may still."""
    worker = active.workers.get(part.worker_id)
    if worker is None or is_gone(worker, known):
        return StartFailure.NO_SERVER, 'its server is gone'
    server = server_of(worker, known)
    if server is not None and server.state is ServerState.FAILED:
        fault = f': {server.fault}' if server.fault else ''
        return StartFailure.NO_SERVER, f'its server could not be made{fault}'
    booted = worker.seen_at > 0.0
    allowed = known.pace.silence if booted else known.settings.start_timeout
    since = max(part.created_at, worker.seen_at, known.listening_since, worker.retry_at)
    if known.now - since <= allowed:
        return None
    return StartFailure.NOT_CALLED, f'its worker has not called for {known.now - since:.0f} s'


def judged(active: ActiveJob, part: StoredAttempt, known: Circumstances) -> StoredAttempt:
    """The part as the service has it end now; the same one where it goes on or has ended."""
    if part.state not in OPEN_ATTEMPT:
        return part
    if part.state is AttemptState.STARTING:
        found = _not_begun(active, part, known)
    elif active.rests:
        found = _at_rest(active, part, known)
    else:
        found = _under_way(active, part, known)
    if found is None:
        return part
    state, text = found
    by_cloud = state is AttemptState.LOST and _is_clouds(active.workers.get(part.worker_id), known)
    rested = at_rest(active, known.now)
    return replace(
        part, state=state, ended_at=known.now, text=text, by_cloud=by_cloud,
        excluded=part.excluded + rested,
    )  # fmt: skip


def at_rest(active: ActiveJob, now: float) -> float:
    """Seconds since the job's state was changed in which its servers were at rest, or came back."""
    resting = active.job.state is JobState.SUSPENDED
    back = active.job.state is JobState.STARTING and active.rests
    return max(now - active.job.changed_at, 0.0) if resting or back else 0.0


def _is_clouds(worker: StoredWorker | None, known: Circumstances) -> bool:
    """Whether Nova's record says why this worker is lost."""
    if worker is None or is_gone(worker, known):
        return True
    host = known.hosts.get(worker.id)
    failed = host is not None and not host.answering
    return failed or silenced_by_cloud(server_of(worker, known))


def _may_have_failed(worker: StoredWorker, known: Circumstances) -> bool:
    """Whether its host was not heard of since the worker was, and Nova has not said yet that it is down."""
    host = known.hosts.get(worker.id)
    waited = known.now - worker.seen_at
    return (
        host is not None
        and host.answering
        and host.reported_at <= worker.seen_at
        and waited <= DOUBT * known.pace.silence
    )


def _not_begun(
    active: ActiveJob, part: StoredAttempt, known: Circumstances
) -> tuple[AttemptState, str] | None:
    if active.job.wish is JobWish.CANCEL:
        return AttemptState.CANCELLED, 'cancelled before it had begun'
    if active.job.wish is JobWish.REQUEUE or active.job.state is JobState.PREEMPTING:
        return AttemptState.PREEMPTED, 'ended before it had begun'
    failure = start_failure(active, part, known)
    return None if failure is None else (AttemptState.LOST, failure[1])


def _at_rest(
    active: ActiveJob, part: StoredAttempt, known: Circumstances
) -> tuple[AttemptState, str] | None:
    """Its worker is silent because its server is, or will be, at rest."""
    worker = active.workers.get(part.worker_id)
    server = None if worker is None else server_of(worker, known)
    if is_gone(worker, known):
        return AttemptState.LOST, 'its server is gone'
    if server is not None and server.state is ServerState.FAILED:
        return AttemptState.LOST, f'its server has failed: {server.fault}'
    if active.job.state is JobState.SUSPENDED:
        return None
    waited = known.now - max(active.job.changed_at, known.listening_since)
    if waited <= known.settings.start_timeout:
        return None
    if active.job.state is JobState.STARTING:
        return AttemptState.LOST, f'its server has not come back for {waited:.0f} s'
    return AttemptState.PREEMPTED, f'its server could not be put to rest in {waited:.0f} s'


def _under_way(
    active: ActiveJob, part: StoredAttempt, known: Circumstances
) -> tuple[AttemptState, str] | None:
    job, worker, now = active.job, active.workers.get(part.worker_id), known.now
    if worker is None or is_gone(worker, known):
        return AttemptState.LOST, 'its server is gone'
    if job.state is JobState.PREEMPTING:
        notice = max(job.changed_at, known.listening_since) + job.notice
        last = max(last_end(job, part), known.listening_since)
        if now <= min(notice, last) + known.settings.margin:
            return None
        cancelled = job.wish is JobWish.CANCEL
        state = AttemptState.CANCELLED if cancelled else AttemptState.PREEMPTED
        return state, f'it had not ended within its notice of {job.notice} s'
    listening = max(known.listening_since, job.changed_at)
    heard = max(part.reported_at, part.started_at)
    last = last_end(job, part)
    if now > last + known.settings.margin:
        limit = last - last_notice(job)
        waited = now - known.listening_since > known.pace.silence
        if waited and heard + known.pace.silence >= limit:
            return (
                AttemptState.FAILED,
                f'time limit: its worker has not ended it after {job.time_limit} s',
            )
    if is_lost(part, worker, now, listening, known.pace) and not _may_have_failed(worker, known):
        return AttemptState.LOST, f'its worker was silent for {known.pace.silence:.0f} s'
    return None


def stays(worker: StoredWorker, known: Circumstances) -> bool:
    """Whether its server is there, and is to stay."""
    return worker.intention is DesiredWorkerState.PRESENT and not is_gone(worker, known)
