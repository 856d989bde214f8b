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
    """Both clocks run `speed` times as fast as the machine's, from the time `wall` on (seconds since the epoch)."""

    def __init__(
        self, speed: float, wall: float, source: Callable[[], float] = time.monotonic
    ) -> None:
        self._speed = speed
        self._wall = wall
        self._source = source
        self._start = source()

    def monotonic(self) -> float:
        return self._start + self._passed()

    def wall(self) -> float:
        return self._wall + self._passed()

    def _passed(self) -> float:
        return (self._source() - self._start) * self._speed
