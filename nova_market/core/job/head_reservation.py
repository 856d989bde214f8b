# SPDX-License-Identifier: Apache-2.0
"""When the first job without room can start, if running jobs end at their limits, and what may run until
then.

The reservation of EASY backfilling, for one order over all queues: jobs start in that order; the first one
that finds no room, the *head*, gets the earliest time at which it fits, and hosts. A later job starts now
only if it ends before that time, or if it fits beside the head on its host. So a wide job is not starved by
narrow ones that keep arriving.

Looks at the ends of running jobs; bookings of others (leases) are what the policies `easy` and
`conservative` look at.

Units and shapes as in columns.py.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from nova_market.core.job.columns import Placement
from nova_market.core.job.policy_interface import JobSnapshot
from nova_market.core.job.room import Room, room_of
from nova_market.core.resource import Array, Flags


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeadReservation:
    """job: the head; start: when it can start; free_then: what is free beside it then, (AXES, hosts)."""

    job: int
    start: float
    free_then: Array


def head_reservation(seen: JobSnapshot, job: int) -> HeadReservation | None:
    """The earliest start of this job; None when it does not fit even after the last end.

    seen: with all that runs, jobs that were started in this pass included
    """
    shapes, ends = seen.shapes, seen.running.ends
    shape = int(shapes.of[job])
    amount, servers = shapes.amount[:, shape], int(shapes.servers[shape])
    aggregate = int(shapes.aggregate[shape])

    def room_at(time: float) -> Room:
        free = seen.hosts.free + _freed(seen, ends <= time)
        return Room(free, seen.hosts.aggregates, seen.settings.host_choice)

    def fits(time: float) -> bool:
        return int(room_at(time).fitting(amount, aggregate).sum()) >= servers

    # room only grows with time, so that the first time with enough of it is found by bisection
    times = np.unique(ends[np.isfinite(ends)])
    first = bisect_left(times, True, key=fits)
    if first == len(times):
        return None
    room = room_at(times[first])
    spot = room.spot(amount, servers, aggregate)
    assert spot is not None
    room.take(amount, spot)
    return HeadReservation(job=job, start=max(float(times[first]), seen.now), free_then=room.free)


def _freed(seen: JobSnapshot, ended: Flags) -> Array:
    """What these running jobs leave, (AXES, hosts)."""
    placement = seen.running.placement
    mine = ended[placement.job]
    part = Placement(
        job=placement.job[mine], host=placement.host[mine], servers=placement.servers[mine]
    )
    return room_of(part, seen.running.amount, len(seen.hosts))
