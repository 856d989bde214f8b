# SPDX-License-Identifier: Apache-2.0
"""Small clusters and leases; the example of CloudAlloc, section 2."""

from collections.abc import Sequence

import numpy as np

from nova_market.adapters.solver.highs import highs
from nova_market.core.calendar.booking import Bookings
from nova_market.core.calendar.calendar import booked, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.lease.cluster import Cluster, cluster
from nova_market.core.lease.objective import Objective, power
from nova_market.core.lease.placement_interface import PlacementInput, PlacementSettings
from nova_market.core.lease.request import LeaseRequest, automatic

MEMORY = 64_000.0

QUICK = PlacementSettings(starts=3, steps=30, labels=2000, seconds=20.0)


def machines(
    *cores: float,
    base: Sequence[float] | float = 100.0,
    peak: Sequence[float] | float = 200.0,
    disk: float = 1000.0,
    taken: Bookings | None = None,
    **more: object,
) -> Cluster:
    """Hosts h0, h1, ... with so many cores each, and what is booked on them already."""
    ones = np.ones(len(cores))
    whole = np.stack([np.array(cores, dtype=float), MEMORY * ones, disk * ones])
    made = unbooked(capacity(whole))
    return cluster(
        tuple(f'h{row}' for row in range(len(cores))),
        made if taken is None else booked(made, taken),
        whole,
        base_w=base * ones,
        peak_w=peak * ones,
        **more,  # type: ignore[arg-type]
    )


def asks(
    hosts: Cluster,
    *leases: LeaseRequest,
    objective: Objective = power,
    settings: PlacementSettings = QUICK,
    **more: object,
) -> PlacementInput:
    """The input of an algorithm, with HiGHS."""
    return PlacementInput(
        hosts=hosts, leases=leases, rates=objective(hosts), settings=settings, solver=highs,
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def during(start: float, end: float, cores: float = 1.0, name: str = '', **asked) -> LeaseRequest:
    """A lease of so many cores with a fixed start."""
    return automatic(
        name or f'{start:g}-{end:g}', cores=cores, duration=end - start, earliest=start, **asked
    )


def papers_example() -> tuple[Cluster, tuple[LeaseRequest, ...]]:
    """n1, n2, n3 as h0, h1, h2: of 8 cores and 2 disks; w1, w2 and the w3 that arrives later."""
    nodes = machines(8, 8, 8, base=[180, 130, 140], peak=[250, 250, 300], disk=2.0)
    return nodes, (
        during(3, 5, cores=4, disk_gib=1, name='w1'),
        during(1, 4, cores=4, disk_gib=1, name='w2'),
        during(4, 6, cores=2, name='w3'),
    )
