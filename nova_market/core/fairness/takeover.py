# SPDX-License-Identifier: Apache-2.0
"""What a start of the service takes over from a run that was killed.

Implements rules H7 and H9 of doc/source/specs/fairness.rst. x is the log-weight of core.fairness.priority.

A killed service leaves its weights in the kernel. Putting the originals back at the next start would give
everybody equal weights until the first round has measured the guests, so the start keeps what it finds.
The x of a guest decays meanwhile as it does without totals:

    x after t seconds = (1 - lam) ^ (t / interval) * x        lam: smoothing of the priority
"""

from collections.abc import Collection, Mapping

from nova_market.core.fairness.priority import PrioritySettings
from nova_market.core.host.load import Incarnation, Measurement
from nova_market.core.resource import GuestId


def surviving_log_weights(
    x: Mapping[Incarnation, float],
    taken_over: Collection[Incarnation],
    intervals: float,
    settings: PrioritySettings,
) -> dict[Incarnation, float]:
    """x of the guests that are taken over, `intervals` intervals after it was recorded."""
    rest = (1.0 - settings.smoothing) ** max(intervals, 0.0)
    return {key: value * rest for key, value in x.items() if key in taken_over}


def not_measured_yet(
    measurement: Measurement, taken_over: Collection[Incarnation]
) -> frozenset[GuestId]:
    """Guests that were taken over and whose load is not known: their weights stay as they were found."""
    return frozenset(
        guest.id
        for guest, seen in zip(measurement.guests, measurement.seen.tolist(), strict=True)
        if not seen and guest.incarnation in taken_over
    )
