# SPDX-License-Identifier: Apache-2.0
"""How much the report of one host may count: rules H26 and H27 of doc/source/specs/fairness.rst.

Nothing proves what a host reports of itself. So it is compared with what the others report: a host holds no
more of a resource than the next largest one, with some room; the partial sums of its owners are no more
than a host of that size can cause; and it adds no more owners of its own than some times the mean. One host
of N can then move what another one decides by about 1 / N of the cloud. What is beyond a bound is cut, not
thrown away: the rest of the report counts.

Two hosts cannot tell which of them is wrong, so nothing is cut then. Arrays over hosts have shape (hosts,
resources).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import RESOURCES, Array, OwnerId

ENOUGH = 3
"""Hosts of which one that is wrong can be told."""

LARGEST = 1.25
"""Times the next largest host. Hosts of one kind differ by what else runs on them; of two kinds there are
mostly several of each."""

OVERCOMMIT = 64.0
"""Times what a host holds: the flavors of its guests. Nova's own ratio for CPU is 16 at most in practice."""

NEW_OWNERS = 2.0
"""Times the mean number of owners of a host: those that a host has and no other one. One counts always."""

LISTED = 50
"""Of the owners that one host alone has, the quotas of so many are read in any case: all guests may be on one
host, and nobody knows which are invented."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CloudSize:
    """What all hosts hold and use, shape (resources,), and the number of owners."""

    supply: Array
    load: Array
    owners: int


ReportBound = Callable[[Array, CloudSize], Array]
"""The largest sums of the partials of all owners that a host with this supply can have, shape (width,)."""


def unbounded(supply: Array, size: CloudSize) -> Array:
    """For a metric of which no bound is known."""
    del supply, size
    return np.full(len(RESOURCES), np.inf)


def room(supplies: Array) -> Array:
    """The most that each host may hold, shape (resources,)."""
    if len(supplies) < ENOUGH:
        return np.full(supplies.shape[1], np.inf)
    second: Array = np.partition(supplies, -2, axis=0)[-2]
    return LARGEST * second


def within(vectors: Array, most: Array) -> Array:
    """Supply, load and flavors of hosts, shape (..., 3, resources), as far as a host can have them.

    most: as `room` has it
    """
    supply = np.minimum(vectors[..., 0, :], most)
    load = np.minimum(vectors[..., 1, :], supply)
    virtual = np.minimum(vectors[..., 2, :], OVERCOMMIT * supply)
    return np.stack([supply, load, virtual], axis=-2)


def cut(partials: Array, most: Array) -> Array:
    """Partial sums of one host, shape (owners, width), in their proportions and not above `most` together."""
    if not len(partials):
        return partials
    stated = np.abs(partials).sum(axis=0)
    limit = np.zeros(len(stated))  # what the metric has no column for is not used
    limit[: len(most)] = most[: len(stated)]
    if (stated <= limit).all():
        return partials
    found: Array = partials * np.divide(
        limit, stated, out=np.ones(len(stated)), where=stated > limit
    )
    return found


def counted_owners(owners: int, alone: Array, hosts: int) -> int:
    """The number of owners, of which those that one host alone has count up to a bound for each host.

    owners: of all hosts; alone: how many each host has that no other one has, shape (hosts,)
    """
    return owners - int((alone - _new_owners(owners, alone, hosts)).sum())


def listed_owners(
    shared: Iterable[OwnerId], alone: Iterable[Sequence[OwnerId]], hosts: int
) -> tuple[OwnerId, ...]:
    """Owners whose quotas are read: those that several hosts have, then of the others as many as count (H28).

    alone: of each host the owners that no other one has
    """
    first, others = sorted(shared), [sorted(own) for own in alone]
    sizes = np.array([len(own) for own in others], dtype=float)
    most = np.maximum(_new_owners(len(first) + int(sizes.sum()), sizes, hosts), LISTED)
    last = [owner for own, count in zip(others, most, strict=True) for owner in own[: int(count)]]
    return (*first, *sorted(last))


def _new_owners(owners: int, alone: Array, hosts: int) -> Array:
    """Of the owners that each host alone has, how many count, shape (hosts,)."""
    if hosts < ENOUGH:
        return alone
    most = np.maximum(np.floor(NEW_OWNERS * (owners - alone) / (hosts - 1)), 1.0)
    found: Array = np.minimum(alone, most)
    return found
