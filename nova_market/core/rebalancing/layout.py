# SPDX-License-Identifier: Apache-2.0
"""Where servers are, what may move where, and the largest allocation error of each host.

Implements ComputeErrors of Merkat (INRIA RR-8648), section 2.2.4, for single hosts, and the limits of rule
A3 of doc/source/specs/market.rst. Units as in core.market.snapshot; sizes in the unit of their row. Arrays
(resources, servers), (resources, hosts), (rows of size, servers), (rows of size, hosts).

Differs from the paper: the errors of the hosts touched are computed anew, not those of all servers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import Array, Flags, Rows
from nova_market.core.share import shares_at, water_levels

NOWHERE = -1
"""No group, or every zone."""

FITS = 1e-9
"""Relative slack of a size, so that rounding does not forbid a move."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Layout:
    """What the search starts from.

    host:     (servers,) row of the host each server is on
    bids, caps, ideal: (resources, servers); capacity: (resources, hosts)
    size, room: what must fit at every step: RAM in MiB, and what Placement counts (with its ratios)
    movable:  (servers,) not pinned, not cooling down, not in an affinity group
    open:     (hosts,) may receive: enabled and answering
    zone:     (servers,) NOWHERE = any; host_zone: (hosts,)
    apart:    (servers,) anti-affinity group, NOWHERE = none
    """

    host: Rows
    bids: Array
    caps: Array
    ideal: Array
    capacity: Array
    size: Array
    room: Array
    movable: Flags
    open: Flags
    zone: Rows
    host_zone: Rows
    apart: Rows

    @property
    def servers(self) -> int:
        return len(self.host)

    @property
    def hosts(self) -> int:
        return len(self.open)


def host_errors(placement: Layout, hosts: Rows, members: Sequence[Rows]) -> Array:
    """Largest error, eq. (2), on each of `hosts` if it held these members; -inf on an empty one."""
    lengths = np.array([len(rows) for rows in members])
    errors = np.full(len(hosts), -np.inf)
    if not lengths.sum():
        return errors
    rows = np.concatenate(members)
    group = np.repeat(np.arange(len(hosts)), lengths)
    # one division for all resources: each has its own copy of the hosts
    width, count = len(placement.capacity), len(rows)
    bids, caps, ideal = (
        a.take(rows, axis=1).ravel() for a in (placement.bids, placement.caps, placement.ideal)
    )
    groups = np.concatenate([group + r * len(hosts) for r in range(width)])
    levels = water_levels(bids, caps, groups, placement.capacity.take(hosts, axis=1).ravel())
    actual = shares_at(levels, bids, caps, groups)
    part = np.divide(actual, ideal, out=np.ones(width * count), where=ideal > 0)
    part = part.reshape(width, count).min(axis=0)
    filled = np.flatnonzero(lengths)
    starts = np.cumsum(lengths)[filled] - lengths[filled]
    errors[filled] = 1.0 - np.minimum.reduceat(part, starts)
    return errors


class LayoutState:
    """A placement that moves are tried on. Remembers; each move touches two hosts only."""

    def __init__(self, placement: Layout) -> None:
        self.placement = placement
        self.host = placement.host.copy()
        order = np.argsort(self.host, kind='stable')
        cuts = np.searchsorted(self.host[order], np.arange(1, placement.hosts))
        self.members: list[Rows] = np.split(order, cuts) if placement.hosts else []
        self.used = _by_host(placement.size, self.host, placement.hosts)
        self.wanted = _by_host(placement.ideal, self.host, placement.hosts)
        self.errors = host_errors(placement, np.arange(placement.hosts), self.members)
        self.inflow = np.zeros(placement.hosts, dtype=np.intp)
        self.net = 0
        self._apart: dict[int, dict[int, int]] = {}
        for server in np.flatnonzero(placement.apart != NOWHERE):
            self._count_apart(int(server), int(self.host[server]), 1)

    def move(self, server: int, target: int) -> int:
        """Put a server on another host; returns the one it was on."""
        source, start = int(self.host[server]), int(self.placement.host[server])
        here = self.members[source]
        self.members[source] = here[here != server]
        self.members[target] = np.append(self.members[target], server)
        self.host[server] = target
        for host, sign in ((source, -1), (target, 1)):
            self.used[:, host] += sign * self.placement.size[:, server]
            self.wanted[:, host] += sign * self.placement.ideal[:, server]
            self._count_apart(server, host, sign)
            if host != start:
                self.inflow[host] += sign
        self.net += int(target != start) - int(source != start)
        both = np.array([source, target])
        self.errors[both] = host_errors(
            self.placement, both, [self.members[source], self.members[target]]
        )
        return source

    def try_moves(self, servers: Rows, targets: Rows) -> Array:
        """Largest error on the two hosts that each of these moves would touch, if made alone."""
        sources = self.host[servers]
        without = [
            self.members[h][self.members[h] != s] for s, h in zip(servers, sources, strict=True)
        ]
        joined = [np.append(self.members[h], s) for s, h in zip(servers, targets, strict=True)]
        errors = host_errors(
            self.placement, np.concatenate([sources, targets]), [*without, *joined]
        )
        worst: Array = errors.reshape(2, len(servers)).max(axis=0)
        return worst

    def try_swaps(self, servers: Rows, others: Rows) -> Array:
        """Largest error on the two hosts that each of these swaps would touch, if made alone."""
        members = []
        for first, second in ((servers, others), (others, servers)):
            for gone, come in zip(first, second, strict=True):
                rows = self.members[self.host[gone]]
                members.append(np.where(rows == gone, come, rows))
        hosts = np.concatenate([self.host[servers], self.host[others]])
        worst: Array = (
            host_errors(self.placement, hosts, members).reshape(2, len(servers)).max(axis=0)
        )
        return worst

    def allowed(self, servers: Rows, hosts: Rows, inflow: int) -> Flags:
        """(servers, hosts): may this server go to this host now, all of rule A3 but the cost?"""
        p = self.placement
        start = p.host[servers]
        home = hosts[None, :] == start[:, None]
        fine: Flags = p.open[hosts][None, :] & ((self.inflow[hosts] < inflow)[None, :] | home)
        fine &= hosts[None, :] != self.host[servers][:, None]
        zone = p.zone[servers]
        fine &= (zone[:, None] == NOWHERE) | (zone[:, None] == p.host_zone[hosts][None, :])
        for size, used, room in zip(p.size, self.used, p.room, strict=True):
            limit = room[hosts] * (1.0 + FITS)
            fine &= used[hosts][None, :] + size[servers][:, None] <= limit[None, :]
        for row, server in enumerate(servers):
            taken = self._apart.get(int(p.apart[server]))
            if taken:
                fine[row] &= np.array([not taken.get(int(h)) for h in hosts], dtype=np.bool_)
        return fine

    def _count_apart(self, server: int, host: int, sign: int) -> None:
        group = int(self.placement.apart[server])
        if group != NOWHERE:
            hosts = self._apart.setdefault(group, {})
            hosts[host] = hosts.get(host, 0) + sign


def fits(wanted: Array, room: Array) -> Flags:
    """(hosts,): is all that is wanted on a host within its room? Both (rows of size, hosts)."""
    fine: Flags = np.asarray((wanted <= room * (1.0 + FITS)).all(axis=0))
    return fine


def load(wanted: Array, capacity: Array) -> Array:
    """Sum of ideal allocations over capacity, the larger over resources; huge without capacity.

    Above 1 exactly when somebody on the host gets less than the ideal.
    """
    worst: Array = (wanted / np.maximum(capacity, 1e-9)).max(axis=0)
    return worst


def _by_host(amounts: Array, host: Rows, hosts: int) -> Array:
    """(rows, hosts): sums of amounts over the servers of each host."""
    return np.stack([np.bincount(host, row, hosts) for row in amounts])
