# SPDX-License-Identifier: Apache-2.0
"""Which hosts are closed to servers of the market, for steering that reaches beyond the scheduler.

Only the first candidates of Placement reach filters and weighers; a trait on a host's provider reaches all,
and servers that move as well as new ones. A host is closed when what its servers should get is more than so
many times what it has, and opened when it is less than so many times: between the two it stays as it is, so
that it does not go back and forth.

Arrays (hosts,), (resources, hosts).
"""

import numpy as np

from nova_market.core.rebalancing.layout import load
from nova_market.core.resource import Array, Flags, Rows

CLOSED_TRAIT = 'CUSTOM_NOVA_MARKET_CLOSED'


def host_loads(ideal: Array, host: Rows, capacity: Array) -> Array:
    """(hosts,) sum of ideal allocations over capacity, the larger over resources."""
    hosts = capacity.shape[1]
    wanted = [np.bincount(host, row, hosts) for row in ideal]
    return load(np.array(wanted, dtype=np.float64), capacity)


def closed_hosts(
    loads: Array, closed: Flags, answering: Flags, close_above: float, open_below: float
) -> Flags:
    """Which are closed from now on; a host that does not answer stays as it is."""
    found: Flags = np.where(closed, loads >= open_below, loads > close_above)
    kept: Flags = np.where(answering, found, closed)
    return kept
