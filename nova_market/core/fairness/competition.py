# SPDX-License-Identifier: Apache-2.0
"""Which guests compete for their host, and how much each of them counts.

Implements rule H20 of doc/source/specs/fairness.rst on IFI-2016.04, section IV-E, which leaves open between
which VMs priorities are compared. Arrays (vms,), load and endowment (vms, resources).

    trace_r = max(idle * e_r, idle_cores * core score)      the second for CPU only
    used    = max over r of clip(l_r / trace_r - 1, 0, 1)   r: CPU, disk and network, as far as they count
    kept    = clip((ready - 0.6) / 0.3, 0, 1)               a vCPU that wants to run nearly all the time
    c       = max(used, kept)

c is a part and not a flag, so that a guest near the limit does not change everybody's weight from one round
to the next.

An idle guest ticks: under emulation it uses 2 to 3 % of a core, which may be more than a trace of a small
endowment, and more than what a starved busy guest gets. Waiting tells the two apart. Measured with seven
guests on a core: a busy vCPU runs or waits for 1.00 of the time at any weight (also at a share of 0.013); an
idle one 0.08 at an equal weight and 0.45 at a sixteenth of the others'.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.fairness.cloud_norm import LEAST_SUPPLY, ratio
from nova_market.core.resource import CPU, MEMORY, Array, Flags

READY_FROM, READY_TO = 0.6, 0.9
"""Part of the time that the busiest vCPU of a guest runs or waits for a CPU: below the first it does not
compete by that, above the second fully. Measured, see above."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Competition:
    """part: c of each guest, 0 = idle, 1 = competes; weight: part times the value of what it uses."""

    part: Array
    weight: Array

    def mean(self, values: Array) -> float:
        """Of the competing guests, by what they use; of all guests when none competes."""
        if not len(values):
            return 0.0
        return float(np.average(values, weights=self.weight if self.weight.any() else None))


def competition(
    load: Array,
    endowment: Array,
    ready: Array,
    seen: Flags,
    norm: Array,
    core_score: float,
    idle: float,
    idle_cores: float,
) -> Competition:
    """How much each guest competes.

    ready: part of the time that the busiest vCPU ran or waited, in [0, 1]
    seen:  False for guests whose use is not known yet: they compete
    norm:  value of a unit of each resource, 0 for those that do not count, shape (resources,)
    idle, idle_cores: a trace of use, as a part of the endowment, and in cores
    """
    counted = norm > 0
    counted[CPU] = True
    counted[MEMORY] = False
    trace = idle * endowment
    trace[:, CPU] = np.maximum(trace[:, CPU], idle_cores * core_score)
    # without a trace, whoever uses anything is above it
    above = np.where(trace > LEAST_SUPPLY, ratio(load, trace), 2.0 * (load > 0)) - 1.0
    used = np.where(counted, above, 0.0).max(axis=1, initial=0.0)
    kept = (ready - READY_FROM) / (READY_TO - READY_FROM)
    part = np.where(seen, np.clip(np.maximum(used, kept), 0.0, 1.0), 1.0)
    value = load @ np.where(counted, np.where(norm > 0, norm, 1.0), 0.0)
    return Competition(part=part, weight=part * value)
