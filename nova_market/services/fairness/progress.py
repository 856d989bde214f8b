# SPDX-License-Identifier: Apache-2.0
"""How far the round is that runs now: written by the thread of the rounds, read by those that watch it.

Implements rule H17 of doc/source/specs/fairness.rst. Units: seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from nova_market.ports import Clock

PHASES = ('sample', 'weigh', 'exchange', 'decide', 'apply')
"""Of a round, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundUnderWay:
    """began: wall-clock time; seconds: since then; phase: one of PHASES."""

    began: float
    seconds: float
    phase: str


class Progress:
    """The phases of one round after the other."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall = 0.0
        self._marks: tuple[tuple[str, float], ...] = ()

    def enter(self, phase: str) -> None:
        """A phase begins; with the first one of PHASES, a round."""
        now = self._clock.monotonic()
        if phase == PHASES[0]:
            self._marks = ()
            self._wall = self._clock.wall()
        self._marks = (*self._marks, (phase, now))

    def leave(self) -> Mapping[str, float]:
        """The round has ended, one way or the other; phase -> duration. Idempotent."""
        marks, self._marks = self._marks, ()
        ends = (*(began for _, began in marks[1:]), self._clock.monotonic())
        return {phase: end - began for (phase, began), end in zip(marks, ends, strict=False)}

    def under_way(self) -> RoundUnderWay | None:
        """The round that runs now, None between two rounds. From any thread."""
        marks = self._marks
        if not marks:
            return None
        return RoundUnderWay(
            began=self._wall, seconds=self._clock.monotonic() - marks[0][1], phase=marks[-1][0]
        )
