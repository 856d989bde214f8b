# SPDX-License-Identifier: Apache-2.0
"""Random families of workloads and nodes for CloudAlloc, section 2 (Evaluation).

The paper states the numbers of workloads and nodes, and nothing of what they are: no nodes, no workloads,
no distributions. Here, chosen once: nodes of 8 cores, idle watts in steps of 10 and peak watts in steps of
50, as the example has them; workloads of 1 to 4 cores for a quarter of an hour to 8 hours, all of whose
starts are within a day, on quarters of an hour. Units: seconds, watts.
"""

import numpy as np

from nova_market.core.calendar.calendar import unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.lease.cluster import Cluster, cluster
from nova_market.core.lease.request import LeaseRequest, automatic

QUARTER = 900.0
DAY = 24 * 3600.0
CORES = 8.0


def family(
    seed: int, nodes: int, workloads: int, *, models: int | None = None, span: float = DAY
) -> tuple[Cluster, tuple[LeaseRequest, ...]]:
    """models: so many different ones among the nodes, None = each node has its own; span: of the starts"""
    rng = np.random.default_rng([seed, nodes, workloads])
    count = nodes if models is None else models
    base, peak = rng.integers(10, 21, count) * 10.0, rng.integers(2, 7, count) * 50.0
    model = np.arange(nodes) % count
    whole = np.array([[CORES], [64_000.0], [1000.0]]) * np.ones(nodes)
    made = cluster(
        tuple(f'n{row}' for row in range(nodes)),
        unbooked(capacity(whole)),
        whole,
        base_w=base[model],
        peak_w=peak[model],
    )
    leases = tuple(
        automatic(
            f'w{row}',
            cores=float(rng.integers(1, 5)),
            memory_mib=1000.0,
            duration=float(rng.integers(1, 33)) * QUARTER,
            earliest=float(rng.integers(0, int(span / QUARTER))) * QUARTER,
        )
        for row in range(workloads)
    )
    return made, leases
