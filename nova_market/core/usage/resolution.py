# SPDX-License-Identifier: Apache-2.0
"""How finely usage history is kept, and for how long.

Implements rule U1 of doc/source/specs/usage.rst: a minute for a day, ten minutes for a month, a day for two
years, unless the operator sets other times. Units: seconds. Spans of time begin at multiples of their length
since the epoch, so days are days of UTC.
"""

from dataclasses import dataclass
from enum import Enum

from nova_market.core.usage.use import MINUTE
from nova_market.errors import BadUsageQuery

TEN_MINUTES = 600
DAY = 86_400


class Resolution(Enum):
    """The value is its length in seconds."""

    MINUTE = MINUTE
    TEN_MINUTES = TEN_MINUTES
    DAY = DAY

    def begin(self, at: float) -> int:
        """The first second of the span that holds this moment."""
        return int(at // self.value) * self.value


NAMES = {'1m': Resolution.MINUTE, '10m': Resolution.TEN_MINUTES, '1d': Resolution.DAY}
"""As users write them."""

LATE = 300
"""Seconds after the end of ten minutes until they are rolled up: what comes later is not counted."""

MOST_POINTS = 2000
"""Points in one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Seconds for which each resolution is kept."""

    minutes: float = 86_400.0
    ten_minutes: float = 30 * 86_400.0
    days: float = 730 * 86_400.0

    def of(self, resolution: Resolution) -> float:
        return {
            Resolution.MINUTE: self.minutes,
            Resolution.TEN_MINUTES: self.ten_minutes,
            Resolution.DAY: self.days,
        }[resolution]


def chosen(wanted: str | None, since: float, until: float, now: float, keep: Keeping) -> Resolution:
    """The resolution to answer with: the one asked for, or the finest that is kept so long and not too long.

    :raises BadUsageQuery: the interval is backwards, or has more points than one answer.
    """
    if until <= since:
        raise BadUsageQuery(
            f'the interval ends {since - until:.0f} s before it begins: give a `since` before `until`'
        )
    if wanted is None:
        for one in Resolution:
            if now - since <= keep.of(one) and points(one, since, until) <= MOST_POINTS:
                return one
        wanted = '1d'
    found = NAMES[wanted]
    count = points(found, since, until)
    if count > MOST_POINTS:
        raise BadUsageQuery(
            f'{count} points of {wanted} in this interval: at most {MOST_POINTS} are possible; give a '
            f'shorter interval (at most {MOST_POINTS * found.value // 3600} h) or a coarser resolution'
        )
    return found


def points(resolution: Resolution, since: float, until: float) -> int:
    """How many spans of this length touch an interval."""
    return (resolution.begin(until - 1e-6) - resolution.begin(since)) // resolution.value + 1
