# SPDX-License-Identifier: Apache-2.0
"""Sends the events of leases as notifications, each at most once (services.event_sender).

For users of CloudAlloc, section 4, scenario 4, who wait for their leases.
"""

from collections.abc import Sequence

from nova_market.core.lease.notices import lease_notices
from nova_market.core.lease.record import LeaseEvent
from nova_market.core.notice.notice import Notice
from nova_market.ports import Clock, JobStateStore, LeaseStore, Notices
from nova_market.row_boundary import RowBoundary
from nova_market.services.event_sender import EventSender

STATE = 'lease_notices'
"""Name of the place among the documents of the services."""


class LeaseNotices(EventSender[LeaseEvent]):
    """send() in each pass."""

    def __init__(
        self,
        *,
        leases: LeaseStore,
        states: JobStateStore,
        notices: Notices,
        clock: Clock,
        boundary: RowBoundary,
    ) -> None:
        def made(events: Sequence[LeaseEvent]) -> list[Notice]:
            ids = list(dict.fromkeys(one.lease_id for one in events))
            return lease_notices(events, leases.by_ids(ids))

        super().__init__(
            state=STATE,
            since=leases.events_since,
            notices_of=made,
            states=states,
            notices=notices,
            clock=clock,
            boundary=boundary,
        )
