# SPDX-License-Identifier: Apache-2.0
"""Leases as they are kept, as a test needs them: everything that it does not name has a plain value."""

from nova_market.core.lease.limit import LeaseLimits, LeaseQuota
from nova_market.core.lease.record import LeaseAction, LeaseEvent, LeaseNode, StoredLease
from nova_market.core.ledger.posting import ESCROW, Posting, Reason, account, posting_key
from tests.support.job_records import id_of

NOW = 1_800_000_000.0
HOUR = 3600.0
PART = (2.0, 2048.0, 0.0)


def node(host='h0', amounts=PART):
    return LeaseNode(host=host, amounts=amounts)


def lease(name='a', project='red', *, start=NOW + 2 * HOUR, hours=1.0, hosts=('h0',), **more):
    """Of a part of each of these hosts, one core-hour of which costs a credit."""
    end = start + hours * HOUR
    given = {
        'name': name, 'user_id': 'u', 'payer_id': project, 'amounts': PART, 'whole': False,
        'duration': hours * HOUR, 'earliest': start, 'finish': end, 'count': len(hosts),
        'nodes': tuple(node(host) for host in hosts), 'created_at': NOW,
    }  # fmt: skip
    return StoredLease(id=id_of(name), project_id=project, start=start, end=end, **given | more)


def quota(leases=9, now=NOW, total=(0.0, 0.0, 0.0), **limits):
    """What a booking is checked against; nothing but the number of leases is limited."""
    return LeaseQuota(limits=LeaseLimits(leases=leases, **limits), total=total, now=now)


def event(name='a', action=LeaseAction.BOOKED, at=NOW, **more):
    return LeaseEvent(lease_id=id_of(name), at=at, action=action, **more)


def hold(one, amount):
    """What is held for a lease, as a posting."""
    return Posting(
        key=posting_key(Reason.HOLD, 0, f'lease/{one.id}'),
        reason=Reason.HOLD,
        debit=account('project', one.payer_id),
        credit=ESCROW,
        amount=amount,
    )
