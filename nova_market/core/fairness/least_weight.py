# SPDX-License-Identifier: Apache-2.0
"""The least CPU weight of a guest: what its emulator needs to answer at all.

For rule H16 of doc/source/specs/fairness.rst. QEMU's own threads are in the group of the guest. A guest whose
weight is the smallest of the kernel can do nothing while others are busy: its monitor answers after seconds,
and statistics, writes, migrations and stops wait for it.

    least(v)  = min(least_cores, LARGEST_PART * cores / guests) / cores     as a part of all weights
    weight(v) = max(weight(v), t),  t the smallest for which t / sum of all weights >= least(v)

So all guests that are raised have the same weight, none is lowered, and the order stays. What the raised ones
have more when all guests are busy, the others lose in proportion to their weights.

Units: cores; weights in those of the CPU control. Arrays (vms,).
"""

import numpy as np

from nova_market.core.resource import Array

LARGEST_PART = 0.25
"""Of the cores of a host that least weights take together: with .01 each, enough for 25 guests a core."""


def raised(weights: Array, cores: float, least_cores: float) -> Array:
    """Weights that leave each guest `least_cores`, when all are busy.

    weights:     at least 0
    cores:       that the guests share
    least_cores: 0 = raise nothing
    """
    count = len(weights)
    if not count or cores <= 0:
        return weights
    part = min(least_cores / cores, LARGEST_PART / count)
    ascending = np.sort(weights)
    # t for which the k smallest are raised: t = part * (k * t + the sum of the others)
    others = ascending.sum() - np.concatenate(([0.0], np.cumsum(ascending)[:-1]))
    level = part * others / (1.0 - part * np.arange(count))
    enough = np.flatnonzero(ascending >= level)
    least = level[enough[0]] if len(enough) else 0.0
    result: Array = np.maximum(weights, least)
    return result
