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

import numpy as np

from nova_market.core.job.columns import RunningJobs
from nova_market.core.job.policy_interface import Preemptions, PreemptOrder
from nova_market.core.job.room import Room
from nova_market.core.resource import Array, Flags, Rows, Values

NEVER = np.iinfo(np.intp).max
"""Place in the order of a host that has no room even if all victims on it go."""


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


class Victims:
    """Best-effort jobs that may still be preempted in this pass, on their hosts.

    order: rows in the order of preference
    """

    def __init__(self, running: RunningJobs, order: Rows) -> None:
        placement = running.placement
        position = np.full(len(running), -1, dtype=np.intp)
        position[order] = np.arange(len(order))
        spots = np.flatnonzero(position[placement.job] >= 0)
        spots = spots[np.lexsort((position[placement.job[spots]], placement.host[spots]))]
        # servers of victims, by host, and on each host by preference
        self._job, self._host = placement.job[spots], placement.host[spots]
        self._position = position[self._job]
        self._freed: Array = running.amount[:, self._job] * placement.servers[spots]
        hosts = int(placement.host.max(initial=-1)) + 1
        self._first_spot = np.searchsorted(self._host, np.arange(hosts + 1))
        self._by_job = np.argsort(self._job, kind='stable')
        of_jobs = self._job[self._by_job]
        self._first_of_job = np.searchsorted(of_jobs, np.arange(len(running) + 1))
        self._ready: dict[tuple[bytes, int], tuple[Rows, Array, int]] = {}
        self._touched: list[int] = []
        self._order = order
        self._stays = np.zeros(len(running), dtype=np.bool_)
        self._stays[order] = True

    def needed(self, room: Room, amount: Array, servers: int, aggregate: int) -> list[int] | None:
        """Those that must go so that the job has room, in the order of preference.

        Empty when it has room already; None when all of them together would not help. `room` stays as it is.
        """
        if servers == 1:
            there = room.spot(amount, servers, aggregate) is not None
            return [] if there else self._on_one_host(room, amount, aggregate)
        fit = room.fitting(amount, aggregate)
        if fit.sum() >= servers:
            return []
        return self._on_hosts(room.copy(), fit, amount, servers, aggregate)

    def remove(self, chosen: list[int], room: Room) -> None:
        """These go: their room is added."""
        for victim in chosen:
            self._stays[victim] = False
            self._touched += self._change(victim, room, 1.0).tolist()

    def restore(self, chosen: list[int], room: Room) -> None:
        """These stay after all."""
        for victim in chosen:
            self._stays[victim] = True
            self._touched += self._change(victim, room, -1.0).tolist()

    def _on_one_host(self, room: Room, amount: Array, aggregate: int) -> list[int] | None:
        """For one server: the host that has room first, as victims go in the order of preference."""
        ready = self._ready_hosts(room, amount, aggregate)
        if not len(ready) or ready.min() == NEVER:
            return None
        # a victim on several hosts may be the last that each of them needs
        hosts = np.flatnonzero(ready == ready.min())
        spots = self._spots_of(int(hosts[0]))
        chosen: list[int] = self._job[spots[self._position[spots] <= ready.min()]].tolist()
        for victim in chosen[-2::-1]:
            rest = [one for one in chosen if one != victim]
            if self._have_room(room, amount, hosts, rest):
                chosen = rest
        return chosen

    def _have_room(self, room: Room, amount: Array, hosts: Rows, gone: list[int]) -> bool:
        """Whether one of the hosts has room for one server when these have gone."""
        for host in hosts.tolist():
            spots = self._spots_of(host)
            freed = self._freed[:, spots[np.isin(self._job[spots], gone)]].sum(axis=1)
            if (room.free[:, host] + freed >= amount).all():
                return True
        return False

    def _ready_hosts(self, room: Room, amount: Array, aggregate: int) -> Rows:
        """The place in the order up to which victims must go so that each host has room, (hosts,); or NEVER.

        Calculated once for each amount, and then for the hosts that have changed since: a pass in which many
        jobs displace many would otherwise look at all victims for each of these jobs.
        """
        key = amount.tobytes(), aggregate
        known = self._ready.get(key)
        if known is None:
            ready = np.full(room.free.shape[1], NEVER, dtype=np.intp)
            changed = np.unique(self._host)
        else:
            ready, free, since = known
            dirty = (room.free != free).any(axis=0)
            dirty[self._touched[since:]] = True
            changed = np.flatnonzero(dirty[: len(self._first_spot) - 1])
        inside = room.fitting(np.zeros_like(amount), aggregate, changed) > 0
        for host in changed[inside].tolist():
            spots = self._spots_of(host)
            there = room.free[:, [host]] + np.cumsum(self._freed[:, spots], axis=1)
            enough = np.flatnonzero((there >= amount[:, None]).all(axis=0))
            ready[host] = self._position[spots[enough[0]]] if len(enough) else NEVER
        self._ready[key] = ready, room.free.copy(), len(self._touched)
        return ready

    def _spots_of(self, host: int) -> Rows:
        """Servers on this host of victims that stay, by preference."""
        spots = np.arange(self._first_spot[host], self._first_spot[host + 1])
        return spots[self._stays[self._job[spots]]]

    def _on_hosts(
        self, room: Room, fit: Values, amount: Array, servers: int, aggregate: int
    ) -> list[int] | None:
        """For a gang; room: to be tried in."""

        def change(victim: int, sign: float) -> None:
            hosts = self._change(victim, room, sign)
            fit[hosts] = room.fitting(amount, aggregate, hosts)

        chosen: list[int] = []
        for victim in self._order[self._stays[self._order]].tolist():
            if fit.sum() >= servers:
                break
            change(victim, 1.0)
            chosen.append(victim)
        if fit.sum() < servers:
            return None
        for victim in chosen[-2::-1]:
            change(victim, -1.0)
            if fit.sum() < servers:
                change(victim, 1.0)
            else:
                chosen.remove(victim)
        return chosen

    def _change(self, victim: int, room: Room, sign: float) -> Rows:
        """Add what it holds, or take it again; its hosts."""
        spots = self._by_job[self._first_of_job[victim] : self._first_of_job[victim + 1]]
        hosts = self._host[spots]
        room.free[:, hosts] += sign * self._freed[:, spots]
        return hosts


def preemptions(running: RunningJobs, chosen: list[tuple[int, int]], now: float) -> Preemptions:
    """As columns; chosen: (victim, displacer) in order."""
    victims = np.array([victim for victim, _ in chosen], dtype=np.intp)
    return Preemptions(
        victim=victims,
        displacer=np.array([displacer for _, displacer in chosen], dtype=np.intp),
        lost=lost_core_seconds(running, now)[victims],
    )
