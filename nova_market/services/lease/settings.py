# SPDX-License-Identifier: Apache-2.0
"""The settings of leases, from group [leases], frozen at start, of the API and the service. Seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from nova_market.core.lease.billing import LeasePrices
from nova_market.core.lease.host_view import HostWatts
from nova_market.core.lease.life import LifeSettings
from nova_market.core.lease.limit import LeaseLimits
from nova_market.core.lease.objective import Objective
from nova_market.core.lease.placement_interface import Placement, PlacementSettings
from nova_market.core.lease.program import Solver
from nova_market.core.lease.replan import FREEZE
from nova_market.core.lease.timetable import TimetableEntry, in_force
from nova_market.errors import BadLease


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """interval: between two passes

    algorithms, objectives: plug-ins by name; timetable: which of them are in force when, in `zone`
    solver, placement, seconds: of algorithms that take their time, and the most that they take for a replan
    request_seconds: of a request to the API: its searches, and while others book meanwhile
    hosts:      patterns of the names of hosts that can be leased; stays_on: of those never powered down
    lost_after: a host that cannot be used for so long is lost
    view_age:   after which what was published of the hosts is of no use
    publish_ahead: leases that begin within it are published for Nova's scheduler
    longest, horizon: of a lease, and from now to its end; limits: of what is reserved ahead
    """

    name: str = 'leases'
    interval: float = 10.0
    life: LifeSettings = field(default_factory=LifeSettings)
    prices: LeasePrices = field(default_factory=LeasePrices)
    watts: tuple[HostWatts, ...] = ()
    hosts: tuple[str, ...] = ('*',)
    stays_on: tuple[str, ...] = ()
    algorithms: Mapping[str, Placement] = field(default_factory=dict)
    objectives: Mapping[str, Objective] = field(default_factory=dict)
    timetable: tuple[TimetableEntry, ...] = ()
    zone: str = 'UTC'
    solver: Solver | None = None
    placement: PlacementSettings = field(default_factory=PlacementSettings)
    seconds: float = 10.0
    request_seconds: float = 2.0
    freeze: float = FREEZE
    lost_after: float = 60.0
    view_age: float = 120.0
    forecast_age: float = 60.0
    longest: float = 30 * 86_400.0
    horizon: float = 365 * 86_400.0
    limits: LeaseLimits = field(default_factory=LeaseLimits)
    publish_ahead: float = 7 * 86_400.0

    def plugins(
        self, now: float, algorithm: str = '', objective: str = ''
    ) -> tuple[str, Placement, str, Objective]:
        """(name, algorithm, name, objective): those that are named, else those in force now.

        :raises BadLease: there is none of this name.
        """
        entry = in_force(self.timetable, datetime.fromtimestamp(now, ZoneInfo(self.zone)))
        first, second = algorithm or entry.algorithm, objective or entry.objective
        for kind, name, known in (
            ('algorithm', first, self.algorithms),
            ('objective', second, self.objectives),
        ):
            if name not in known:
                raise BadLease(
                    f'{kind}: {name!r:.40} is not installed: give {", ".join(sorted(known))}'
                )
        return first, self.algorithms[first], second, self.objectives[second]
