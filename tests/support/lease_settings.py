# SPDX-License-Identifier: Apache-2.0
"""How leases are placed and paid in tests: a core-hour costs a credit."""

from nova_market.adapters.solver.highs import highs
from nova_market.core.lease.billing import LeasePrices
from nova_market.core.lease.host_view import HostWatts
from nova_market.core.lease.timetable import TimetableEntry
from nova_market.core.ledger.money import MICRO
from nova_market.services.lease.settings import LeaseSettings
from nova_market.wiring.policies import objectives, placements
from tests.support.lease_builders import QUICK

SETTINGS = LeaseSettings(
    prices=LeasePrices(core_hour=MICRO),
    watts=(HostWatts(pattern='*', base_w=100.0, peak_w=200.0),),
    algorithms=placements(),
    objectives=objectives(),
    timetable=(TimetableEntry(minute=0, algorithm='greedy_consistent', objective='power'),),
    solver=highs,
    placement=QUICK,
    request_seconds=60.0,  # on a busy machine too
)
