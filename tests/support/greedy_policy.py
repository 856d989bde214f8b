# SPDX-License-Identifier: Apache-2.0
"""A policy that looks at room alone: what a plug-in may do that knows nothing of shares."""

import numpy as np

from nova_market.core.job.in_order import by_submission, started_in_order
from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.room import Room, placement_of
from nova_market.core.job.waiting_reasons import Reasons


def greedy(seen: JobSnapshot) -> Selection:
    """First come, first served, in all room there is."""
    room = Room(seen.hosts.free, seen.hosts.aggregates, seen.settings.host_choice)
    rows = by_submission(np.flatnonzero(seen.candidates), seen.waiting)
    starts, spots = started_in_order(rows, seen.shapes, room)
    reasons = Reasons(len(seen.waiting))
    reasons.lack_of_room(np.setdiff1d(rows, starts), seen.shapes, seen.hosts, room)
    return Selection(
        starts=np.array(starts, dtype=np.intp),
        placement=placement_of(starts, spots),
        code=reasons.code,
        numbers=reasons.numbers,
        state=seen.state,
    )
