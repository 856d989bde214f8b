# SPDX-License-Identifier: Apache-2.0
"""What a task costs at given prices.

Implements INRIA RR-7837, eq. (1) and (4), and rule O3 of doc/source/specs/tender.rst:

    cost = V_cost + P_work * work + P_memory * memory + P_disk * disk,    in whole micro-credits, rounded
    up

V_cost is of new workers only. Memory and disk are amounts times the seconds in which the task occupies
them; `PER_TASK` is the paper's: the amounts themselves, however long the task runs.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from nova_market.core.resource import Array
from nova_market.core.tender.pool import WorkerFlavors
from nova_market.core.tender.task import Task


class Charging(StrEnum):
    """What memory and disk are charged by."""

    PER_SECOND = 'per_second'
    """MiB-seconds and GiB-seconds of the run, not of the wait."""
    PER_TASK = 'per_task'
    """MiB and GiB: eq. (1) as printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Micro-credits, 0 or more: of a unit of work, and of a MiB and a GiB (by second or by task)."""

    work: float
    memory_mib: float
    disk_gib: float


def task_costs(task: Task, flavors: WorkerFlavors, prices: Prices, charging: Charging) -> Array:
    """(flavors,) micro-credits on a worker that is there already, eq. (1): whole numbers.

    May be more than an account can hold, also infinite: no offer is made then.
    """
    space = prices.memory_mib * task.memory_mib + prices.disk_gib * task.disk_gib
    cost = np.full(len(flavors), prices.work * task.work)
    cost += space * (task.work / flavors.speed if charging is Charging.PER_SECOND else 1.0)
    whole: Array = np.ceil(cost)
    return whole
