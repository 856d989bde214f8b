# SPDX-License-Identifier: Apache-2.0
"""The policy of a batch framework: as many servers as its queue needs and its budget pays.

Implements Merkat (INRIA RR-8648), section 3.3.1: a modified Algorithm 3 for frameworks that minimise the wait
in their queue (Torque) or maximise throughput (Condor). "First, it avoids requesting a large number of VMs
per time period [...]. Second it avoids starting new VMs if some VMs were released due to a price increase
in the previous period."

Units and shapes as in policy_interface. Not given there, and settled here: at most a quarter more servers in
a period, at least one (GROWTH); servers that have nothing to do are given back when nothing waits.
"""

from dataclasses import replace

import numpy as np

from nova_market.core.app.policies.merkat_policies import sized
from nova_market.core.app.policies.policy_interface import PolicyInput, PolicyOutput, StepReason
from nova_market.core.app.policies.traits import serves
from nova_market.core.app.template import Goal
from nova_market.errors import BadSnapshot

GROWTH = 0.25
"""Part of the present servers that may be asked for in one period."""


@serves(Goal.QUEUE)
def queue_driven(seen: PolicyInput, *, growth: float = GROWTH) -> PolicyOutput:
    """One server for each task that runs or waits, within the limits, step by step. growth: as GROWTH.

    :raises BadSnapshot: without backlogs.
    """
    backlog = seen.backlog
    if backlog is None:
        raise BadSnapshot('queue_driven needs the backlogs of the applications')
    needed = np.clip(backlog.busy + backlog.waiting, seen.least_count, seen.most_count)
    step = np.maximum(np.ceil(seen.count * growth).astype(np.int64), 1)
    grown = np.minimum(needed, seen.count + np.where(backlog.lost, 0, step))
    held = backlog.lost & (needed > seen.count)
    steps = sized(seen, np.maximum(grown, seen.least_count))
    return replace(steps, why=steps.why | np.where(held, int(StepReason.HELD_BACK), 0))
