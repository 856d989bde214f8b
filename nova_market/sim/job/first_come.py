# SPDX-License-Identifier: Apache-2.0
"""First come, first served without backfilling: the job policy that all others are compared with.

SVMSched (papers, section 3.2) names it as what batch systems did before backfilling. All queues are one
here: jobs go by priority, then by submission, and no job passes one in front of it. It looks at no shares:
the pass keeps those. Shapes and units as in core.job.columns.
"""

import numpy as np

from nova_market.core.calendar.axes import CORES
from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.reason import ReasonCode
from nova_market.core.job.room import Room, Spot, placement_of
from nova_market.core.job.waiting_reasons import Reasons


def first_come(seen: JobSnapshot) -> Selection:
    """Starts jobs in order until one has no room; that one is what the others wait for."""
    waiting, queues, hosts = seen.waiting, seen.queues, seen.hosts
    room = Room(hosts.free, hosts.aggregates, seen.settings.host_choice)
    rows = np.flatnonzero(seen.candidates)
    rows = rows[np.lexsort((waiting.submitted[rows], waiting.priority[rows]))]
    starts: list[int] = []
    spots: list[Spot] = []
    for row in rows.tolist():
        aggregate = int(queues.aggregate[waiting.queue[row]])
        amount = waiting.amount[:, row]
        spot = room.spot(amount, int(waiting.servers[row]), aggregate)
        if spot is None:
            break
        room.take(amount, spot)
        starts.append(row)
        spots.append(spot)
    reasons, left = Reasons(len(waiting)), rows[len(starts) :]
    for row in left[:1].tolist():
        needed, most = waiting.amount[CORES, row], float(room.free[CORES].max(initial=0.0))
        reasons.give(left[:1], ReasonCode.ROOM, CORES, needed, most, waiting.servers[row])
    reasons.give(left[1:], ReasonCode.RESERVED, 0.0, float(left[0]) if len(left) else 0.0)
    return Selection(
        starts=np.array(starts, dtype=np.intp),
        placement=placement_of(starts, spots),
        code=reasons.code,
        numbers=reasons.numbers,
        state=seen.state,
    )
