# SPDX-License-Identifier: Apache-2.0
"""How much memory each guest of a host is guaranteed under pressure.

Takes the place of the RAM soft limit of IFI-2016.04, section IV-E. Units: bytes. Arrays (vms,).

Differs from the paper: the soft limit was spread linearly over [10 MiB, RAM of the VM] by priority, which
takes away memory that a guest works with. Here pass one guarantees working sets, pass two divides what
is left by weight up to the size of the guest.
"""

import numpy as np

from nova_market.core.resource import Array
from nova_market.core.share import fair_shares

GUARANTEED = 0.9
"""Part of the guests' memory that may be guaranteed; the rest lets the kernel reclaim at all."""

SLACK = 1.05
"""Headroom over the working set, so that a guarantee written now holds for the next interval."""


def guarantees(working_set: Array, size: Array, weights: Array, supply: float) -> Array:
    """Bytes guaranteed per guest, at most `size`, in total at most GUARANTEED * supply.

    When the working sets fit, no guest is guaranteed less than its own (plus slack).
    """
    budget = GUARANTEED * supply
    needed = np.minimum(working_set * SLACK, size)
    first = fair_shares(weights, needed, budget)
    second = fair_shares(weights, size - first, budget - float(first.sum()))
    return first + second


def spared(values: Array, working_set: Array, size: Array) -> Array:
    """Soft limits of cgroup v1: the values, but never less than the working set of the guest with SLACK."""
    return np.maximum(values, np.minimum(working_set * SLACK, size))
