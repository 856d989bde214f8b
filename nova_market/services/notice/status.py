# SPDX-License-Identifier: Apache-2.0
"""What `nova-market-notices status` shows, from the database. Seconds."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from nova_market.ports import JobStateStore
from nova_market.services.notice.delivery import KEPT, STATE

LATE = 3.0
"""Intervals without a pass after which notices are shown as not sent."""

LEAST = 300.0
"""Seconds that a pass may be late at any interval: it waits for webhooks that answer slowly."""


class Counted(Protocol):
    """What the outbox tells of itself."""

    def counts(self, since: float) -> Mapping[str, int]: ...

    def oldest(self) -> float: ...


def status_document(
    outbox: Counted, states: JobStateStore, wall: Callable[[], float]
) -> dict[str, Any]:
    """As JSON has it. `alive`: a pass was made lately; `late`: seconds since, None: there was none."""
    stored, now = states.read(STATE), wall()
    late = max(now - float(stored['at']), 0.0) if stored else None
    patience = max(LATE * float(stored.get('interval', 0.0)), LEAST)
    oldest = outbox.oldest()
    return {
        'alive': late is not None and late <= patience,
        'late': late,
        'oldest': max(now - oldest, 0.0) if oldest else None,
        'events': dict(outbox.counts(now - KEPT)),
    }


def render(document: Mapping[str, Any]) -> str:
    """For a person."""
    late, oldest = document['late'], document['oldest']
    last = 'no pass was made yet' if late is None else f'the last pass was {late:.0f} s ago'
    waits = 'nothing waits' if oldest is None else f'the oldest event waits for {oldest:.0f} s'
    alive = 'sent' if document['alive'] else 'NOT SENT'
    lines = [f'{state}: {count}' for state, count in document['events'].items()]
    return '\n'.join([f'notices: {alive}, {last}', waits, *lines])
