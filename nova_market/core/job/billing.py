# SPDX-License-Identifier: Apache-2.0
"""The money of jobs as postings.

Implements the money of rules J2, J4 and F5 of doc/source/specs/jobs.rst in the ledger of
doc/source/specs/market.rst (M1, M2). Units: whole micro-credits.

What a run of a job may cost is *held* in escrow before it begins, the first time with its submission, and
so is the reserve for jobs that it displaces. When an attempt has ended, what it costs is *released* and
*charged* in one step, to the project of the queue; where the job goes on, as much is held again. What is owed
to a job was in the reserve of the one that displaced it: it is released to that one's project, and paid by it
where it is due. When the job has ended, the rest is released. Keys have period 0 (they are of no round of the
market) and name the job:

    hold:0:job/<id>                                    at submission; <id> of the array, for all its elements
    release, charge:0:job/<id>/<attempt>/<requeues>    the attempt has ended
    hold:0:job/<id>/<attempt>/<requeues + 1>           the job runs again
    release:0:owed/<id>/<attempt>/<requeues>           to the project of the displacer
    compensation:0:job/<id>/<attempt>/<requeues>       from it
    release:0:rest/<id>/<attempt>/<requeues>           the job has ended

At any time what is held of a job that has not ended is cost_limit + reserve, and owed beside it. Whoever is
killed after posting posts the same keys again, which changes nothing; what was posted first counts, also
where the second calculation would give another amount.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nova_market.core.job.charge import EndedRun, Settled, attempt_charge, is_free
from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.record import ENDED, StoredJob
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.ledger.posting import (
    ESCROW,
    NO_PERIOD,
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

    postings: all in one transaction, with `again` or with `rest`
    goes_on:  it runs again, unless its project has too little for `again`
    again:    holds what another run may cost
    rest:     what comes back when the job ends
    paid:     of what it is owed; returned: to whom owed it
    """

    run: EndedRun
    goes_on: bool
    postings: tuple[Posting, ...]
    again: tuple[Posting, ...]
    rest: tuple[Posting, ...]
    charge: int
    paid: int

    def settled(self, *, held_again: bool) -> Settled:
        """The columns. held_again: `again` was posted, or there is nothing in it."""
        job, over = self.run.job, not (self.goes_on and held_again)
        charged = min(job.charged + self.charge, MAX_AMOUNT)
        compensation = min(job.compensation + self.paid, MAX_AMOUNT)
        changed = {'charged': charged, 'compensation': compensation, 'owed': 0}
        if over:
            changed['reserve'] = 0
        elif self.postings:
            # so that no later posting has the key of one of these
            changed['requeues'] = job.requeues + 1
        return Settled(
            charged=charged,
            compensation=compensation,
            funds=not over or self.run.then in ENDED,
            changed=changed,
        )


def new_holds(jobs: Sequence[StoredJob], queues: Mapping[str, StoredQueue]) -> tuple[Posting, ...]:
    """One posting for each job or array that costs something; queues: by id."""
    wanted: dict[tuple[str, str], int] = {}
    for job in jobs:
        if job.cost_limit and not is_free(job, queues[job.queue_id]):
            own = (job.content_id, job.project_id)
            wanted[own] = wanted.get(own, 0) + job.cost_limit + job.reserve
    return tuple(
        Posting(
            key=posting_key(Reason.HOLD, NO_PERIOD, f'job/{content_id}'),
            reason=Reason.HOLD,
            debit=account('project', project_id),
            credit=ESCROW,
            amount=amount,
        )
        for (content_id, project_id), amount in wanted.items()
    )


def rest_release(job: StoredJob, charge: int) -> Posting | None:
    """What is still held when a job ends whose last run was charged so much; None: nothing.

    Not for a free job.
    """
    left = job.cost_limit - charge + job.reserve
    if left <= 0:
        return None
    return _moved(Reason.RELEASE, _life('rest', job), ESCROW, _payer(job.project_id), left)


def another_hold(job: StoredJob, amount: int) -> Posting | None:
    """For another run of a job, by its requeues before; None: it costs nothing."""
    if not amount:
        return None
    again = f'job/{job.id}/{job.attempt}/{job.requeues + 1}'
    return _moved(Reason.HOLD, again, _payer(job.project_id), ESCROW, amount)


def keys_of(run: EndedRun) -> tuple[str, ...]:
    """Of what decides, where this was settled before, what was settled then."""
    life = _life('job', run.job)
    return (
        posting_key(Reason.CHARGE, NO_PERIOD, life),
        posting_key(Reason.COMPENSATION, NO_PERIOD, life),
        posting_key(Reason.RELEASE, NO_PERIOD, _life('owed', run.job)),
        posting_key(Reason.RELEASE, NO_PERIOD, _life('rest', run.job)),
    )


def settlement(run: EndedRun, posted: Posted) -> Settlement:
    """What is posted for a job. posted: of `keys_of`, what is in the ledger already."""
    job, free = run.job, is_free(run.job, run.queue)
    charge_key, paid_key, owed_key, rest_key = keys_of(run)
    if charge_key in posted:
        charge = posted[charge_key].amount
    else:
        charge = attempt_charge(run) if run.parts and rest_key not in posted else 0
    due = job.owed > 0 and (paid_key in posted or (run.displaced and owed_key not in posted))
    rest = None if free else rest_release(job, charge)
    again = None if free else another_hold(job, charge)
    return Settlement(
        run=run,
        goes_on=run.then not in ENDED and rest_key not in posted,
        postings=(*(() if free else _charged(run, charge)), *_owed(run, due=due)),
        again=(again,) if again else (),
        rest=(rest,) if rest else (),
        charge=charge,
        paid=job.owed if due else 0,
    )


def _charged(run: EndedRun, amount: int) -> tuple[Posting, ...]:
    if not amount:
        return ()
    job, life = run.job, _life('job', run.job)
    payer, seller = _payer(job.project_id), _payer(run.queue.project_id)
    return (
        _moved(Reason.RELEASE, life, ESCROW, payer, amount),
        _moved(Reason.CHARGE, life, payer, seller, amount),
    )


def _owed(run: EndedRun, *, due: bool) -> tuple[Posting, ...]:
    """Back to who displaced it, and from there to its project where it is due."""
    job, other = run.job, run.displacer
    if not job.owed:
        return ()
    own = _payer(job.project_id)
    if other is None:
        # who owed it is not known any more: what is held must not stay there for ever
        return (_moved(Reason.COMPENSATION, _life('job', job), ESCROW, own, job.owed),)
    payer = _payer(other.project_id)
    back = _moved(Reason.RELEASE, _life('owed', job), ESCROW, payer, job.owed)
    paid = _moved(Reason.COMPENSATION, _life('job', job), payer, own, job.owed)
    return (back, paid) if due else (back,)


def _moved(
    reason: Reason, subject: str, debit: AccountId, credit: AccountId, amount: int
) -> Posting:
    return Posting(
        key=posting_key(reason, NO_PERIOD, subject),
        reason=reason,
        debit=debit,
        credit=credit,
        amount=amount,
    )


def _payer(project_id: str) -> AccountId:
    return account('project', project_id)


def _life(kind: str, job: StoredJob) -> str:
    return f'{kind}/{job.id}/{job.attempt}/{job.requeues}'
