# SPDX-License-Identifier: Apache-2.0
"""Sends the steps of hosts as notifications, each at most once (services.event_sender).

Beyond CloudAlloc, for rule W3 of doc/source/specs/leases.rst.
"""

from nova_market.core.power.record import PowerEvent, power_notices
from nova_market.ports import Clock, JobStateStore, Notices, PowerStore
from nova_market.row_boundary import RowBoundary
from nova_market.services.event_sender import EventSender

STATE = 'power_notices'
"""Name of the place among the documents of the services."""


class PowerNotices(EventSender[PowerEvent]):
    """send() in each pass."""

    def __init__(
        self,
        *,
        power: PowerStore,
        states: JobStateStore,
        notices: Notices,
        clock: Clock,
        boundary: RowBoundary,
    ) -> None:
        super().__init__(
            state=STATE,
            since=power.events_since,
            notices_of=power_notices,
            states=states,
            notices=notices,
            clock=clock,
            boundary=boundary,
        )
