# SPDX-License-Identifier: Apache-2.0
"""Who says what guests of a host get: fairness, the market, or both.

Implements rule A5 of doc/source/specs/market.rst on Merkat (INRIA RR-8648), section 2.2.3. Units: CPU
values in those of the CPU control, of which a core is worth its default (1024 shares, or a weight of 100);
bytes. Arrays (vms,).

    market    value = unit * cores allocated
    combined  value * exp(x), x the log-weight of core.fairness.priority, scaled so that the sum stays

A guest without an allocation (it has just come) gets, for each vCPU, what those with one get on average.
When the market is silent, values go back to the base of the guests: unit * vCPUs, or what the flavor asks
for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.exchange.received_allocations import EffectiveAllocations
from nova_market.core.host.sample import Guest
from nova_market.core.resource import Array

FAIRNESS = 'fairness'
MARKET = 'market'
COMBINED = 'combined'
POLICIES = (FAIRNESS, MARKET, COMBINED)

MEBI = 1024 * 1024


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Division:
    """How a host is divided.

    weights: relative, of mean 1; shares: values of the CPU control, None = by the weights
    ceiling: most bytes of each guest that are protected; memory: its weights in that
    """

    weights: Array
    shares: Array | None = None
    ceiling: Array
    memory: Array


def by_weights(weights: Array, size: Array) -> Division:
    """As fairness divides. size: bytes of RAM."""
    return Division(weights=weights, ceiling=size, memory=weights)


def by_allocations(
    guests: Sequence[Guest],
    granted: EffectiveAllocations,
    base: Array,
    unit: float,
    x: Array | None = None,
) -> Division:
    """As the market divides.

    base: values of the CPU control when there is no market
    x:    log-weights that temper the values; None = the market alone
    """
    shares = cpu_values(guests, granted, base, unit)
    if x is not None:
        shares = tempered(shares, x)
    ceiling = memory_ceilings(guests, granted)
    return Division(weights=_relative(shares), shares=shares, ceiling=ceiling, memory=ceiling)


def cpu_values(
    guests: Sequence[Guest], granted: EffectiveAllocations, base: Array, unit: float
) -> Array:
    """Values of the CPU control for what is granted, as far as it still counts."""
    cores = _amounts(guests, granted, 'cores')
    known = np.isfinite(cores)
    size = np.array([g.vcpus * unit for g in guests], dtype=float)
    worth = unit * cores[known]
    average = float(worth.sum() / size[known].sum()) if known.any() else 1.0
    values = base * average
    values[known] = worth
    faded: Array = base + granted.strength * (values - base)
    return faded


def memory_ceilings(guests: Sequence[Guest], granted: EffectiveAllocations) -> Array:
    """Bytes that are protected at most: what is allocated, never more than the guest has."""
    size = np.array([g.memory_bytes for g in guests], dtype=float)
    allocated = _amounts(guests, granted, 'memory_mib') * MEBI
    wanted = np.where(np.isfinite(allocated), np.minimum(allocated, size), size)
    faded: Array = size + granted.strength * (wanted - size)
    return faded


def tempered(values: Array, x: Array) -> Array:
    """Values times exp(x), with the sum they had: the guests keep their part of the host."""
    hot = values * np.exp(x)
    whole = float(hot.sum())
    result: Array = hot * (values.sum() / whole) if whole > 0 else values
    return result


def _amounts(guests: Sequence[Guest], granted: EffectiveAllocations, name: str) -> Array:
    """What is granted to each guest; NaN where nothing is."""
    found = [granted.allocations.get(guest.id) for guest in guests]
    return np.array([np.nan if one is None else getattr(one, name) for one in found], dtype=float)


def _relative(values: Array) -> Array:
    mean = float(values.mean()) if len(values) else 0.0
    relative: Array = values / mean if mean > 0 else np.ones(len(values))
    return relative
