# SPDX-License-Identifier: Apache-2.0
"""The selection of the service, on a simulated cloud: the world becomes a snapshot, the plan becomes a choice.

Rules J3 and J4 of capacity in time. A waiting job is in the row of its place in the order of submission, a
running one in the order of jobs, so ties break on the submission. Every queue has one owner, whose usage is
counted in core-seconds and decays. Units: seconds, cores, MiB; arrays (axes, rows).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.calendar.axes import AXES, CORES, MEMORY_MIB
from nova_market.core.job.columns import (
    NONE,
    Hosts,
    Owners,
    Placement,
    Queues,
    RunningJobs,
    WaitingJobs,
)
from nova_market.core.job.policy_interface import (
    JobPlan,
    JobPolicy,
    JobSettings,
    JobSnapshot,
    PolicyState,
)
from nova_market.core.resource import Array, Rows
from nova_market.errors import BadWorkload
from nova_market.sim.job.submission import Submissions
from nova_market.sim.job.world import Choice, Preemption, Start, World

SHORT_BELOW = 1800.0
"""Seconds of the longest short job (SVMSched, section 6.4)."""

LEAST_LIMIT = 1e-9
"""Seconds: logs have limits of 0, which are so short that a clock of weeks does not see them."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QueueSetting:
    """shares: (queues,) part of the cloud that each queue is granted; short_below: seconds, for all of them

    least_run_time: seconds in which a best-effort job is not preempted
    half_life: seconds in which what a queue has used counts half as much
    """

    shares: Array
    short_below: float = SHORT_BELOW
    least_run_time: float = 0.0
    half_life: float = 7 * 86400.0
    settings: JobSettings = field(default_factory=JobSettings)
