# SPDX-License-Identifier: Apache-2.0
"""What `nova-market-leases status` shows, from the database. Seconds."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from nova_market.core.lease.host_view import host_view_from
from nova_market.core.lease.record import OVER, LeaseState
from nova_market.ports import JobStateStore, LeaseStore
from nova_market.services.lease.leases import STATE
from nova_market.services.lease.observing import STATE as HOSTS

LATE = 3.0
"""Intervals without a pass after which leases are shown as not looked after."""

LEAST = 60.0
"""Seconds that a pass may be late at any interval: it waits for a cloud that answers slowly."""


def status_document(
    leases: LeaseStore, states: JobStateStore, wall: Callable[[], float]
) -> dict[str, Any]:
    """As JSON has it. `alive`: a pass was made lately; `late`: seconds since, None: there was none."""
    stored, view = states.read(STATE), host_view_from(states.read(HOSTS))
    now = wall()
    late = max(now - float(stored['at']), 0.0) if stored else None
    patience = max(LATE * float(stored.get('interval', 0.0)), LEAST)
    counts = Counter(str(one.state) for one in leases.calendar()[1])
    return {
        'alive': late is not None and late <= patience,
        'late': late,
        'hosts': 0 if view is None else int(view.good.sum()),
        'hosts_read': None if view is None else max(now - view.at, 0.0),
        'leases': {str(state): counts[str(state)] for state in LeaseState if state not in OVER},
    }


def render(document: Mapping[str, Any]) -> str:
    """For a person."""
    late, read = document['late'], document['hosts_read']
    last = 'no pass was made yet' if late is None else f'the last pass was {late:.0f} s ago'
    seen = 'not read yet' if read is None else f'read {read:.0f} s ago'
    return '\n'.join(
        [
            'leases: '
            + ('looked after' if document['alive'] else 'NOT LOOKED AFTER')
            + f', {last}',
            f'hosts that can be leased: {document["hosts"]}, {seen}',
            *(f'{state}: {count}' for state, count in document['leases'].items()),
        ]
    )
