# SPDX-License-Identifier: Apache-2.0
"""One server's part of an attempt: what each message of its worker does to it.

Implements rule J5 of doc/source/specs/jobs.rst in the terms of doc/source/specs/worker.rst (JW3 to JW8), for
SVMSched, section 4.2.3 (execution of a job in a virtual machine started for it). A pure state machine: the
time, the rows and the settings are arguments; what is to be written is returned. Units: seconds of the
service's clock; durations of a guest are compared with it and never replace it.

    STARTING --start--> RUNNING --notice (by the service)--> PREEMPTING
    any of these --result--> FINISHED, FAILED, PREEMPTED or CANCELLED
    RUNNING, PREEMPTING --silent, or the agent asked for a job--> LOST
    LOST --message of its worker, while nothing has been started again--> RUNNING
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from nova_market.core.job.queue import DesiredWorkerState, StoredWorker
from nova_market.core.job.record import (
    OPEN_ATTEMPT,
    QUEUED,
    AttemptState,
    JobWish,
    PreemptAction,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.worker_message import End, Result, Usage

SLACK = 5.0
"""Seconds that a measurement of the guest may exceed ours by: messages take time, and clocks drift."""

LAST_NOTICE = 10
"""Seconds of the notice that go beyond a time limit, at most: what a run may cost is held until the limit."""

CPU_TOLERANCE = 1.05
"""Kernels count CPU time in ticks: a few per cent more than cores times wall time is no lie."""

CLOCK_OFF = 300.0
"""Seconds by which a guest's clock may differ before its jobs are marked: times in their files are wrong."""


DONE = (AttemptState.FINISHED, AttemptState.FAILED)
"""Its script came to its own end."""

KEPT = (PreemptAction.SUSPEND, PreemptAction.SHELVE)
BY_ORDER = {'stop': AttemptState.PREEMPTED, 'cancel': AttemptState.CANCELLED}


class Order(StrEnum):
    """What an answer tells an agent to do."""

    RUN = 'run'
    WAIT = 'wait'
    EXIT = 'exit'
    GO_ON = 'go_on'
    STOP = 'stop'
    """Preempted: SIGTERM, then the checkpoint script, and SIGKILL when the notice is over."""

    CANCEL = 'cancel'
    """SIGTERM, and SIGKILL when the notice is over."""


class Fate(StrEnum):
    """What becomes of a message about an attempt."""

    TAKEN = 'taken'
    REPEATED = 'repeated'
    """It is the result that is stored: the same answer again."""

    LATE = 'late'
    """The attempt was given up, and nothing has been started again: its result counts."""

    OVER = 'over'
    """The attempt has ended, and not so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPace:
    """How often agents call, and when one is lost. Seconds.

    poll:      between two requests for a job; heartbeat: between two heartbeats
    missed:    heartbeats in a row that a worker may miss
    """

    poll: float = 5.0
    heartbeat: float = 10.0
    missed: int = 6

    @property
    def silence(self) -> float:
        """After which a worker is lost."""
        return self.heartbeat * self.missed


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How an attempt has ended. exit_code: as a shell has it, 128 + n after signal n.

    text: why, where the exit code is not all there is to say; marks: what of a report was not believed
    """

    state: AttemptState
    exit_code: int | None
    usage: Mapping[str, float]
    text: str
    marks: tuple[str, ...] = ()


def next_order(
    worker: StoredWorker, job: StoredJob | None, attempts: Sequence[StoredAttempt]
) -> Order | None:
    """What a worker that is free is to do; None: it has lost the job that it had begun (JW3).

    job, attempts: of `worker.job_id`, where it has one

    A worker whose attempt runs and that asks for a job knows nothing of that run: it is lost.
    """
    own = part_of(worker, attempts)
    if worker.intention is DesiredWorkerState.GONE:
        return Order.EXIT
    if job is None or own is None or own.state not in OPEN_ATTEMPT:
        return Order.WAIT
    if own.state is AttemptState.STARTING:
        return Order.RUN if job.wish is JobWish.RUN else Order.WAIT
    return None


def gang_is_there(
    job: StoredJob, attempts: Sequence[StoredAttempt], workers: Mapping[str, StoredWorker]
) -> bool:
    """Whether every server of the newest attempt has called since: a gang starts together (J2)."""
    ranks = [one for one in attempts if one.number == job.attempt]
    there = [one for one in ranks if one.worker_id in workers]
    return len(there) == job.servers and all(
        workers[one.worker_id].seen_at >= one.created_at > 0 for one in there
    )


def part_of(worker: StoredWorker, attempts: Sequence[StoredAttempt]) -> StoredAttempt | None:
    """The attempt's part that this worker has, whatever its state."""
    for one in attempts:
        if (one.number, one.rank, one.worker_id) == (worker.attempt, worker.rank, worker.id):
            return one
    return None


def running_order(worker: StoredWorker, job: StoredJob, own: StoredAttempt) -> Order:
    """The order in the answer to a heartbeat (JW4)."""
    if job.wish is JobWish.CANCEL:
        return Order.CANCEL
    kept = job.preempt_action in KEPT  # its server is suspended, and its processes with it
    if (own.state is AttemptState.PREEMPTING and not kept) or job.wish is JobWish.REQUEUE:
        return Order.STOP
    if worker.intention is DesiredWorkerState.GONE:
        return Order.STOP
    return Order.GO_ON


def last_notice(job: StoredJob) -> int:
    """The notice of a job that has reached its time limit."""
    return min(job.notice, LAST_NOTICE)


def last_end(job: StoredJob, own: StoredAttempt) -> float:
    """When a run that has begun is over, whatever has ended it: soon after its time limit."""
    return own.started_at + own.excluded + job.time_limit + last_notice(job)


def notice_left(job: StoredJob, own: StoredAttempt, now: float) -> int:
    """Seconds until SIGKILL for a run that is to end now."""
    left = last_end(job, own) - now if own.started_at else math.inf
    return math.ceil(min(max(left, 0.0), job.notice))


def fate_of_heartbeat(worker: StoredWorker, job: StoredJob, own: StoredAttempt) -> Fate:
    """Whether a heartbeat is about a run that counts (JW4). See fate_of_result for one that was given up."""
    if own.state in OPEN_ATTEMPT:
        return Fate.TAKEN
    stays = worker.intention is DesiredWorkerState.PRESENT
    return Fate.LATE if stays and _may_be_taken_back(job, own) else Fate.OVER


def fate_of_result(job: StoredJob, own: StoredAttempt, verdict: Verdict) -> Fate:
    """Whether a result counts (JW5): once, and for the attempt that it names.

    A late one counts only while nothing has been started again: then the work is done, and running it again
    would repeat what the job has done outside. Of a gang it does not count: its other servers were ended.
    """
    if own.state in OPEN_ATTEMPT:
        return Fate.TAKEN
    if own.state is AttemptState.LOST:
        done = verdict.state in DONE
        return Fate.LATE if done and _may_be_taken_back(job, own) else Fate.OVER
    stored = (own.state, own.exit_code, own.usage)
    same = stored == (verdict.state, verdict.exit_code, verdict.usage)
    return Fate.REPEATED if same else Fate.OVER


def verdict_of(
    job: StoredJob, worker: StoredWorker, own: StoredAttempt, result: Result, now: float
) -> Verdict:
    """How an attempt ended, from what its worker reports and what the service knows (JW5, JW6)."""
    until = own.ended_at if own.ended_at else now
    usage, marks = credible(result.usage, worker.cores, until - own.started_at)
    if abs(worker.clock_offset) > CLOCK_OFF:
        marks = (*marks, f'the clock of the worker is off by {worker.clock_offset:.0f} s')
    state, exit_code, text = _end(job, worker, own, result)
    ran = usage.wall_seconds
    if result.end is End.TIME_LIMIT and ran < job.time_limit - SLACK:
        marks = (*marks, f'the worker ended it after {ran:.0f} of {job.time_limit} s')
    if result.checkpoint:
        marks = (*marks, f'the checkpoint script ended with exit code {result.checkpoint}')
    if result.uploaded is False:
        marks = (*marks, 'the whole output could not be stored')
    return Verdict(state=state, exit_code=exit_code, usage=usage.document(), text=text, marks=marks)


def credible(usage: Usage, cores: float, elapsed: float) -> tuple[Usage, tuple[str, ...]]:
    """(usage within what this server can have used, what was cut). elapsed: seconds since its start, by us.

    A worker has root in its guest's agent at most; what it reports is shown to its owner and never charged.
    """
    marks: list[str] = []
    wall = usage.wall_seconds
    if wall > elapsed + SLACK:
        marks.append(f'it reports {wall:.0f} s of run time in {elapsed:.0f} s')
        wall = max(elapsed, 0.0)
    most = cores * wall * CPU_TOLERANCE + SLACK
    user, system = usage.user_seconds, usage.system_seconds
    if user + system > most:
        marks.append(f'it reports {user + system:.0f} CPU seconds of at most {most:.0f}')
        part = most / (user + system)
        user, system = user * part, system * part
    return (
        Usage(
            wall_seconds=wall,
            user_seconds=user,
            system_seconds=system,
            max_rss_mib=usage.max_rss_mib,
        ),
        tuple(marks),
    )


def is_lost(
    own: StoredAttempt, worker: StoredWorker, now: float, listening_since: float, pace: WorkerPace
) -> bool:
    """Whether a worker that has begun was silent for too long (JW8).

    listening_since: since when the API has answered without a gap: what nobody could have received is no
    silence of the worker.
    """
    if own.state not in OPEN_ATTEMPT or own.state is AttemptState.STARTING:
        return False
    heard = max(own.reported_at, worker.seen_at, own.started_at, listening_since)
    return now - heard > pace.silence


def runs_again(job: StoredJob) -> bool:
    """Whether a job whose attempt was lost is tried again, as long as its retries last."""
    return job.wish is JobWish.RUN and job.lost < job.retries


def _may_be_taken_back(job: StoredJob, own: StoredAttempt) -> bool:
    """Whether an attempt was given up, and nothing has been started again since."""
    given_up = own.state is AttemptState.LOST and job.attempt == own.number
    return given_up and job.state in QUEUED and job.servers == 1 and job.wish is JobWish.RUN


def _end(
    job: StoredJob, worker: StoredWorker, own: StoredAttempt, result: Result
) -> tuple[AttemptState, int | None, str]:
    """State, exit code and text. A worker cannot say that it was stopped where nothing has stopped it."""
    ordered = running_order(worker, job, own)
    if result.end is End.EXIT:
        return _by_code(result.exit_code or 0)
    if result.end is End.SIGNAL:
        number = result.signal or 0
        return AttemptState.FAILED, 128 + number, f'ended by signal {number}'
    if result.end is End.TIME_LIMIT:
        return AttemptState.FAILED, None, f'time limit: it ran for {job.time_limit} s'
    if result.end is End.NOT_STARTED:
        return AttemptState.FAILED, None, f'not started: {result.text or "no reason given"}'
    if own.state in BY_ORDER.values():  # repeated
        return own.state, None, ''
    if ordered in BY_ORDER:
        return BY_ORDER[ordered], None, ''
    return AttemptState.FAILED, None, f'the worker reports {result.end}, and nothing ordered that'


def _by_code(code: int) -> tuple[AttemptState, int | None, str]:
    return (AttemptState.FAILED if code else AttemptState.FINISHED), code, ''
