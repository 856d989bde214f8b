# SPDX-License-Identifier: Apache-2.0
"""Proportional-share division of one resource among claimants with caps, on one host or on many at once.

Implements weighted max-min fairness (water-filling), the allocation that IFI-2016.04 section IV-E names
for proportional priorities, and Merkat (INRIA RR-8648), section 2.2.3, eq. (1), a_i = b_i / sum b * C,
extended with caps a_max: what a capped claimant leaves is divided again among the others.

    a_i = min(cap_i, w_i * level)      sum a = min(C, sum of caps of positive weights)

The level of a host is found by Newton's method on sum_i min(cap_i, w_i * level) = C. The left side is
concave in the level, so the steps climb from C / sum w and never pass the solution; each but the last
fills at least one claimant, and with each the product of gap and slope falls to a quarter. That needs no
sort, and all hosts climb at once.

Units: caps, capacity and result in the unit of the resource; weights are relative. Arrays (claimants,),
those of hosts (hosts,).

Differs from the paper: a zero bid gets zero, where eq. (1) leaves 0/0 open.
"""

import numpy as np

from nova_market.core.resource import Array, Flags, Rows


def fair_shares(weights: Array, caps: Array, capacity: float) -> Array:
    """a_i = min(cap_i, w_i * level) with sum a = min(capacity, sum of caps of positive weights).

    A claimant of weight 0 gets 0.
    """
    hosts = np.zeros(len(weights), dtype=np.intp)
    return shares_at(water_levels(weights, caps, hosts, np.array([capacity])), weights, caps, hosts)


def water_levels(weights: Array, caps: Array, hosts: Rows, capacity: Array) -> Array:
    """Units of resource per unit of weight on each host; inf where all caps fit, 0 without capacity.

    hosts: row of each claimant's host in `capacity`
    """
    count = len(capacity)
    wanted = np.bincount(hosts, np.where(weights > 0, caps, 0.0), count)
    levels = np.where(wanted > capacity, 0.0, np.inf)
    remaining = np.maximum(capacity, 0.0)
    scarce = (wanted > capacity) & (remaining > 0)
    w, c, h = _rows((weights > 0) & scarce[hosts], weights, caps, hosts)
    while len(w):
        open_weight = np.bincount(h, w, count)
        levels = np.divide(remaining, open_weight, out=levels, where=open_weight > 0)
        full = c <= w * levels[h]
        _, taken, host = _rows(full, w, c, h)
        remaining = np.maximum(remaining - np.bincount(host, taken, count), 0.0)
        # a host where nobody filled up stands; the claimants of the others that are still open go on
        risen = np.bincount(host, minlength=count) > 0
        w, c, h = _rows(~full & risen[h], w, c, h)
    return levels


def shares_at(levels: Array, weights: Array, caps: Array, hosts: Rows) -> Array:
    """a_i = min(cap_i, w_i * level of its host); 0 for weight 0."""
    positive = weights > 0
    # where=: 0 * inf is no number
    offered = np.multiply(weights, levels[hosts], out=np.zeros(len(weights)), where=positive)
    shares: Array = np.minimum(caps, offered)
    return shares


def _rows(chosen: Flags, weights: Array, caps: Array, hosts: Rows) -> tuple[Array, Array, Rows]:
    """The chosen claimants. By row number: numpy takes rows several times faster than flags."""
    rows = np.flatnonzero(chosen)
    return weights.take(rows), caps.take(rows), hosts.take(rows)
