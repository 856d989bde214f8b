# SPDX-License-Identifier: Apache-2.0
"""What the market grants the guests of this host, and how it fades when the engine sends nothing more.

Implements rules A5 and F3 of doc/source/specs/market.rst: allocations count until they expire; from then
on each look is half way to nothing, so that weights decay to their base values. Units: seconds; periods are
numbered by the engine.

A message gives the wall-clock time at which it expires. The rest is measured with a monotonic clock, so a
wall clock that jumps later does no harm.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nova_market.core.exchange.allocation_messages import AllocationMessage
from nova_market.core.market.inventory import Allocation
from nova_market.core.resource import GuestId

EXPIRED = 'expired'
"""It had expired when it came: it was long under way, or a clock is wrong."""

OVERTAKEN = 'overtaken'
"""A message of a later period has come before."""

MAX_LIFE = 86_400.0
"""Seconds that an allocation is valid at most, whatever the message says."""

FAINT = 1.0 / 64.0
"""What remains of an allocation below this is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveAllocations:
    """What counts now.

    engine, period: of the message, '' and -1 when there has been none or it has faded away
    strength:       1 while it counts, falling to 0 after it has expired
    """

    engine: str = ''
    period: int = -1
    strength: float = 0.0
    allocations: Mapping[GuestId, Allocation] = field(default_factory=dict)

    @property
    def in_force(self) -> bool:
        return self.strength == 1.0


NOTHING = EffectiveAllocations()


class ReceivedAllocations:
    """The newest allocation message. The caller serialises calls."""

    def __init__(self) -> None:
        self._granted = NOTHING
        self._until = 0.0

    @property
    def now(self) -> EffectiveAllocations:
        """As it was at the last look."""
        return self._granted

    def take(self, message: AllocationMessage, wall: float, now: float) -> str:
        """Keep a message; returns '' or why it is not kept. One of the same period replaces.

        A lower period is taken once the higher one has expired: it means that periods are counted anew.
        """
        left = message.expires - wall
        if left <= 0:
            return EXPIRED
        if message.period < self._granted.period and now < self._until:
            return OVERTAKEN
        self._until = now + min(left, MAX_LIFE)
        self._granted = EffectiveAllocations(
            engine=message.engine,
            period=message.period,
            strength=1.0,
            allocations={GuestId(one.server_id): one for one in message.allocations},
        )
        return ''

    def look(self, now: float) -> EffectiveAllocations:
        """What counts now; called once a round, since each look at what has expired weakens it."""
        if self._granted is not NOTHING and now >= self._until:
            rest = self._granted.strength / 2.0
            self._granted = replace(self._granted, strength=rest) if rest >= FAINT else NOTHING
        return self._granted
