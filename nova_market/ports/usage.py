# SPDX-License-Identifier: Apache-2.0
"""Where usage history is kept (rules U1 and U2). Any method may raise errors.DatabaseUnavailable."""

from collections.abc import Sequence
from typing import Protocol

from nova_market.core.usage.history import (
    Counted,
    KnownSeries,
    SeriesUse,
    UsageFilter,
    UsageSums,
)
from nova_market.core.usage.resolution import Resolution


class UsageStore(Protocol):
    """The history as the engine writes it."""

    def add(self, used: Sequence[SeriesUse]) -> Counted:
        """Count minutes; a series' minute counts once, however often it is given."""

    def roll(self, now: float) -> int:
        """Roll up the next ten minutes, if they are over: the first second after them; 0: nothing is due."""

    def purge(self, now: float) -> int:
        """Take away some of what is older than is kept; how many rows. now: wall-clock time."""


class UsageHistory(Protocol):
    """The history as it is read."""

    def series(
        self,
        chosen: UsageFilter,
        since: float,
        until: float,
        after: int = 0,
        limit: int | None = None,
    ) -> Sequence[KnownSeries]:
        """Series with use in an interval, by number. after: the last one of a page."""

    def by_span(
        self,
        found: Sequence[KnownSeries],
        chosen: UsageFilter,
        resolution: Resolution,
        since: float,
        until: float,
    ) -> UsageSums:
        """The use of these series together, in each span that touches the interval.

        :raises errors.BadUsageQuery: more would be read than one answer may take.
        """

    def by_series(
        self,
        found: Sequence[KnownSeries],
        chosen: UsageFilter,
        resolution: Resolution,
        since: float,
        until: float,
    ) -> UsageSums:
        """The use of each of these series in the interval; errors as by_span."""
