# SPDX-License-Identifier: Apache-2.0
"""The machine's clock, and one that runs faster."""

import time
from collections.abc import Callable


class SystemClock:
    """The kernel's clocks."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()


class FastClock:
    """Stands still until it runs, then `speed` times as fast as the machine's. From many threads."""

    def __init__(self, wall: float, source: Callable[[], float] = time.monotonic) -> None:
        """wall: seconds since the epoch, where it begins; source: the machine's"""
        self._source = source
        # replaced as one, so that no thread sees a part of it: had, when, and how fast it runs since
        self._hands = wall, source(), 0.0

    @property
    def speed(self) -> float:
        """0: it stands still."""
        return self._hands[2]

    def monotonic(self) -> float:
        """As `wall`, which never goes back here."""
        return self.wall()

    def wall(self) -> float:
        had, when, speed = self._hands
        return had + (self._source() - when) * speed

    def run(self, speed: float) -> None:
        """From now on at this speed, 0: stand still."""
        self._hands = self.wall(), self._source(), speed

    def advance(self, seconds: float) -> None:
        """Let so much time pass at once."""
        had, when, speed = self._hands
        self._hands = had + seconds, when, speed
