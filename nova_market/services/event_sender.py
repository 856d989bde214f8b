# SPDX-License-Identifier: Apache-2.0
"""Sends stored events as notifications, each at most once, and queues them for mail and webhooks.

For users of SVMSched, section 4.2, and of CloudAlloc, section 4, who wait for their jobs and leases. The
number of the last one is stored before they are sent, in place of the one that was read: a service that is
killed in between leaves some out, and of two that lead at the same moment one sends. What goes by mail or to
webhooks is queued in the transaction that stores the number: nothing is left out. Units: seconds.

Numbers of events are given when they are inserted and seen when their transaction is committed, which may be
in another order. What comes behind a number that is missing waits for PATIENCE: then no transaction that
could still bring it is open, and it was rolled back or deleted.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from nova_market.core.notice.notice import Notice
from nova_market.ports import Clock, JobStateStore, Notices
from nova_market.row_boundary import RowBoundary

PATIENCE = 5.0
"""Seconds; a transaction that inserts events takes some milliseconds."""


class Numbered(Protocol):
    """An event; numbers grow with time."""

    @property
    def number(self) -> int: ...


Event = TypeVar('Event', bound=Numbered)


class EventSender(Generic[Event]):
    """send() in each pass; a page of events at most, as what sends them holds no more either."""

    def __init__(
        self,
        *,
        state: str,
        since: Callable[[int], Sequence[Event]],
        notices_of: Callable[[Sequence[Event]], Sequence[Notice]],
        states: JobStateStore,
        notices: Notices,
        clock: Clock,
        boundary: RowBoundary,
    ) -> None:
        """state: name of the place among the documents of the service; since: events after this number."""
        self._state = state
        self._since = since
        self._notices_of = notices_of
        self._states = states
        self._notices = notices
        self._clock = clock
        self._boundary = boundary
        self._last: Mapping[str, Any] | None = None
        self._seen: dict[int, float] = {}

    def send(self) -> None:
        """Send what has happened since the last call.

        :raises DatabaseUnavailable: a later call makes up for it.
        """
        if self._last is None:
            self._last = self._states.read(self._state)
        number = self._last.get('number', 0)
        after = self._boundary.value('document', self._state, 'parse', lambda: int(number), -1)
        if after < 0:
            self._last = None  # nobody knows what was sent
            return
        ready = self._ready(after, self._since(after))
        if not ready:
            return
        found = self._boundary.batch(
            f'{self._state} event', ready, lambda one: str(one.number), 'notices', self._notices_of
        )
        before, self._last = self._last, {'number': ready[-1].number}
        if not self._states.exchange(self._state, before, self._last, found):
            self._last = None  # another service sends them
            return
        for notice in found:
            self._notices.tell(notice.event, notice.project_id, notice.payload)

    def forget(self) -> None:
        """Another service has led meanwhile."""
        self._last = None
        self._seen = {}

    def _ready(self, after: int, events: Sequence[Event]) -> list[Event]:
        """Those before which no event can appear any more."""
        now = self._clock.monotonic()
        self._seen = {one.number: self._seen.get(one.number, now) for one in events}
        ready: list[Event] = []
        for one in events:
            if one.number != after + 1 and now - self._seen[one.number] < PATIENCE:
                break
            ready.append(one)
            after = one.number
        return ready
