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
        self._speed = 0.0
        self._monotonic = self._since = source()
        self._ahead = wall - self._monotonic

    @property
    def speed(self) -> float:
        """0: it stands still."""
        return self._speed

    def monotonic(self) -> float:
        return self._monotonic + (self._source() - self._since) * self._speed

    def wall(self) -> float:
        return self._ahead + self.monotonic()

    def run(self, speed: float) -> None:
        """From now on at this speed, 0: stand still."""
        self._monotonic, self._since = self.monotonic(), self._source()
        self._speed = speed

    def advance(self, seconds: float) -> None:
        """Let so much time pass at once."""
        self._monotonic += seconds
