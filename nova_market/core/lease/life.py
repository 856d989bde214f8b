# SPDX-License-Identifier: Apache-2.0
"""What becomes of a lease as time goes by: it starts, is charged, ends; it fails where it cannot be had.

Implements rules L1, L6 and L8 of doc/source/specs/leases.rst, after CloudAlloc, section 3 (Execution
Function). Seconds since the epoch. A lease only goes forward:

    planned -> starting -> active -> ending -> ended
    planned, starting, active, ending -> failed

and what is decided depends on the row, the time and the hosts alone: whoever is killed decides the same
again, and a clock that is set back or forward takes no lease back.
"""

from collections.abc import Set
from dataclasses import dataclass, replace

from nova_market.core.lease.billing import charged_until, settled
from nova_market.core.lease.record import (
    BEGUN,
    LeaseAction,
    LeaseEvent,
    LeaseState,
    LeaseStep,
    StoredLease,
)
from nova_market.core.ledger.money import credit_text
from nova_market.core.ledger.posting import Posting
from nova_market.errors import BadLease


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeSettings:
    """charge_period: seconds from one charge of a lease to the next
    end_notice:    seconds before its end at which its owner is told
    start_patience: seconds that a lease waits for its hosts at its start, before it has failed
    refund:        part of what is not used that comes back when a lease is deleted
    full_refund_within: seconds after its booking in which all of it does
    """

    charge_period: float = 3600.0
    end_notice: float = 900.0
    start_patience: float = 600.0
    refund: float = 0.9
    full_refund_within: float = 300.0

    def __post_init__(self) -> None:
        if not (self.charge_period > 0 and 0 <= self.refund <= 1):
            raise BadLease(f'{self}: give a charge_period above 0 and a refund from 0 to 1')


def next_step(
    lease: StoredLease, now: float, good: Set[str] | None, settings: LifeSettings
) -> LeaseStep | None:
    """What is due now; None: nothing. good: hosts that can be used; None: nobody knows now."""
    if lease.over:
        return None
    after, events = lease, []
    postings: list[Posting] = []
    if after.state is LeaseState.PLANNED and now >= lease.start:
        after = replace(after, state=LeaseState.STARTING)
        events.append(event(after, now, LeaseAction.STARTING, 'its time has come'))
    if after.state is LeaseState.STARTING:
        after, action, why = _started(after, now, good, settings)
        if action is not None:
            events.append(event(after, now, action, why))
    if after.state is LeaseState.ACTIVE and now >= lease.end - settings.end_notice:
        after = replace(after, state=LeaseState.ENDING)
        events.append(event(after, now, LeaseAction.ENDING, 'it ends soon', end=lease.end))
    if after.state in BEGUN and now >= lease.end:
        after = replace(after, state=LeaseState.ENDED, ended_at=now)
        events.append(event(after, now, LeaseAction.ENDED, 'its time is over'))
    if after.state is LeaseState.ENDED:
        after, postings = settled(after, lease.end, 0.0)
    elif after.state is LeaseState.FAILED:
        after, postings = settled(after, lease.start, 1.0)
    elif after.state in BEGUN:
        after, postings = charged_until(after, now, settings.charge_period)
    if after == lease:
        return None
    return LeaseStep(before=lease, after=after, postings=postings, events=events)


def failed(lease: StoredLease, now: float, why: str) -> LeaseStep:
    """It cannot go on; what is not used comes back."""
    after = replace(lease, state=LeaseState.FAILED, ended_at=now)
    after, postings = settled(after, now if lease.state in BEGUN else lease.start, 1.0)
    told = event(lease, now, LeaseAction.FAILED, why, refunded=after.refunded)
    return LeaseStep(before=lease, after=after, postings=postings, events=(told,))


def deleted(lease: StoredLease, now: float, settings: LifeSettings, by: str) -> LeaseStep:
    """Its owner gives it up; a part of what is not used comes back, all of it when it could not begin.

    That is so while it waits for its hosts, and when nobody has started it for `start_patience`. All comes
    back of one that was booked a moment ago, too, and not of one that begins late: who books ahead keeps that
    room from others.
    """
    begun = lease.state in BEGUN
    late = lease.state is LeaseState.STARTING or now >= lease.start + settings.start_patience
    part = 1.0 if not begun and (late or booked_lately(lease, now, settings)) else settings.refund
    until = max(now, lease.start) if begun else lease.start
    after = replace(lease, state=LeaseState.ENDED, ended_at=now)
    after, postings = settled(after, until, part)
    back = after.refunded - lease.refunded
    why = f'by {by}; {credit_text(back)} credits came back'
    told = event(lease, now, LeaseAction.DELETED, why, refunded=back)
    return LeaseStep(before=lease, after=after, postings=postings, events=(told,))


def booked_lately(lease: StoredLease, now: float, settings: LifeSettings) -> bool:
    """Whether all that is held for it comes back."""
    return now <= lease.created_at + settings.full_refund_within


def given(lease: StoredLease, now: float, project_id: str) -> LeaseStep:
    """It is another project's from now on; who has booked it goes on paying, and gets what comes back."""
    after = replace(lease, project_id=project_id)
    why = f'from project {lease.project_id} to project {project_id}'
    return LeaseStep(before=lease, after=after, events=(event(lease, now, LeaseAction.GIVEN, why),))


def event(
    lease: StoredLease, at: float, action: LeaseAction, reason: str = '', **numbers: float
) -> LeaseEvent:
    """One thing that happens to a lease."""
    return LeaseEvent(lease_id=lease.id, at=at, action=action, reason=reason, numbers=numbers)


def _started(
    lease: StoredLease, now: float, good: Set[str] | None, settings: LifeSettings
) -> tuple[StoredLease, LeaseAction | None, str]:
    """(the lease, what has happened, why): it begins when all its hosts are there."""
    if lease.of_blazar:
        started = replace(lease, state=LeaseState.ACTIVE)
        return started, LeaseAction.STARTED, 'Blazar has its hosts'
    missing = [] if good is None else [one.host for one in lease.nodes if one.host not in good]
    if now >= lease.end:
        why = 'its time is over and it has not begun; nothing is charged'
    elif good is not None and lease.nodes and not missing and now >= lease.start:
        return replace(lease, state=LeaseState.ACTIVE), LeaseAction.STARTED, 'its hosts are ready'
    elif good is None or now < lease.start + settings.start_patience:
        return lease, None, ''
    else:
        where = ', '.join(missing) or 'any host'
        why = f'it cannot be had on {where}, and nowhere else; nothing is charged'
    return replace(lease, state=LeaseState.FAILED, ended_at=now), LeaseAction.FAILED, why
