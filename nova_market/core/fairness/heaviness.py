# SPDX-License-Identifier: Apache-2.0
"""Heaviness of VMs and users: the built-in metrics.

Implements IFI-2016.04, section III-C eq. (2) and (4), section III-D eq. (5) and (6), with the greediness
metric of the same authors (AIMS 2016) as the dynamic part:

    n_r    = U * w_r / CRS_r                                  norm, core.fairness.cloud_norm
    s(e)   = sum_r n_r * e_r                                  static heaviness, strictly increasing
    c_r    = c0 + (1 - c0) * min(1, P_r / N_r)                credit for a unit left to others
    d(v)   = sum_r n_r * (beta * pos_r - gamma * c_r * neg_r) dynamic heaviness
    h_v    = s(e) + d                                         eq. (2)
    h_u    = sum of h_v over the user's VMs - s(aq(u))        eq. (4), s' = s

where pos and neg are what a VM takes above and leaves below its endowment, P_r and N_r their sums over
the VMs of the host. Arrays: load and endowment (vms, resources), sums (users, width), quota (users,
resources); heaviness is dimensionless and about 1 for a user of an n-th of the cloud.

Differs from the paper: the parameters. The 2016 service ran beta = gamma = 1, c0 = 0, which breaks
section III (the non-minimalistic condition holds only with equality). The defaults beta = 4/3,
gamma = 2/3, c0 = 0.6 hold every constraint; beta + gamma = 2 puts the fair point of Figure 3 at 1/2.
Eq. (5) divides by aq(u), not aq(v) as printed.

A plug-in of `nova_market.heaviness` is a class derived from Metric.
"""

from typing import ClassVar

import numpy as np

from nova_market.core.fairness.cloud_norm import CloudNorm, ratio
from nova_market.core.resource import RESOURCES, Array

BOTTLENECK_UTILISATION = 0.95
"""A resource is a bottleneck when the cloud uses at least this much of it."""


class Metric:
    """What a heaviness metric says. Only `heaviness` must be written.

    waives: names of the constraints of section III (core.fairness.metric_check) that the metric knowingly
            does not keep; every other constraint is checked when the service starts.
    """

    waives: ClassVar[frozenset[str]] = frozenset()

    def heaviness(self, load: Array, endowment: Array, cloud: CloudNorm) -> Array:
        """h_v of the VMs of one host, shape (vms,)."""
        raise NotImplementedError

    def emphasis(self, load: Array, endowment: Array, cloud: CloudNorm) -> Array:
        """What a VM's own priority adds to its owner's heaviness (section IV-E), shape (vms,)."""
        return self.heaviness(load, endowment, cloud)

    def partial(self, load: Array, endowment: Array, cloud: CloudNorm) -> Array:
        """What is summed over hosts and VMs per user, shape (vms, width)."""
        return self.heaviness(load, endowment, cloud)[:, None]

    def user(self, sums: Array, quota: Array, cloud: CloudNorm) -> Array:
        """h_u from the sums, shape (users,)."""
        return sums[:, 0] - quota @ cloud.norm

    def most(self, supply: Array, cloud: CloudNorm) -> Array:
        """The largest sums of `partial` over the VMs of a host with this supply, shape (width,) (rule H26).

        Their endowments together are the supply at most. Infinite where a metric knows no bound.
        """
        del supply, cloud
        return np.full(len(RESOURCES), np.inf)


class Greediness(Metric):
    """The greediness metric with the sound defaults."""

    beta = 4 / 3
    gamma = 2 / 3
    c0 = 0.6

    def dynamic(self, load: Array, endowment: Array, cloud: CloudNorm) -> Array:
        """d(v), shape (vms,): 0 at load = endowment, negative below, positive above."""
        above = np.maximum(load - endowment, 0.0)
        below = np.maximum(endowment - load, 0.0)
        wanted = np.minimum(1.0, ratio(above.sum(axis=0), below.sum(axis=0)))
        credit = self.c0 + (1 - self.c0) * wanted
        value: Array = (self.beta * above - self.gamma * credit * below) @ cloud.norm
        return value

    def heaviness(self, load: Array, endowment: Array, cloud: CloudNorm) -> Array:
        return endowment @ cloud.norm + self.dynamic(load, endowment, cloud)

    def most(self, supply: Array, cloud: CloudNorm) -> Array:
        # one VM takes what all others leave: beta above its endowment, and the others are owed gamma
        largest = max(1.0, self.beta + 1.0 - self.gamma)
        return np.array([largest * (supply @ cloud.norm)])


class Greediness2016(Greediness):
    """What the paper's service ran. NOT sound: kept to compare with, see `waives`.

    The 2016 code ordered a user's VMs by d(v) alone while it billed s(e) + d.
    """

    beta = 1.0
    gamma = 1.0
    c0 = 0.0
    waives = frozenset(
        {
            'static',
            'non-minimalistic',
            'positive',
            'credit',
            'load',
            'configuration',
            'self-dealing',
        }
    )

    def emphasis(self, load: Array, endowment: Array, cloud: CloudNorm) -> Array:
        return self.dynamic(load, endowment, cloud)


class Asset(Metric):
    """Asset fairness: the value of what is used, h_v = sum_r n_r * l_r. Blind to flavors."""

    waives = frozenset({'static', 'non-minimalistic', 'positive', 'credit', 'configuration'})

    def heaviness(self, load: Array, endowment: Array, cloud: CloudNorm) -> Array:
        del endowment
        return load @ cloud.norm

    def most(self, supply: Array, cloud: CloudNorm) -> Array:
        return np.array([supply @ cloud.norm])


class DominantResource(Metric):
    """DRF, eq. (6): h_u = the largest share of any resource that the user's VMs use, in [0, 1]."""

    waives = frozenset(
        {'static', 'non-minimalistic', 'positive', 'credit', 'load', 'configuration'}
    )

    def heaviness(self, load: Array, endowment: Array, cloud: CloudNorm) -> Array:
        del endowment
        return _largest(_shares(load, cloud))

    def partial(self, load: Array, endowment: Array, cloud: CloudNorm) -> Array:
        del endowment, cloud
        return load

    def most(self, supply: Array, cloud: CloudNorm) -> Array:
        del cloud
        return supply

    def user(self, sums: Array, quota: Array, cloud: CloudNorm) -> Array:
        del quota
        return _largest(_shares(sums, cloud))


class Bottleneck(DominantResource):
    """BBF, eq. (5): h_u = max over bottleneck resources of use / actual quota; 0 without a bottleneck.

    A user with h_u >= 1 has what it is entitled to.
    """

    def heaviness(self, load: Array, endowment: Array, cloud: CloudNorm) -> Array:
        del endowment
        entitled = np.broadcast_to(cloud.supply / cloud.users, load.shape)
        return self._relative(load, entitled, cloud)

    def user(self, sums: Array, quota: Array, cloud: CloudNorm) -> Array:
        return self._relative(sums, quota, cloud)

    @staticmethod
    def _relative(used: Array, entitled: Array, cloud: CloudNorm) -> Array:
        bottleneck = (cloud.utilisation >= BOTTLENECK_UTILISATION) & (cloud.weights > 0)
        return _largest(ratio(used, entitled) * bottleneck)


def _largest(rows: Array) -> Array:
    value: Array = rows.max(axis=1, initial=0.0)
    return value


def _shares(used: Array, cloud: CloudNorm) -> Array:
    return ratio(used, cloud.supply) * (cloud.weights > 0)
