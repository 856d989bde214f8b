# SPDX-License-Identifier: Apache-2.0
"""What a job is charged, and what it is paid when it is preempted.

Implements the money of rules J2 and J4 of doc/source/specs/jobs.rst; SVMSched has none. Units: whole
micro-credits, core-seconds, micro-credits per core and hour. Amounts are rounded down, in the payer's favour.

An attempt is charged when it has ended: cores x run time x price, over all of its servers. The price is the
queue's, and never more than it was at submission (cost_limit over the time limit); in a tender queue it is
that of the accepted offer, memory and disk included, whatever the prices are now. All attempts together are
charged at most cost_limit, since a job was submitted or was requeued by its owner. Not charged: an attempt
that was lost, the time in which its server was suspended, and, where the service has preempted it, what it
did after its last checkpoint.

A preempted job is paid for that lost time by who displaced it, at its own price. The displacer pays for a
core at most what it would pay for one of its own until its time limit, and for each job that it displaced at
most its own cost limit. So a queue's owner cannot set the price at which the jobs of others pay him.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.record import (
    ACTIVE,
    QUEUED,
    AttemptState,
    JobAction,
    JobEvent,
    JobState,
    JobWish,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.store_values import JobStep

HOUR = 3600

Pause = tuple[float, float]
"""Seconds since the epoch: from, until; inf: it lasts still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A job whose newest attempt has ended, or that ends without one.

    job:       as stored before the step that ends it
    then:      the state that the step takes it to
    parts:     of the attempt that has ended, all ranks, as the step stores them; (): no attempt ended
    displacer: job for which it was preempted; None: none, or it is not stored any more
    displacer_price: of the displacer's queue
    pauses:    (from, until) of the times in which the servers of this attempt were suspended or shelved
    """

    job: StoredJob
    queue: StoredQueue
    then: JobState
    parts: tuple[StoredAttempt, ...] = ()
    displacer: StoredJob | None = None
    displacer_price: int = 0
    pauses: tuple[Pause, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What the columns of a job are to be.

    funds:   False: the owner has requeued it and cannot pay another run, so it ends instead
    changed: for JobStep.changed
    """

    charged: int
    compensation: int
    funds: bool = True
    changed: Mapping[str, Any] = field(default_factory=dict)


def ended_run(
    step: JobStep, job: StoredJob, attempts: Sequence[StoredAttempt], queue: StoredQueue
) -> EndedRun | None:
    """What a step ends, without displacer; None: neither an attempt nor the job.

    job, attempts: as stored before the step, all attempts of the job
    """
    then = JobState(step.changed.get('state', job.state))
    stored = {(one.number, one.rank): one for one in attempts}
    stored |= {(one.number, one.rank): one for one in step.attempts}
    parts = tuple(one for (number, _), one in sorted(stored.items()) if number == job.attempt)
    if then in ACTIVE or (then is JobState.WAITING and job.state in QUEUED):
        return None
    was_active = job.state in ACTIVE
    return EndedRun(job=job, queue=queue, then=then, parts=parts if was_active else ())


def attempt_charge(run: EndedRun) -> int:
    """What the attempt that has ended costs: at most what is left of the cost limit."""
    job = run.job
    left = max(job.cost_limit - job.charged, 0)
    return min(worth(job, price_of(run.queue), charged_core_seconds(run)), left)


def charged_core_seconds(run: EndedRun) -> float:
    """Core-seconds of the attempt that its owner pays for."""
    return run.job.cores * sum(_kept(run, one) for one in run.parts)


def lost_core_seconds(run: EndedRun, most: float = float('inf')) -> float:
    """Core-seconds since the last checkpoint (or the start) of an attempt that the service has preempted.

    most: seconds that count of each server
    """
    return run.job.cores * sum(
        min(_run_time(run, _saved_at(one), one.ended_at), most)
        for one in run.parts
        if _was_displaced(run.job, one)
    )


def compensation_due(run: EndedRun) -> int:
    """What the displacer owes for this attempt, whatever it has."""
    other = run.displacer
    if other is None:
        return 0
    return min(
        worth(run.job, price_of(run.queue), lost_core_seconds(run)),
        worth(other, run.displacer_price, lost_core_seconds(run, most=other.time_limit)),
        other.cost_limit,
    )


def price_of(queue: StoredQueue) -> float:
    """Of a core and an hour; inf: of a tender queue, whose jobs are charged what they were offered for."""
    return inf if queue.is_tender else float(queue.price_core_hour)


def worth(job: StoredJob, price: float, core_seconds: float) -> int:
    """Micro-credits for so many core-seconds: at the price now or at submission, the lower one."""
    amount = Fraction(max(core_seconds, 0.0))
    size = Fraction(job.cores) * job.servers * job.time_limit
    if not size:
        return 0
    offered = amount * job.cost_limit / size
    return int(offered if price == inf else min(amount * Fraction(price) / HOUR, offered))


def is_free(job: StoredJob, queue: StoredQueue) -> bool:
    """Whether nothing moves: its project would pay itself. What it costs is recorded all the same."""
    return job.project_id == queue.project_id


def payable(jobs: Sequence[StoredJob], queues: Mapping[str, StoredQueue]) -> int:
    """The most that these jobs may be charged together; queues: by id."""
    return sum(job.cost_limit for job in jobs if not is_free(job, queues[job.queue_id]))


def pauses(events: Sequence[JobEvent], attempt: int) -> tuple[Pause, ...]:
    """The times in which the servers of an attempt were suspended or shelved. events: of its job."""
    found: list[Pause] = []
    since = inf
    for one in sorted(events, key=lambda event: event.number):
        if one.attempt == attempt and one.action == JobAction.SUSPENDED:
            since = min(since, one.at)
        elif one.attempt == attempt and one.action == JobAction.RESUMED and since < inf:
            found.append((since, one.at))
            since = inf
    return (*found, (since, inf)) if since < inf else tuple(found)


def _kept(run: EndedRun, one: StoredAttempt) -> float:
    """Seconds of its run that are charged."""
    if one.state is AttemptState.LOST:
        return 0.0
    until = _saved_at(one) if _was_displaced(run.job, one) else one.ended_at
    return _run_time(run, one.started_at, until)


def _was_displaced(job: StoredJob, one: StoredAttempt) -> bool:
    """Whether the service has preempted it: what its owner has asked for is no loss that others pay."""
    return one.state is AttemptState.PREEMPTED and job.wish is JobWish.RUN


def _run_time(run: EndedRun, begin: float, end: float) -> float:
    """Seconds between these times in which its servers ran."""
    if not begin:
        return 0.0  # it has never started
    paused = sum(max(min(end, until) - max(begin, since), 0.0) for since, until in run.pauses)
    return max(end - begin - paused, 0.0)


def _saved_at(one: StoredAttempt) -> float:
    """Time of its last checkpoint, or of its start."""
    return min(max(one.saved_at, one.started_at), one.ended_at) if one.started_at else 0.0
