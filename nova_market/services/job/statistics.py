# SPDX-License-Identifier: Apache-2.0
"""Keeps what queues used and did in each minute.

Implements the job statistics of SVMSched, section 4.2.4 (rule J6 of doc/source/specs/jobs.rst); what is kept
is computed in core.job.minutes. Units: seconds since the epoch.

Rows are written before the mark. A service that is killed in between, or another that leads for a moment,
computes the same rows again from the same mark.
"""

from collections.abc import Iterator

from nova_market.core.job.minutes import (
    MINUTE,
    Happened,
    Mark,
    PassRead,
    needed,
    queue_minutes,
)
from nova_market.core.job.record import JobEvent
from nova_market.core.row_check import checked
from nova_market.ports import AttemptStore, JobStateStore, JobStore, QueueStore
from nova_market.row_boundary import RowBoundary

EVERY = 10.0
"""Seconds between two writes within a minute: who looks at the current one sees it so late at most."""

STATE = 'minutes'
"""Name of the mark among the documents of the service."""


class JobStatistics:
    """What it remembers only saves writing."""

    def __init__(
        self,
        *,
        queues: QueueStore,
        jobs: JobStore,
        attempts: AttemptStore,
        states: JobStateStore,
        boundary: RowBoundary,
    ) -> None:
        self._queues = queues
        self._jobs = jobs
        self._attempts = attempts
        self._states = states
        self._boundary = boundary
        self._recorded = 0.0

    def record(self, read: PassRead) -> None:
        """Keep the minutes up to now; call it in each pass, before anything is decided.

        :raises DatabaseUnavailable: a later call makes up for it.
        """
        if not self._due(read.now):
            return
        stored = self._states.read(STATE)
        begin = Mark(until=read.now)
        mark = self._boundary.value(
            'document', STATE, 'parse', lambda: checked(Mark(**stored)) if stored else begin, begin
        )
        rows, after = queue_minutes(read, mark, self._since(mark, read))
        self._queues.note(rows)
        if after != mark or not stored:
            self._states.write(STATE, {'until': after.until, 'number': after.number})
        self._recorded = read.now

    def forget(self) -> None:
        """Another service has led meanwhile."""
        self._recorded = 0.0

    def _due(self, now: float) -> bool:
        waits = 0.0 <= now - self._recorded < EVERY
        return not waits or now // MINUTE != self._recorded // MINUTE

    def _since(self, mark: Mark, read: PassRead) -> Happened:
        events = list(self._events(mark.number))
        names = needed(events, read)
        if not names:
            return Happened(events=events)
        return Happened(
            events=events,
            jobs=self._jobs.by_ids(names),
            attempts=self._attempts.attempts(names),
        )

    def _events(self, after: int) -> Iterator[JobEvent]:
        while page := self._attempts.events_since(after):
            yield from page
            after = page[-1].number
