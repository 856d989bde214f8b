# SPDX-License-Identifier: Apache-2.0
"""The machine's clock, and one that tests and the simulator turn by hand."""

import time


class SystemClock:
    """The kernel's clocks."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()
