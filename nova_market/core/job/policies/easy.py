# SPDX-License-Identifier: Apache-2.0
"""The first job of each queue that finds no room has a reservation: EASY backfilling on the calendar.

Implements rule J3, policy `easy`; beyond SVMSched, whose Algorithm 1 lets narrow jobs starve a wide one.
After Lifka, The ANL/IBM SP scheduling system (1995), with a reservation for each queue instead of one. Jobs
behind a reservation start when they do not delay it, whatever that does to the jobs between.
"""

from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.reserving import reserving


def easy(seen: JobSnapshot) -> Selection:
    """A pass with one reservation for each queue."""
    return reserving(seen, 1)
