# SPDX-License-Identifier: Apache-2.0
"""Notifications about leases, made of their events: `market.lease.<action>`.

After CloudAlloc, section 4, scenario 4 ("a user may be notified when its workload starts/finishes"). A lost
notification does no harm: events stay.
"""

from collections.abc import Mapping, Sequence

from nova_market.core.lease.record import LeaseEvent, StoredLease
from nova_market.core.notice.notice import Notice


def lease_notices(events: Sequence[LeaseEvent], leases: Mapping[str, StoredLease]) -> list[Notice]:
    """Notices of these events, in their order. leases: those of them that are still there, by id."""
    return [
        Notice(
            event=f'market.lease.{event.action}',
            project_id=leases[event.lease_id].project_id,
            payload={
                **event.numbers,
                'lease_id': event.lease_id,
                'name': leases[event.lease_id].name,
                'state': str(leases[event.lease_id].state),
                'reason': event.reason,
            },
            key=f'lease:{event.number}',
            at=event.at,
            user_id=leases[event.lease_id].user_id,
        )
        for event in events
        if event.lease_id in leases
    ]
