# SPDX-License-Identifier: Apache-2.0
"""What hosts draw, linear in their load; and the two orders in which the greedy fills them.

Implements CloudAlloc, section 2 (objective (1) and the key of the greedy), as rule W1 of
doc/source/specs/leases.rst settles them. Units: watts, joules, seconds, cores.

    watts of a host  = base + peak * (busy cores / cores)     while it is on, else 0
    joules of leases = sum_j base_j * v_j + sum_ij (c_i / ct_j) * peak_j * (e_i - s_i) * x_ij

with v_j the time that host j is on: the union of the intervals of its leases. `peak` is what a full load adds
to the base.

Differs from the paper: (1) as printed adds a host's base once for each workload of *all* of them, and divides
v_j by the number of workloads there, which depends on x; the share base / u_j is each workload's part of a
base that is paid once. The printed key of the greedy takes the peak as one of a core; the keys of its example
(.26625, .2725, .3175) come out with peaks of whole hosts, so the key is `printed_key`, and what (1) means is
`consistent_key`.
"""

import numpy as np

from nova_market.core.lease.cluster import Cluster
from nova_market.core.resource import Array


def printed_key(hosts: Cluster) -> Array:
    """(hosts,): (base + peak * cores) / cores, in watts, as the paper prints it."""
    key: Array = (hosts.base_w + hosts.peak_w * hosts.cores) / hosts.cores
    return key


def consistent_key(hosts: Cluster) -> Array:
    """(hosts,): (base + peak) / cores, the watts of a busy core of a full host."""
    key: Array = (hosts.base_w + hosts.peak_w) / hosts.cores
    return key


def watts(hosts: Cluster, busy: Array, on: Array) -> Array:
    """What each host draws. busy: cores; on: flags or parts of the time; both (hosts, ...), as the result."""
    shape = (-1,) + (1,) * (busy.ndim - 1)
    load = np.minimum(busy / hosts.cores.reshape(shape), 1.0)
    drawn: Array = on * hosts.base_w.reshape(shape) + load * hosts.peak_w.reshape(shape)
    return drawn
