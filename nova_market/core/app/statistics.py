# SPDX-License-Identifier: Apache-2.0
"""What is shown of an application: the numbers of the controller's last decision.

Implements "or to retrieve statistics regarding the application" of Merkat (INRIA RR-8648), section 2.3.1.
Units: micro-credits per period, cores, MiB, seconds. None: not known.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentStatistics:
    """Of one component; bid and allocation of ONE server (their mean), cpu before memory."""

    name: str
    count: int
    wanted: int
    bid_cpu: int = 0
    bid_memory: int = 0
    cpu: float = 0.0
    memory_mib: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AppStatistics:
    """period: that was decided; performance: the larger, the worse, as the SLO's band has it

    remaining: seconds of work with full allocations; lateness: remaining time at the present speed over the
               time to the deadline, above 1 it is missed
    budget:    what may be spent in the next period; spent: all that was charged and confirmed so far
    """

    period: int
    components: tuple[ComponentStatistics, ...] = ()
    performance: float | None = None
    remaining: float | None = None
    lateness: float | None = None
    budget: int = 0
    spent: int = 0
    reason: str = ''

    def document(self) -> Mapping[str, object]:
        """As JSON has it; StoredApp.figures."""
        found = asdict(self)
        found['components'] = list(found['components'])
        return found
