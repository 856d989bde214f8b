# SPDX-License-Identifier: Apache-2.0
"""Which best-effort jobs make room for production jobs.

Implements SVMSched, sections 4.2.2 (step 3) and 5.1.2 (newest first), and rule J4: only where it helps, and
only as many as are needed. Beyond: the order is a setting; a job has a least run time; what a preempted job
loses is given as core-seconds, so that who displaced it pays for it.

    lost = cores * servers * (now - max(started, saved))     0 <= lost;  0 for a job that keeps its work

The choice for one job: victims are added in the order of preference until it has room, and then, beginning
with the last one of that order that was added, each is spared without which it has room as well. So no
victim is needless; the number is not always the least possible, since newest first has precedence.

Units and shapes as in columns.py.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.job.columns import RunningJobs
from nova_market.core.job.policy_interface import Preemptions, PreemptOrder
from nova_market.core.job.room import Room
from nova_market.core.resource import Array, Flags, Rows


def preemptible(running: RunningJobs, now: float) -> Flags:
    """Best-effort jobs that have run for their least run time and have not been ordered to end, (jobs,)."""
    old = now >= running.started + running.least_run_time
    found: Flags = running.best_effort & ~running.leaving & old
    return found


def lost_core_seconds(running: RunningJobs, now: float) -> Array:
    """What each running job would lose, (jobs,)."""
    seconds = np.maximum(now - np.maximum(running.started, running.saved), 0.0)
    lost: Array = running.amount[0] * running.servers * seconds
    return np.where(running.keeps_work, 0.0, lost)


def preference(running: RunningJobs, now: float, order: PreemptOrder) -> Rows:
    """Rows of those that may be preempted, the first to go first."""
    rows = np.flatnonzero(preemptible(running, now))
    if order is PreemptOrder.LEAST_LOST:
        key = lost_core_seconds(running, now)[rows]
    elif order is PreemptOrder.OLDEST:
        key = running.started[rows]
    else:
        key = -running.started[rows]
    # of equally old ones the last row is the newer
    tie = rows if order is PreemptOrder.OLDEST else -rows
    return rows[np.lexsort((tie, key))]


@dataclass(frozen=True, slots=True, eq=False)
class Victims:
    """Best-effort jobs on hosts; `order`: rows in the order of preference."""

    running: RunningJobs
    order: Rows

    def room_of(self, victim: int) -> tuple[Rows, Array]:
        """(hosts that it leaves, what becomes free there: (AXES, hosts))."""
        placement = self.running.placement
        spots = np.flatnonzero(placement.job == victim)
        return placement.host[spots], self.running.amount[:, [victim]] * placement.servers[spots]

    def needed(self, room: Room, amount: Array, servers: int, aggregate: int) -> list[int] | None:
        """Those that must go so that the job has room, in the order of preference.

        Empty when it has room already; None when all of them together would not help. `room` stays as it is.
        """
        room = room.copy()
        fit = room.fitting(amount, aggregate)

        def change(victim: int, sign: int) -> None:
            hosts, freed = self.room_of(victim)
            room.free[:, hosts] += sign * freed
            fit[hosts] = room.fitting(amount, aggregate, hosts)

        chosen: list[int] = []
        for victim in self.order.tolist():
            if fit.sum() >= servers:
                break
            change(victim, 1)
            chosen.append(victim)
        if fit.sum() < servers:
            return None
        for victim in chosen[-2::-1]:
            change(victim, -1)
            if fit.sum() < servers:
                change(victim, 1)
            else:
                chosen.remove(victim)
        return chosen


def preemptions(running: RunningJobs, chosen: list[tuple[int, int]], now: float) -> Preemptions:
    """As columns; chosen: (victim, displacer) in order."""
    victims = np.array([victim for victim, _ in chosen], dtype=np.intp)
    return Preemptions(
        victim=victims,
        displacer=np.array([displacer for _, displacer in chosen], dtype=np.intp),
        lost=lost_core_seconds(running, now)[victims],
    )
