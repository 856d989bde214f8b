# SPDX-License-Identifier: Apache-2.0
"""What hosts have left while one pass starts jobs, and which host a server gets.

Implements `sufficientResourcesToRun` of SVMSched's Algorithm 1 and its greedy choice of a host (section
4.2.3): a server must fit one host. Beyond: gangs, all of whose servers are placed or none; best fit.

Units and shapes as in columns.py; `amount` is what one server takes, (AXES,).
"""

import numpy as np

from nova_market.core.calendar.axes import AXES, CORES, MEMORY_MIB
from nova_market.core.job.columns import Placement
from nova_market.core.job.policy_interface import HostChoice
from nova_market.core.resource import Array, Flags, Rows, Values

Spot = tuple[Rows, Values]
"""Rows of hosts, and how many servers each gets."""


class Room:
    """The free room of one pass: it changes as jobs are placed, and ends with the pass.

    free: (AXES, hosts), copied; aggregates: (aggregates, hosts)
    """

    def __init__(self, free: Array, aggregates: Flags, choice: HostChoice) -> None:
        self.free: Array = free.copy()
        self._member = aggregates
        self._choice = choice

    def copy(self) -> 'Room':
        """The same room, to try something out."""
        return Room(self.free, self._member, self._choice)

    def most_free(self) -> Array:
        """Of each axis, on any host of each aggregate: (AXES, aggregates)."""
        return most_of_any(self.free, self._member)

    def fitting(self, amount: Array, aggregate: int, hosts: Rows | None = None) -> Values:
        """How many such servers each of these hosts has room for, (hosts,); None: all hosts."""
        member = self._member[aggregate]
        free = self.free
        if hosts is not None:
            member, free = member[hosts], free[:, hosts]
        # a server that takes nothing fits everywhere, as often as anybody asks
        count = np.full(free.shape[1], float(np.iinfo(np.int32).max))
        for axis in range(len(AXES)):
            if amount[axis] > 0:
                np.minimum(count, free[axis] // amount[axis], out=count)
        count[~member] = 0.0
        return count.astype(np.int64)

    def spot(self, amount: Array, servers: int, aggregate: int) -> Spot | None:
        """Where they would go; None when not all of them fit. Nothing is taken yet."""
        if servers == 1:
            host = self._host(amount, aggregate)
            return None if host < 0 else (np.array([host], np.intp), np.array([1], np.int64))
        count = self.fitting(amount, aggregate)
        if int(count.sum()) < servers:
            return None
        hosts = np.flatnonzero(count)
        if self._choice is HostChoice.BEST_FIT:
            hosts = hosts[
                np.lexsort((hosts, self.free[MEMORY_MIB, hosts], self.free[CORES, hosts]))
            ]
        before = np.cumsum(count[hosts]) - count[hosts]
        taken = np.clip(servers - before, 0, count[hosts])
        used = taken > 0
        return hosts[used], taken[used]

    def take(self, amount: Array, spot: Spot) -> None:
        """Book servers of this amount there."""
        hosts, servers = spot
        left = self.free[:, hosts] - amount[:, None] * servers
        self.free[:, hosts] = np.maximum(left, 0.0)  # fractions of cores may leave -1e-17

    def _host(self, amount: Array, aggregate: int) -> int:
        """Row of the host for one server, -1 when there is none."""
        fits = self._member[aggregate] & (self.free[0] >= amount[0])
        for axis in range(1, len(AXES)):
            fits &= self.free[axis] >= amount[axis]
        if self._choice is HostChoice.FIRST_FIT:
            first = int(fits.argmax()) if len(fits) else 0
            return first if len(fits) and fits[first] else -1
        hosts = np.flatnonzero(fits)
        if not len(hosts):
            return -1
        least = np.lexsort((hosts, self.free[MEMORY_MIB, hosts], self.free[CORES, hosts]))
        return int(hosts[least[0]])


def most_of_any(amounts: Array, aggregates: Flags) -> Array:
    """The most that one host of each aggregate has of each axis: (AXES, aggregates); 0 without hosts."""
    found = np.zeros((len(AXES), len(aggregates)))
    for row, member in enumerate(aggregates):
        if member.any():
            found[:, row] = amounts[:, member].max(axis=1)
    return found


def placement_of(jobs: list[int], spots: list[Spot]) -> Placement:
    """The spots of several jobs as columns, in this order."""
    hosts = [hosts for hosts, _ in spots]
    lengths = [len(one) for one in hosts]
    return Placement(
        job=np.repeat(np.array(jobs, dtype=np.intp), lengths),
        host=np.concatenate([np.zeros(0, np.intp), *hosts]),
        servers=np.concatenate([np.zeros(0, np.int64), *[servers for _, servers in spots]]),
    )


def joined(placements: list[Placement]) -> Placement:
    """One after the other."""
    return Placement(
        job=np.concatenate([np.zeros(0, np.intp), *[one.job for one in placements]]),
        host=np.concatenate([np.zeros(0, np.intp), *[one.host for one in placements]]),
        servers=np.concatenate([np.zeros(0, np.int64), *[one.servers for one in placements]]),
    )


def hosts_of(placement: Placement) -> dict[int, list[int]]:
    """The host of each server, by row of the job."""
    found: dict[int, list[int]] = {}
    for job, host, servers in zip(
        placement.job.tolist(), placement.host.tolist(), placement.servers.tolist(), strict=True
    ):
        found.setdefault(job, []).extend([host] * servers)
    return found


def room_of(placement: Placement, amount: Array, hosts: int) -> Array:
    """What placed servers take of each host, (AXES, hosts); amount: of each job, (AXES, jobs)."""
    taken = np.empty((len(AXES), hosts))
    for axis in range(len(AXES)):
        each = amount[axis, placement.job] * placement.servers
        taken[axis] = np.bincount(placement.host, each, hosts)
    return taken
