# SPDX-License-Identifier: Apache-2.0
"""From heaviness to weights: the controller, and the paper's own mapping.

Implements IFI-2016.04, section IV-E (priorities of VMs from h_v and h_u; CPU, disk and network by
proportional weights). Arrays (vms,); heaviness and log-weights dimensionless.

Differs from the paper, which leaves the mapping open. The controller:

    H(v) = h_u(owner) + a * (emphasis(v) - mean emphasis of the owner's VMs here)
    y(v) = -k * (H(v) - mean of H over the host)
    x(v) <- clip((1 - lam) * x + lam * y, +-ln(span) / 2)
    weight(v) ~ base(v) / sum of size of the owner's active VMs here * entitlement(owner) * exp(x(v))

Owner grouping comes first, so that starting a second VM does not double an owner's share at once; the
feedback x then corrects what the owner uses elsewhere. Centring the emphasis keeps a user with one
busy VM from being charged twice. k * lam <= 0.3 is stable with up to two intervals of delay.

Mode `paper` maps h_u + h_v as the 2016 service did (see paper_values).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from nova_market.core.resource import Array, Flags, OwnerId, Rows

MEMORY_FLOOR = 10 * 1024 * 1024
"""Smallest soft limit of the paper, bytes."""

PAPER_RANGES = {'cpu': (1, 100), 'disk': (100, 1000), 'network': (1, 98)}
"""Ranges of section IV-E. Memory goes from MEMORY_FLOOR to the size of the guest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrioritySettings:
    """mode: `centred` or `paper`; gain k; smoothing lam in (0, 1]; span: largest ratio between two
    weights that heaviness alone may cause; emphasis a; grouping by owner."""

    mode: str = 'centred'
    gain: float = 2.0
    smoothing: float = 0.15
    span: float = 16.0
    emphasis: float = 0.5
    grouping: bool = True


def priorities(
    user_heaviness: Array, emphasis: Array, owners: Rows, settings: PrioritySettings
) -> Array:
    """H(v), shape (vms,). user_heaviness is that of each VM's owner; owners are row numbers."""
    if settings.mode == 'paper':
        return user_heaviness + emphasis
    return user_heaviness + settings.emphasis * (emphasis - _group_mean(emphasis, owners))


def log_weights(previous: Array, priority: Array, settings: PrioritySettings, fresh: bool) -> Array:
    """x(v) after one step; towards 0 when the totals of the cloud are not fresh."""
    target = np.zeros_like(previous)
    if fresh and len(priority):
        target = -settings.gain * (priority - priority.mean())
    bound = log(settings.span) / 2
    return np.clip((1 - settings.smoothing) * previous + settings.smoothing * target, -bound, bound)


def relative_weights(
    size: Array,
    base: Array,
    owners: Rows,
    active: Flags,
    entitlement: Array,
    x: Array,
    settings: PrioritySettings,
) -> Array:
    """Weights of mean 1: guests as a whole keep their weight against the rest of the host.

    size:        what a VM of this many vCPUs would weigh by itself, any unit
    base:        the same, or the flavor's `quota:cpu_shares`; base / size is the tier of the flavor
    owners:      row number of the owner of each VM; active: bool per VM
    entitlement: relative right of each VM's owner (quota share), 1 = like everybody
    An inactive VM gets what it would have if it woke up now.
    """
    if not len(size):
        return size.copy()
    part = base
    if settings.grouping:
        together = np.bincount(owners, weights=size * active)[owners] + np.where(active, 0.0, size)
        part = base / together
    raw: Array = part * entitlement * np.exp(x)
    weights: Array = raw / raw.mean()
    return weights


def worth_writing(wanted: int, actual: int, threshold: float = 0.05) -> bool:
    """Is the relative change above the threshold? Saves writes and keeps noise out of the kernel."""
    return abs(wanted - actual) > threshold * max(abs(actual), 1)


def paper_priorities(heaviness: Array) -> Array:
    """p in [-50, 50] from h_u + h_v; light users are favoured 2.5 times as fast as heavy ones fall.

    -50 is the best. The 2016 code truncated p to a whole number, which made small differences vanish;
    here it is kept.
    """
    return np.clip(np.where(heaviness >= 0, 50.0 * heaviness, 125.0 * heaviness), -50.0, 50.0)


def paper_values(priority: Array, minimum: Array | float, maximum: Array | float) -> Array:
    """(50 - p) / 100 of the range."""
    low, high = np.asarray(minimum), np.asarray(maximum)
    values: Array = (50.0 - priority) / 100.0 * (high - low) + low
    return values


def owner_rows(owners: Sequence[OwnerId], order: Sequence[OwnerId]) -> Rows:
    """Row number in `order` of each owner, shape (vms,), integer."""
    row = {owner: i for i, owner in enumerate(order)}
    return np.array([row[owner] for owner in owners], dtype=np.intp)


def _group_mean(values: Array, owners: Rows) -> Array:
    if not len(values):
        return values
    sums = np.bincount(owners, weights=values)
    means: Array = (sums / np.maximum(np.bincount(owners), 1))[owners]
    return means
