# SPDX-License-Identifier: Apache-2.0
"""What a job is charged, and what it is owed when it is displaced.

Implements the money of rules J2, J4 and J8 of doc/source/specs/jobs.rst; SVMSched has none. Units: whole
micro-credits, core-seconds, micro-credits per core and hour. Amounts are rounded down, in the payer's favour.

An attempt is charged when it has ended, from when its worker was given the script until the service knew of
its end: cores x time x price, over all of its servers, without the time in which they were suspended or
shelved. The price is the queue's, and never more than it was at submission (cost_limit over the time limit);
in a tender queue it is that of the accepted offer, memory and disk included, whatever the prices are now.
What the guest reports changes nothing of it. An attempt costs nothing when the cloud has ended it
(core.job.cause), or when the queue's own project has displaced it and what it did is lost.

What one run may cost (cost_limit) is held before each run. A production job holds as much again for all that
it displaces. What it owes a job is fixed when it orders that one to go, for the time since that one was given
its script: for each core, of as many as it needs itself, what it would pay for a core of its own, at most
what the other one pays; nothing to one that has a checkpoint script, costs nothing, is of its own project, or
is in a queue without a share: anybody can have one, and be displaced in it for the money.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

from nova_market.core.job.attempt import KEPT
from nova_market.core.job.cause import Cause, cause_of
from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.record import (
    ACTIVE,
    QUEUED,
    JobKind,
    JobState,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.store_values import JobStep

HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A job whose newest attempt has ended, or that ends without one.

    job:       as stored before the step that ends it
    then:      the state that the step takes it to
    parts:     of the attempt that has ended, all ranks, as the step stores them; (): no attempt ended
    displacer: job for which it was preempted; None: none, or it is not stored any more
    """

    job: StoredJob
    queue: StoredQueue
    then: JobState
    parts: tuple[StoredAttempt, ...] = ()
    displacer: StoredJob | None = None

    @property
    def displaced(self) -> bool:
        """Whether another job has taken its room."""
        return bool(self.parts) and cause_of(self.job, self.parts) is Cause.DISPLACER


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
    """What the attempt that has ended costs: at most what is held for one run."""
    job, cause = run.job, cause_of(run.job, run.parts)
    by_seller = run.displacer is not None and run.displacer.project_id == run.queue.project_id
    if cause is Cause.CLOUD or (cause is Cause.DISPLACER and by_seller and not job.saves):
        return 0
    return min(worth(job, price_of(run.queue), core_seconds(run)), job.cost_limit)


def core_seconds(run: EndedRun) -> float:
    """What the attempt has had, over all of its servers."""
    return run.job.cores * sum(_seconds(one, one.ended_at) for one in run.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Displacement:
    """A job that takes the room of another one, with the queues of both; parts: of the other's attempt."""

    job: StoredJob
    queue: StoredQueue
    victim: StoredJob
    victim_queue: StoredQueue
    parts: Sequence[StoredAttempt]


def compensation_due(order: Displacement, now: float) -> int:
    """What the job will owe the other one, whatever it has in reserve.

    Nothing between two of the three projects that are one: a seller that displaces does not charge.
    """
    job, victim, seller = order.job, order.victim, order.victim_queue.project_id
    same = len({job.project_id, victim.project_id, seller}) < 3
    kept = victim.saves or victim.preempt_action in KEPT
    if same or kept or not order.victim_queue.share:
        return 0
    seconds = [_seconds(one, now) for one in order.parts]
    cores = min(victim.cores * len(seconds), job.cores * job.servers)
    longest = min(max(seconds, default=0.0), job.time_limit)
    return min(
        worth(victim, price_of(order.victim_queue), victim.cores * sum(seconds)),
        worth(job, price_of(order.queue), cores * longest),
    )


def reserve_of(job: StoredJob, queue: StoredQueue) -> int:
    """What is held with the submission of a job for others that it displaces.

    Best-effort jobs and accepted offers displace none, and a free one has nothing to pay with.
    """
    displaces = job.kind is JobKind.PRODUCTION and not job.by_offer
    return job.cost_limit if displaces and not is_free(job, queue) else 0


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
    """What is held for these jobs together; queues: by id."""
    return sum(
        job.cost_limit + job.reserve for job in jobs if not is_free(job, queues[job.queue_id])
    )


def _seconds(one: StoredAttempt, until: float) -> float:
    """Since its worker was given the script; a part that never was costs nothing."""
    return max(until - one.given_at - one.excluded, 0.0) if one.given_at else 0.0
