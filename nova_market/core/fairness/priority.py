# SPDX-License-Identifier: Apache-2.0
"""From heaviness to weights: the controller, and the paper's own mapping.

Implements IFI-2016.04, section IV-E (priorities of VMs from h_v and h_u; CPU, disk and network by
proportional weights). Arrays (vms,); heaviness and log-weights dimensionless.

Differs from the paper, which leaves the mapping open. The controller:

    H(v) = h_u(owner) + a * (emphasis(v) - mean emphasis of the owner's VMs that compete here)
    y(v) = -k * (H(v) - mean of H) / max(1, mean of h_u - h_0)    means over those that compete, by their use
    x(v) <- (1 - lam) * x + lam * (c * within_span(c * y) + (1 - c) * max(min(y, 0), -ln(span)))
    weight(v) ~ base(v) / sum of c * size of the owner's VMs here * entitlement(owner) * exp(x(v))

where c is how much v competes (core.fairness.competition) and h_0 the heaviness of an owner without VMs.

Owner grouping comes first, so that starting a second VM does not double an owner's share at once; the
feedback x then corrects what the owner uses elsewhere. Centring the emphasis keeps a user with one
busy VM from being charged twice. k * lam <= 0.3 is stable with up to two intervals of delay.

Idle guests change nothing between those that compete (rules H20 to H23): they are not in the means, and
dividing by the mean heaviness takes out that U, the number of owners in the norm, grows with owners who use
nothing. An idle guest has the weight of the mean, less when its owner is heavy elsewhere, and never more:
whoever wakes has his part at once, and no more until it shows that he is light.

Mode `paper` maps h_u + h_v as the 2016 service did (see paper_values).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from nova_market.core.fairness.competition import Competition
from nova_market.core.resource import Array, OwnerId, Rows
from nova_market.core.share import fair_shares

MEMORY_FLOOR = 10 * 1024 * 1024
"""Smallest soft limit of the paper, bytes."""

LEAST_COUNT = 1e-9
"""Keeps the mean over an owner without VMs here from being 0 / 0; no guest counts so little."""

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
    user_heaviness: Array, emphasis: Array, owners: Rows, part: Array, settings: PrioritySettings
) -> Array:
    """H(v), shape (vms,). user_heaviness is that of each VM's owner; owners are row numbers.

    part: how much each VM competes, in [0, 1]
    """
    if settings.mode == 'paper':
        return user_heaviness + emphasis
    return user_heaviness + settings.emphasis * (emphasis - _group_mean(emphasis, owners, part))


def log_weights(
    previous: Array,
    priority: Array,
    rivals: Competition,
    held: Array,
    settings: PrioritySettings,
    fresh: bool,
) -> Array:
    """x(v) after one step; towards 0 when the totals of the cloud are not fresh.

    held: user heaviness of each VM's owner above that of an owner without VMs
    """
    target = np.zeros_like(previous)
    if fresh and len(priority):
        scale = max(1.0, rivals.mean(np.nan_to_num(held)))
        wanted = -settings.gain * (priority - rivals.mean(priority)) / scale
        span = log(settings.span)
        competing = rivals.part * within_span(rivals.part * wanted, span)
        target = competing + (1 - rivals.part) * np.clip(wanted, -span, 0.0)
    return (1 - settings.smoothing) * previous + settings.smoothing * target


def within_span(values: Array, span: float) -> Array:
    """Log-weights that lie no further apart than `span`, with 0 kept, in the same order (rule H21).

    The gaps between neighbours are what is shortened, the widest first and all of these to the same width.
    So whoever is far from the others doesn't push these together, and two that differ stay apart.
    """
    points = np.sort(np.append(values, 0.0))
    gaps = np.diff(points)
    places = np.append(0.0, np.cumsum(fair_shares(np.ones(len(gaps)), gaps, span)))
    places -= places[np.searchsorted(points, 0.0)]
    kept: Array = places[np.searchsorted(points, values)]
    return kept


def relative_weights(
    size: Array,
    base: Array,
    owners: Rows,
    part: Array,
    entitlement: Array,
    x: Array,
    settings: PrioritySettings,
) -> Array:
    """Weights of mean 1: guests as a whole keep their weight against the rest of the host.

    size:        what a VM of this many vCPUs would weigh by itself, any unit
    base:        the same, or the flavor's `quota:cpu_shares`; base / size is the tier of the flavor
    owners:      row number of the owner of each VM; part: how much each VM competes, in [0, 1]
    entitlement: relative right of each VM's owner (quota share), 1 = like everybody
    An idle VM gets what it would have if it woke up now.
    """
    if not len(size):
        return size.copy()
    due = base
    if settings.grouping:
        together = np.bincount(owners, weights=size * part)[owners] + size * (1 - part)
        due = base / together
    raw: Array = due * entitlement * np.exp(x)
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


def _group_mean(values: Array, owners: Rows, part: Array) -> Array:
    """Of each owner's VMs that compete, as far as they do; of all of them when none does."""
    if not len(values):
        return values
    competing = np.bincount(owners, weights=part)
    counted = np.where(competing[owners] > 0, part, 1.0)
    sums = np.bincount(owners, weights=counted * values)
    means: Array = (sums / np.maximum(np.bincount(owners, weights=counted), LEAST_COUNT))[owners]
    return means
