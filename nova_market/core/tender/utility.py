# SPDX-License-Identifier: Apache-2.0
"""Which offer is best for a user: utilities of cost and time, and the order of equal ones.

Implements INRIA RR-7837, section 3.5.1, eq. (6), and section 3.3.3; rule O4 of
doc/source/specs/tender.rst. A utility is a function (cost, seconds, weight) -> utility of arrays of one
shape; more is better. It is a plug-in of `nova_market.utility`. weight: 0 to 1, what the user gives for
time; only `weighted` reads it.

Differs from the paper: where utilities are equal (those of `cheapest` often are, and 1/0 for everything
that costs nothing), the offer that takes less time is preferred, then the one that costs less. Only
those that are equal in both are decided by section 3.3.3: an active worker, the one that is idle for the
shortest time, a new one on the host with most servers.
"""

from collections.abc import Callable

import numpy as np

from nova_market.core.resource import Array, Rows
from nova_market.core.tender.offer import Offers

Utility = Callable[[Array, Array, float], Array]


def cost_time(cost: Array, seconds: Array, weight: float) -> Array:
    """1 / (cost * seconds), eq. (6)."""
    return _inverse(cost * seconds)


def fastest(cost: Array, seconds: Array, weight: float) -> Array:
    """1 / seconds."""
    return _inverse(seconds)


def cheapest(cost: Array, seconds: Array, weight: float) -> Array:
    """1 / cost."""
    return _inverse(cost)


def weighted(cost: Array, seconds: Array, weight: float) -> Array:
    """1 / (cost ** (1 - weight) * seconds ** weight).

    At 0 as `cheapest`, at .5 the order of eq. (6), at 1 as `fastest`.
    """
    return _inverse(cost ** (1.0 - weight) * seconds**weight)


def best_first(offers: Offers, rows: Rows, utility: Utility, weight: float = 0.5) -> Rows:
    """These rows of the offers, the best one first."""
    cost, seconds = offers.cost[rows].astype(np.float64), offers.seconds[rows]
    value = utility(cost, seconds, weight)
    order: Rows = rows[np.lexsort((offers.kind[rows], cost, seconds, -value))]
    return order


def _inverse(value: Array) -> Array:
    with np.errstate(divide='ignore'):
        inverse: Array = 1.0 / value
    return inverse
