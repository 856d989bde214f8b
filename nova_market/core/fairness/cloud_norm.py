# SPDX-License-Identifier: Apache-2.0
"""The cloud as a host knows it when it weighs its guests: supply, users, norm, actual quotas.

Implements IFI-2016.04, section III-C: the Cloud Resource Supply as normalisation and the actual quota,
eq. (3). Arrays over resources have shape (resources,), over users (users, resources).

Differs from the paper: the norm is n_r = U * w_r / CRS_r on the actual scale (the 2016 code multiplied
the supply with overcommit ratios, which blinded the metric to CPU), a resource without supply is left
out, and eq. (3) is defined for unlimited quotas and for resources that have no quota.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.exchange.quota_tally import QuotaTally, tally
from nova_market.core.resource import CPU, MEMORY, RESOURCES, Array, OwnerId

MIB = 1024 * 1024
SCARCITY_FLOOR = 0.1
"""Weight of an idle resource under `scarcity`: small, but a resource never leaves the metric."""

LEAST_SUPPLY = 1e-6
"""A supply below this is none: it would make the norm overflow. No real cloud offers so little."""


def _zeros() -> Array:
    return np.zeros(len(RESOURCES))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CloudNorm:
    """supply, load, virtual, quota: sums over the cloud; weights sum to 1 over what has supply.

    users: number of users that own at least one VM (at least 1)
    quota: sum of the users' quotas on the virtual scale, 0 where a resource has none
    """

    supply: Array
    weights: Array
    users: int
    load: Array = field(default_factory=_zeros)
    virtual: Array = field(default_factory=_zeros)
    quota: Array = field(default_factory=_zeros)

    @property
    def norm(self) -> Array:
        """n_r = U * w_r / CRS_r; 0 for a resource without supply. Owning 1/U of everything = 1."""
        return ratio(self.users * self.weights, self.supply)

    @property
    def utilisation(self) -> Array:
        return ratio(self.load, self.supply)


def ratio(numerator: Array, denominator: Array) -> Array:
    """numerator / denominator, 0 where the denominator is not above LEAST_SUPPLY."""
    result = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    np.divide(numerator, denominator, out=result, where=denominator > LEAST_SUPPLY)
    return result


def resource_weights(
    enabled: Sequence[str], supply: Array, utilisation: Array, weighting: str = 'equal'
) -> Array:
    """w_r > 0 with sum 1 over enabled resources that have supply; all zero when there is none.

    weighting: `equal`, or `scarcity` (w_r grows with utilisation, so idle resources hardly count).
    """
    counted = np.array([name in enabled for name in RESOURCES]) & (supply > LEAST_SUPPLY)
    raw = np.ones(len(RESOURCES))
    if weighting == 'scarcity':
        raw = SCARCITY_FLOOR + np.clip(utilisation, 0.0, 1.0)
    raw = np.where(counted, raw, 0.0)
    total = raw.sum()
    return raw / total if total > 0 else raw


def actual_quotas(
    owners: Sequence[OwnerId],
    quotas: Mapping[OwnerId, tuple[int, int]],
    supply: Array,
    core_score: float = 1.0,
    overcommit: tuple[float, float] = (4.0, 1.0),
    everyone: tuple[int, QuotaTally] | None = None,
) -> tuple[Array, Array]:
    """Eq. (3): (actual quota per owner, shape (owners, resources); sum of virtual quotas).

    quotas:     (cores, ram_mib), -1 = unlimited; an owner without an entry counts as unlimited
    overcommit: (cpu, ram) ratios, for clouds where every quota is unlimited
    everyone:   number of all owners and the tally of their quotas, where `owners` are only some of them
    An unlimited quota counts as the largest finite one, or supply * overcommit when there is none.
    Resources without quotas are split equally.
    """
    count, known = everyone or (len(owners), tally(owners, quotas))
    share = np.ones((len(owners), len(RESOURCES)))
    whole = np.full(len(RESOURCES), float(count))
    total = np.zeros(len(RESOURCES))
    units = ((CPU, core_score, overcommit[0]), (MEMORY, float(MIB), overcommit[1]))
    for column, (axis, unit, over) in enumerate(units):
        values = np.array([quotas.get(owner, (-1, -1))[column] for owner in owners], dtype=float)
        finite = values >= 0
        largest = known.largest[column]
        ceiling = largest if largest > 0 else supply[axis] * over / unit
        unlimited = max(count - known.known[column], 0)
        quota_sum = known.total[column] + unlimited * ceiling
        if quota_sum > 0:
            share[:, axis] = np.where(finite, values, ceiling)
            whole[axis] = quota_sum
        total[axis] = whole[axis] * unit
    return ratio(share * supply, whole), total
