# SPDX-License-Identifier: Apache-2.0
"""The money of jobs as postings.

Implements the money of rules J2, J4 and F5 of doc/source/specs/jobs.rst in the ledger of
doc/source/specs/market.rst (M1, M2). Units: whole micro-credits.

What a job may be charged is *held* in escrow with its submission. When an attempt has ended, what it costs is
*released* and *charged* in one step, to the project of the queue. When the job has ended, the rest is
released. Keys have period 0 (they are of no round of the market) and name the job:

    hold:0:job/<id>                          at submission; <id> of the array, for all its elements
    release, charge:0:job/<id>/<attempt>     the attempt has ended
    compensation:0:job/<id>/<attempt>        it was preempted: from the project of the displacer
    release:0:job/<id>/<attempt>/<requeues>  the job has ended: the rest
    hold:0:job/<id>/<attempt>/<requeues>     its owner lets it run again

At any time what is held of a job that has not ended is cost_limit - charged. Whoever is killed after posting
posts the same keys again, which changes nothing; what was posted first counts, also where the second
calculation would give another amount.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nova_market.core.job.charge import (
    EndedRun,
    Settled,
    attempt_charge,
    compensation_due,
    is_free,
)
from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.record import ENDED, JobWish, StoredJob
from nova_market.core.ledger.posting import (
    ESCROW,
    AccountId,
    Posting,
    Reason,
    account,
    posting_key,
)

Posted = Mapping[str, Posting]
"""What the ledger has, by key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """How one ended attempt or job is settled.

    postings: all in one transaction
    again:    the hold for another run, in the same transaction; without it where the project has too little
    renews:   it runs again as if it were submitted again: its owner wanted that
    due:      what the displacer should pay; paid: the posting, of at most that; None where nothing moves
    """

    run: EndedRun
    postings: tuple[Posting, ...]
    again: Posting | None
    renews: bool
    charge: int
    due: int
    paid: Posting | None

    def settled(self, compensation: int, *, held_again: bool) -> Settled:
        """The columns. held_again: `again` was posted, or there is none."""
        job = self.run.job
        renewed = self.renews and held_again
        charged = 0 if renewed else job.charged + self.charge
        total = job.compensation + compensation
        changed = {'charged': charged, 'compensation': total}
        if renewed:
            # so that no later posting has the key of one of these
            changed['requeues'] = job.requeues + 1
        return Settled(
            charged=charged,
            compensation=total,
            funds=held_again or not self.renews,
            changed=changed,
        )


def new_holds(jobs: Sequence[StoredJob], queues: Mapping[str, StoredQueue]) -> tuple[Posting, ...]:
    """One posting for each job or array that costs something; queues: by id."""
    wanted: dict[tuple[str, str], int] = {}
    for job in jobs:
        if job.cost_limit and not is_free(job, queues[job.queue_id]):
            own = (job.content_id, job.project_id)
            wanted[own] = wanted.get(own, 0) + job.cost_limit
    return tuple(
        Posting(
            key=posting_key(Reason.HOLD, 0, f'job/{content_id}'),
            reason=Reason.HOLD,
            debit=account('project', project_id),
            credit=ESCROW,
            amount=amount,
        )
        for (content_id, project_id), amount in wanted.items()
    )


def rest_release(job: StoredJob, charged: int) -> Posting | None:
    """What is still held when a job ends that was charged so much; None: nothing. Not for a free job."""
    left = job.cost_limit - charged
    if left <= 0:
        return None
    return _moved(Reason.RELEASE, _life(job, job.requeues), ESCROW, _payer(job), left)


def another_hold(job: StoredJob, requeues: int) -> Posting | None:
    """For another run of a job; None: it costs nothing. requeues: how often it was requeued then."""
    if not job.cost_limit:
        return None
    return _moved(Reason.HOLD, _life(job, requeues), _payer(job), ESCROW, job.cost_limit)


def keys_of(run: EndedRun) -> tuple[str, ...]:
    """Of all that may have been posted when this was settled before."""
    job = run.job
    reasons = (Reason.CHARGE, Reason.RELEASE, Reason.COMPENSATION)
    return (
        *(posting_key(reason, 0, _attempt(job)) for reason in reasons),
        posting_key(Reason.RELEASE, 0, _life(job, job.requeues)),
    )


def settlement(run: EndedRun, posted: Posted) -> Settlement:
    """What is posted for a job. posted: of `keys_of`, what is in the ledger already."""
    job, free = run.job, is_free(run.job, run.queue)
    charge_key, _, paid_key, rest_key = keys_of(run)
    # without an attempt that ends now, what is posted of the newest one is in the columns already
    charge = attempt_charge(run) if run.parts else 0
    if run.parts and charge_key in posted:
        charge = posted[charge_key].amount
    elif rest_key in posted:
        charge = 0
    renews = run.then not in ENDED and (job.wish is JobWish.REQUEUE or rest_key in posted)
    over = renews or run.then in ENDED
    rest = rest_release(job, job.charged + charge) if over and not free else None
    due = compensation_due(run)
    return Settlement(
        run=run,
        postings=(*(() if free else _charged(run, charge)), *((rest,) if rest else ())),
        again=another_hold(job, job.requeues) if renews and not free else None,
        renews=renews,
        charge=charge,
        due=due,
        paid=(posted.get(paid_key) or _compensation(run, due)) if run.parts else None,
    )


def _charged(run: EndedRun, amount: int) -> tuple[Posting, ...]:
    if not amount:
        return ()
    job, subject = run.job, _attempt(run.job)
    return (
        _moved(Reason.RELEASE, subject, ESCROW, _payer(job), amount),
        _moved(
            Reason.CHARGE, subject, _payer(job), account('project', run.queue.project_id), amount
        ),
    )


def _compensation(run: EndedRun, due: int) -> Posting | None:
    """None too where the displacer is of the same project: that is recorded, and nothing moves."""
    other, job = run.displacer, run.job
    if not due or other is None or other.project_id == job.project_id:
        return None
    return _moved(Reason.COMPENSATION, _attempt(job), _payer(other), _payer(job), due)


def _moved(
    reason: Reason, subject: str, debit: AccountId, credit: AccountId, amount: int
) -> Posting:
    return Posting(
        key=posting_key(reason, 0, subject),
        reason=reason,
        debit=debit,
        credit=credit,
        amount=amount,
    )


def _payer(job: StoredJob) -> AccountId:
    return account('project', job.project_id)


def _attempt(job: StoredJob) -> str:
    return f'job/{job.id}/{job.attempt}'


def _life(job: StoredJob, requeues: int) -> str:
    return f'{_attempt(job)}/{requeues}'
