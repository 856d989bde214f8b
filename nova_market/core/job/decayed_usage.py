# SPDX-License-Identifier: Apache-2.0
"""What owners have used, where use long ago counts less: the usage of the policy `fair_tree`.

Implements the decay of Slurm's multifactor priority (PriorityDecayHalfLife): a core-second that was used t
seconds ago counts 2^(-t / H). For a job that held c cores during [a, b), seen at time n >= b:

    usage = c * H / ln 2 * (2^(-(n - b) / H) - 2^(-(n - a) / H))      0 <= usage <= c * (b - a)

which is the integral, so that it does not matter how often it is computed: the sum over jobs that have
ended and jobs that run is exact at any time, and old sums are brought forward by one factor.

Units: cores, seconds, core-seconds.
"""

import numpy as np

from nova_market.core.resource import Array, Rows

HALF_LIFE = 7 * 86400.0
"""Seconds; Slurm's default (PriorityDecayHalfLife=7-0)."""


def decayed(usage: Array, seconds: float, half_life: float = HALF_LIFE) -> Array:
    """An old sum, so many seconds later."""
    later: Array = usage * np.exp2(-seconds / half_life)
    return later


def used_until(
    cores: Array, begin: Array, end: Array, now: float, half_life: float = HALF_LIFE
) -> Array:
    """What each job counts now, (jobs,). A job that runs has end = now or later."""
    until, since = np.minimum(end, now), np.minimum(begin, now)
    recent = np.exp2((until - now) / half_life) - np.exp2((since - now) / half_life)
    usage: Array = cores * (half_life / np.log(2.0)) * np.maximum(recent, 0.0)
    return usage


def by_owner(usage: Array, owner: Rows, owners: int) -> Array:
    """Sums of jobs' usage by owner, (owners,)."""
    total: Array = np.bincount(owner, usage, owners).astype(np.float64)
    return total
