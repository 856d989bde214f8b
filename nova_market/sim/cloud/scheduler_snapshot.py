# SPDX-License-Identifier: Apache-2.0
"""What the simulated scheduler is told of a round: the picture of market.scheduling, from arrays.

Implements rule S2 of doc/source/specs/market.rst. Units as in core.scheduler.snapshot. What a project's
servers pay is what their budgets pay, which is not the project's own: due is 0, as in the service.
"""

import numpy as np

from nova_market.core.resource import Array
from nova_market.core.scheduler.snapshot import SchedulerSnapshot, demand_at_levels
from nova_market.sim.cloud.accounts import project_name
from nova_market.sim.cloud.hosts import WIDTH, SimulatedHosts
from nova_market.sim.cloud.market import Ruling


def scheduler_view(
    period: int, park: SimulatedHosts, ruling: Ruling, vcpus: Array, available: Array
) -> SchedulerSnapshot:
    """vcpus: (hosts,) taken when the round was decided; available: (projects,)"""
    snapshot, outcome = ruling.snapshot, ruling.outcome
    return SchedulerSnapshot(
        period=period,
        age=0.0,
        price=outcome.price,
        bid_price=outcome.bid_price,
        hosts=park.names,
        capacity=snapshot.capacity,
        bids=np.stack([np.bincount(snapshot.host, bid, len(park)) for bid in outcome.bids]),
        demand=demand_at_levels(snapshot, outcome),
        vcpus=vcpus,
        projects={project_name(row): row for row in range(len(available))},
        available=available,
        due=np.zeros(len(available)),
        used=np.zeros((WIDTH, len(available))),
    )
