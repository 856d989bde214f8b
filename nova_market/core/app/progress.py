# SPDX-License-Identifier: Apache-2.0
"""How far an application is, how long it still takes, and how that compares with its deadline.

Implements Merkat (INRIA RR-8648), section 3.2.1, eq. (4), and the performance value of section
2.3.2 ("the remaining execution time of the application is less than 75% of remaining time to deadline").
Units: seconds; an iteration is whatever the application counts. Arrays and numbers alike.

Differs from the paper: a time per iteration is measured over the time since the last report, so it
already holds what the application waits for CPU and disk.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import Array
from nova_market.errors import BadAmount


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """done of total iterations, at seconds_each for the latest ones."""

    total: float
    done: float
    seconds_each: float

    def __post_init__(self) -> None:
        if not (0 <= self.done <= self.total < np.inf and 0 <= self.seconds_each < np.inf):
            raise BadAmount(
                f'{self.done:g} of {self.total:g} iterations at {self.seconds_each:g} s: '
                'give 0 <= done <= total and finite seconds, 0 or more'
            )

    @property
    def part(self) -> float:
        """What is done, 0 to 1; nothing to do is done."""
        return self.done / self.total if self.total > 0 else 1.0

    @property
    def remaining(self) -> float:
        """Eq. (4): seconds that are left at the speed of the latest iterations."""
        return (self.total - self.done) * self.seconds_each


def reference_seconds_each(progress: Progress, left: float) -> float:
    """The time per iteration that meets the deadline in `left` seconds; 0 when it has passed."""
    todo = progress.total - progress.done
    return max(left, 0.0) / todo if todo > 0 else np.inf


def lateness(remaining: Array, left: Array) -> Array:
    """v of section 2.3.2: remaining execution time / remaining time to the deadline.

    Above 1 the deadline is missed at this speed; 0 when nothing is left to do, inf at and after the deadline.
    """
    with np.errstate(divide='ignore', over='ignore'):
        late = np.divide(remaining, left, out=np.full(np.shape(remaining), np.inf), where=left > 0)
    found: Array = np.where(remaining > 0, late, 0.0)
    return found
