# SPDX-License-Identifier: Apache-2.0
"""Which jobs are there, round after round.

Beyond the papers. Rounds begin at whole multiples of the period; times at which no job is there are passed
over. Units: seconds.
"""

from collections.abc import Iterator

import numpy as np

from nova_market.core.resource import Array, Flags, Rows


class Presence:
    """rows: jobs that have arrived and are not over; idle: whether none was there before this round."""

    def __init__(self, submit: Array, period: float) -> None:
        self.rows: Rows = np.zeros(0, dtype=np.intp)
        self.idle = True
        self._submit, self._period = submit, period

    def rounds(self) -> Iterator[float]:
        """The time of each round, until every job has come and is over."""
        submit, arrived, number = self._submit, 0, 0
        while arrived < len(submit) or len(self.rows):
            self.idle = not len(self.rows)
            if self.idle:
                number = max(number, int(np.ceil(submit[arrived] / self._period)))
            now = number * self._period
            until = int(np.searchsorted(submit, now, side='right'))
            self.rows = np.concatenate([self.rows, np.arange(arrived, until)])
            arrived = until
            yield now
            number += 1

    def keep(self, chosen: Flags) -> None:
        """The other jobs are over; chosen: (rows,)"""
        self.rows = self.rows[chosen]
