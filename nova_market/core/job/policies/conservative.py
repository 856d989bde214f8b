# SPDX-License-Identifier: Apache-2.0
"""Every job that finds no room has a reservation: conservative backfilling on the calendar.

Implements rule J3, policy `conservative`; beyond SVMSched. After Mu'alem and Feitelson, IEEE TPDS 12(6),
2001, section 2. A job starts early only if it delays none of the jobs before it.

Differs from there: reservations are bounded by JobSettings.reservations_per_queue, so that a pass stays
short; and they are made again in each pass, so that jobs move forward where others end early.
"""

from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.reserving import reserving


def conservative(seen: JobSnapshot) -> Selection:
    """A pass with reservations for the first jobs of each queue."""
    return reserving(seen, seen.settings.reservations_per_queue)
