# SPDX-License-Identifier: Apache-2.0
"""A clock that tests and the simulator turn by hand."""


class ManualClock:
    """Stands still until it is moved; its wall clock may be set to any value."""

    def __init__(self, *, monotonic: float = 1000.0, wall: float = 1.7e9) -> None:
        self._monotonic = monotonic
        self._wall = wall

    def monotonic(self) -> float:
        return self._monotonic

    def wall(self) -> float:
        return self._wall

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks.

        :raises ValueError: for negative seconds; only the wall clock can go back, by set_wall.
        """
        if not seconds >= 0:
            raise ValueError(f'a monotonic clock cannot advance by {seconds!r} seconds')
        self._monotonic += seconds
        self._wall += seconds

    def set_wall(self, wall: float) -> None:
        """Let the wall clock jump, as after an NTP step."""
        self._wall = wall
