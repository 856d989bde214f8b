# SPDX-License-Identifier: Apache-2.0
"""What is kept of an offer from the request to the end of what was accepted, and its money.

Implements rules O1 to O3 of doc/source/specs/tender.rst. Units: seconds since the epoch, seconds,
micro-credits.

Keys of postings have period 0 and name the offer:

    charge:0:offer/<id>/<hold>   the fee of a hold, from who asked to the queue's project
    compensation:0:offer/<id>    the job was done late: from the queue's project to who has paid

What the job itself costs is held, charged and released as that of any job (core.job.billing).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from nova_market.core.job.charge import HOUR
from nova_market.core.job.record import JobState, StoredJob
from nova_market.core.ledger.money import MONEY
from nova_market.core.ledger.posting import NO_PERIOD, Posting, Reason, account, posting_key
from nova_market.core.row_check import COUNT, TIME, Bounds
from nova_market.core.tender.offered_lease import OfferedLease
from nova_market.core.tender.place import Kind


class OfferState(StrEnum):
    """Where an offer is. OPEN and HELD end with valid_until: it is EXPIRED then, and never stored so."""

    OPEN = 'open'
    HELD = 'held'
    """Others get no offer for its room until valid_until."""

    ACCEPTED = 'accepted'
    CLOSED = 'closed'
    """Its job has ended, and what was late is paid back."""

    RELEASED = 'released'
    EXPIRED = 'expired'


class OfferKind(StrEnum):
    """What is offered."""

    JOB = 'job'
    LEASE = 'lease'
    SERVER = 'server'
    """Room for servers of a flavor: it becomes a lease."""


class How(StrEnum):
    """Where the job would run; RESERVED_HOSTS: a lease."""

    BUSY_WORKER = 'busy_worker'
    """In the room of what runs now."""

    IDLE_WORKER = 'idle_worker'
    NEW_WORKER = 'new_worker'
    RESERVED_HOSTS = 'reserved_hosts'


HOW: Mapping[Kind, How] = {
    Kind.ACTIVE: How.BUSY_WORKER,
    Kind.IDLE: How.IDLE_WORKER,
    Kind.NEW: How.NEW_WORKER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOffer:
    """An offer, with what was asked for.

    request_id:   of all offers of one request; one of them can be accepted
    kind, lease:  of a job, lease is None; of the others it has what is offered, and queue_id is ''
    time_limit:   of a lease its duration
    flavors:      that would do, by name, with cores, MiB and GiB of a server
    deadline:     0: none; utility, weight: by which the best of several is chosen
    flavor, how, count, cost, seconds: what is offered; seconds from acceptance to the end
    price_core_hour: of the queue then; prices: of a core, a MiB and a GiB for an hour, of a tender queue
    valid_until:  of an open offer, or of its hold; holds: how often it was held; fees: paid for that
    accepted_at, job_id, lease_id, accept_key: when it was accepted
    due_at:       when it ends, as it was held or accepted; 0: neither, and `seconds` after it was made
    late_refund:  part of the price that comes back when the job takes twice as long as promised
    refunded:     what came back
    """

    id: str
    request_id: str
    project_id: str
    user_id: str
    queue_id: str
    flavors: Mapping[str, tuple[float, float, float]]
    servers: int
    time_limit: int
    deadline: float = 0.0
    utility: str = 'cost_time'
    weight: float = 0.5
    flavor: str
    how: How
    count: int
    cost: int
    seconds: float
    price_core_hour: int = 0
    prices: tuple[float, ...] = ()
    state: OfferState = OfferState.OPEN
    created_at: float = 0.0
    valid_until: float = 0.0
    holds: int = 0
    fees: int = 0
    accepted_at: float = 0.0
    due_at: float = 0.0
    job_id: str = ''
    accept_key: str = ''
    late_refund: float = 0.0
    refunded: int = 0
    kind: OfferKind = OfferKind.JOB
    lease: OfferedLease | None = None
    lease_id: str = ''
    number: int = 0
    """Order of making; marker of the next page. 0: not stored yet."""

    def state_at(self, now: float) -> OfferState:
        """With those whose time is over."""
        if self.state in (OfferState.OPEN, OfferState.HELD) and now >= self.valid_until:
            return OfferState.EXPIRED
        return self.state


OFFER_BOUNDS: Bounds = {
    **dict.fromkeys(('cost', 'fees', 'refunded', 'price_core_hour'), MONEY),
    **dict.fromkeys(
        ('deadline', 'seconds', 'created_at', 'valid_until', 'accepted_at', 'due_at', 'time_limit'),
        TIME,
    ),
    **dict.fromkeys(('servers', 'count', 'holds'), COUNT),
    **dict.fromkeys(('weight', 'late_refund'), (0.0, 1.0)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferFilter:
    """Which offers to list; None: all. now: of what expires."""

    now: float
    project_id: str | None = None
    queue_id: str | None = None
    request_id: str | None = None
    states: tuple[OfferState, ...] = field(default_factory=tuple)
    kinds: tuple[OfferKind, ...] = field(default_factory=tuple)


def hold_fee(cost: int, part: float, seconds: float) -> int:
    """Micro-credits for a hold: `part` of the offer's cost for each hour, rounded up."""
    return -int(-(Fraction(cost) * Fraction(part) * Fraction(seconds)) // HOUR)


def hold_posting(offer: StoredOffer, owner: str, fee: int) -> Posting | None:
    """The fee of its next hold; None: nothing moves. owner: project of the queue."""
    if fee <= 0 or owner == offer.project_id:
        return None
    subject = f'offer/{offer.id}/{offer.holds + 1}'
    return _moved(Reason.CHARGE, subject, offer.project_id, owner, fee)


def free_hold_problem(offer: StoredOffer, others: Iterable[StoredOffer]) -> str | None:
    """Why an offer is not held for nothing (O1): a project holds one offer so, and once; None: it is.

    others: that are held now, or were accepted
    """
    if offer.holds:
        return (
            f'offer {offer.id} was held, and to hold it again would cost nothing: accept it, or release it '
            'and ask for new ones'
        )
    for one in others:
        if one.project_id == offer.project_id and one.state is OfferState.HELD:
            return (
                f'the project holds offer {one.id}, and this hold would cost nothing: '
                'accept or release that one first'
            )
    return None


def late_refund(offer: StoredOffer, job: StoredJob) -> int:
    """What is given back of what the job was charged, O3: as the delay to the time that was promised.

    Nothing for a job that did not end by itself or that its owner has requeued, and at most `late_refund` of
    what it was charged.
    """
    if job.state not in (JobState.FINISHED, JobState.FAILED) or job.requeues or offer.seconds <= 0:
        return 0
    late = min(max(job.ended_at - offer.due_at, 0.0) / offer.seconds, 1.0)
    return int(Fraction(job.charged) * Fraction(offer.late_refund) * Fraction(late))


def refund_posting(offer: StoredOffer, owner: str, amount: int) -> Posting | None:
    """The money back for a late job; None: nothing moves. owner: project of the queue."""
    if amount <= 0 or owner == offer.project_id:
        return None
    return _moved(Reason.COMPENSATION, f'offer/{offer.id}', owner, offer.project_id, amount)


def _moved(reason: Reason, subject: str, payer: str, payee: str, amount: int) -> Posting:
    return Posting(
        key=posting_key(reason, NO_PERIOD, subject),
        reason=reason,
        debit=account('project', payer),
        credit=account('project', payee),
        amount=amount,
    )
