# SPDX-License-Identifier: Apache-2.0
"""Sends the events of jobs as notifications, each at most once (services.event_sender).

For users of SVMSched, section 4.2, who wait for their jobs.
"""

from collections.abc import Sequence

from nova_market.core.job.notices import job_notices
from nova_market.core.job.record import JobEvent
from nova_market.core.notice.notice import Notice
from nova_market.ports import AttemptStore, Clock, JobStateStore, JobStore, Notices
from nova_market.row_boundary import RowBoundary
from nova_market.services.event_sender import EventSender

STATE = 'notices'
"""Name of the place among the documents of the service."""


class JobNotices(EventSender[JobEvent]):
    """send() in each pass."""

    def __init__(
        self,
        *,
        attempts: AttemptStore,
        jobs: JobStore,
        states: JobStateStore,
        notices: Notices,
        clock: Clock,
        boundary: RowBoundary,
    ) -> None:
        def made(events: Sequence[JobEvent]) -> list[Notice]:
            return job_notices(
                events, jobs.by_ids(list(dict.fromkeys(one.job_id for one in events)))
            )

        super().__init__(
            state=STATE,
            since=attempts.events_since,
            notices_of=made,
            states=states,
            notices=notices,
            clock=clock,
            boundary=boundary,
        )
