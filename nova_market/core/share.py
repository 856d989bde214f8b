# SPDX-License-Identifier: Apache-2.0
"""Proportional-share division of one resource among claimants with caps.

Implements weighted max-min fairness (water-filling), the allocation that IFI-2016.04 section IV-E names
for proportional priorities: what a capped claimant leaves is divided again among the others.

Units: caps, capacity and result in the unit of the resource; weights are relative. Arrays (claimants,).
"""

import numpy as np

from nova_market.core.quantity import Array


def fair_shares(weights: Array, caps: Array, capacity: float) -> Array:
    """a_i = min(cap_i, w_i * level) with sum a = min(capacity, sum of caps of positive weights).

    A claimant of weight 0 gets 0. O(n log n): claimants fill up in the order of cap / weight.
    """
    shares = np.zeros(len(weights))
    positive = np.flatnonzero(weights > 0)
    if not len(positive) or capacity <= 0:
        return shares
    w, c = weights[positive], caps[positive]
    order = np.argsort(c / w, kind='stable')
    w, c = w[order], c[order]
    filled = np.concatenate(([0.0], np.cumsum(c)[:-1]))
    open_weight = np.cumsum(w[::-1])[::-1]
    level = np.maximum(capacity - filled, 0.0) / open_weight
    # while a claimant's cap lies below the level it fills up; from the first that does not, the level stands
    stops = np.flatnonzero(c > w * level)
    given = c.copy()
    if len(stops):
        first = stops[0]
        given[first:] = w[first:] * level[first]
    shares[positive[order]] = given
    return shares
