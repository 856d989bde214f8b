# SPDX-License-Identifier: Apache-2.0
"""The money of leases as postings.

Implements rule L6 of doc/source/specs/leases.rst in the ledger of doc/source/specs/market.rst (M1, M2).
Units: whole micro-credits, seconds.

What a lease costs is *held* in escrow with its booking, and paid by the project that booked it. While it
lasts, what has passed of it is *released* and *charged* in one step, once in each charging period. When it is
over, the rest is charged or returned. Keys have period 0 (they are of no round of the market) and name the
lease:

    hold:0:lease/<id>                         at booking
    release, charge:0:lease/<id>/<revision>   something was charged; the revision is that of the row then. The
                                              store gives the charge the period of the market, if there is one
    release:0:lease/<id>/<revision>/rest      it is over: what comes back
    hold:0:lease/<id>/<revision>/more         it was changed and costs more
    release:0:lease/<id>/<revision>/less      it was changed and costs less

A row changes once from each revision, in one transaction with its postings: nothing is posted twice.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from nova_market.core.lease.record import LeaseNode, StoredLease
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.ledger.posting import (
    BANK,
    ESCROW,
    NO_PERIOD,
    AccountId,
    Posting,
    Reason,
    account,
    posting_key,
)
from nova_market.errors import BadLease

HOUR = 3600
MIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasePrices:
    """Micro-credits for an hour of a core, a GiB of memory and a GiB of disk."""

    core_hour: int = 0
    memory_gib_hour: int = 0
    disk_gib_hour: int = 0

    @property
    def by_axis(self) -> tuple[Fraction, Fraction, Fraction]:
        """For a second of a unit of each of AXES."""
        return (
            Fraction(self.core_hour, HOUR),
            Fraction(self.memory_gib_hour, HOUR * MIB),
            Fraction(self.disk_gib_hour, HOUR),
        )


def lease_cost(nodes: Iterable[LeaseNode], duration: float, prices: LeasePrices) -> int:
    """What these nodes cost for so long, rounded up.

    :raises BadLease: more than an account can have.
    """
    rate = sum(
        (
            Fraction(amount) * price
            for node in nodes
            for amount, price in zip(node.amounts, prices.by_axis, strict=True)
        ),
        Fraction(0),
    )
    found = math.ceil(rate * Fraction(duration))
    if found > MAX_AMOUNT:
        raise BadLease('the lease costs more than an account can hold: lease fewer nodes, or less')
    return found


def hold(lease: StoredLease) -> tuple[Posting, ...]:
    """What is held as it is booked."""
    return _posting(Reason.HOLD, f'lease/{lease.id}', _payer(lease), ESCROW, lease.cost)


def charged_until(
    lease: StoredLease, now: float, period: float
) -> tuple[StoredLease, list[Posting]]:
    """With what has passed of it in whole periods charged. A clock that was set back charges nothing."""
    periods = math.floor(max(min(now, lease.end) - lease.start, 0.0) / period)
    return _charged(lease, _part(lease, lease.start + periods * period))


def settled(lease: StoredLease, until: float, part: float) -> tuple[StoredLease, list[Posting]]:
    """With all of it charged or returned. until: when it was over; part: of the rest that is returned."""
    used = used_part(lease, until)
    returned = math.floor((lease.cost - lease.refunded - used) * Fraction(part))
    after, postings = _charged(lease, lease.cost - lease.refunded - returned)
    subject = f'{_subject(lease)}/rest'
    rest = _posting(Reason.RELEASE, subject, ESCROW, _payer(lease), returned)
    return replace(after, refunded=lease.refunded + returned), [*postings, *rest]


def changed_cost(lease: StoredLease, cost: int) -> tuple[StoredLease, tuple[Posting, ...]]:
    """At another price, at least what was charged: more is held, or what is too much comes back.

    :raises BadLease: more than an account can have.
    """
    cost = max(cost, lease.charged + lease.refunded)
    if cost > MAX_AMOUNT:
        raise BadLease(
            'the lease costs more than an account can hold: lease less, or for less time'
        )
    more, subject = cost - lease.cost, _subject(lease)
    postings = (
        *_posting(Reason.HOLD, f'{subject}/more', _payer(lease), ESCROW, more),
        *_posting(Reason.RELEASE, f'{subject}/less', ESCROW, _payer(lease), -more),
    )
    return replace(lease, cost=cost), postings


def used_part(lease: StoredLease, until: float) -> int:
    """What has passed at `until`, of its cost, and at least what was charged."""
    return max(_part(lease, until), lease.charged)


def without_payer(postings: Iterable[Posting]) -> list[Posting]:
    """For a payer whose account is closed: the bank stands for it."""
    found = []
    for one in postings:
        debit, credit = _or_bank(one.debit), _or_bank(one.credit)
        if debit != credit:
            found.append(replace(one, debit=debit, credit=credit))
    return found


def _part(lease: StoredLease, until: float) -> int:
    """What has passed at `until`, of its cost, rounded down; what had passed at a change keeps its price."""
    since = max(lease.start, lease.priced_since)
    passed, length = Fraction(max(min(until, lease.end) - since, 0.0)), Fraction(lease.end - since)
    rest = lease.cost - lease.priced_before
    return lease.priced_before + (math.floor(rest * passed / length) if length > 0 else rest)


def _charged(lease: StoredLease, total: int) -> tuple[StoredLease, list[Posting]]:
    amount = min(total, lease.cost - lease.refunded) - lease.charged
    if amount <= 0:
        return lease, []
    subject, payer = _subject(lease), _payer(lease)
    return replace(lease, charged=lease.charged + amount), [
        *_posting(Reason.RELEASE, subject, ESCROW, payer, amount),
        *_posting(Reason.CHARGE, subject, payer, BANK, amount),
    ]


def _subject(lease: StoredLease) -> str:
    return f'lease/{lease.id}/{lease.revision}'


def _payer(lease: StoredLease) -> AccountId:
    return account('project', lease.payer_id)


def _or_bank(name: AccountId) -> AccountId:
    return BANK if name.startswith('project:') else name


def _posting(
    reason: Reason, subject: str, debit: AccountId, credit: AccountId, amount: int
) -> tuple[Posting, ...]:
    if amount <= 0:
        return ()
    key = posting_key(reason, NO_PERIOD, subject)
    return (Posting(key=key, reason=reason, debit=debit, credit=credit, amount=amount),)
