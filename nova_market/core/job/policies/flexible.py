# SPDX-License-Identifier: Apache-2.0
"""Shares bind long jobs only: Algorithm 1 of SVMSched (sections 5.1.1 and 5.4.1).

A short job may take its queue over the share when there is room, because what it takes is given back soon.
All use counts: while short jobs hold more than the share, no long job of that queue starts (rule J3).
Backfilling passes over jobs without room, so a wide job may wait for as long as narrower ones arrive.
"""

from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.round_robin import long_jobs, round_robin


def flexible(seen: JobSnapshot) -> Selection:
    """Algorithm 1, repeated until nothing more starts."""
    return round_robin(seen, long_jobs(seen))
