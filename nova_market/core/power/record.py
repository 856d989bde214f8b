# SPDX-License-Identifier: Apache-2.0
"""What is kept of the power of hosts: where each is on its way, and what happened.

For rule W3 of doc/source/specs/leases.rst. Seconds since the epoch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from nova_market.core.notice.notice import Notice
from nova_market.core.power.host_step import HostState

MAX_EVENTS = 200
"""Events that are kept of a host."""


class Mode(StrEnum):
    """What the service does: nothing, show what it would do, or do it."""

    OFF = 'off'
    ADVISE = 'advise'
    AUTO = 'auto'


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPower:
    """state: of the steps; why: the reason of the last step that an operator must see

    revision: grows with each change; 0: nothing is stored
    """

    state: HostState = field(default_factory=HostState)
    why: str = ''
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerEvent:
    """One step of a host, and why. action: the phase in which the host is from then on"""

    host: str
    at: float
    action: str
    reason: str = ''
    numbers: Mapping[str, float] = field(default_factory=dict)
    number: int = 0
    """Grows with time; the marker of the next page. 0: not stored yet."""


def power_notices(events: Sequence[PowerEvent]) -> list[Notice]:
    """`market.power.<phase>` for each event, in their order. Hosts are of no project."""
    return [
        Notice(
            event=f'market.power.{one.action}',
            project_id='',
            payload={**one.numbers, 'host': one.host, 'reason': one.reason},
            key=f'power:{one.number}',
            at=one.at,
        )
        for one in events
    ]
