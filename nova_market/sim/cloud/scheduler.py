# SPDX-License-Identifier: Apache-2.0
"""Where the servers of an application go: Nova's way, with the decisions of the scheduler's plug-ins.

Implements rule S3 of doc/source/specs/market.rst in the simulator: hosts with room (what Placement does), the
affordable filter, then the sum of normalised weights; the first of the best. Servers of one request
are placed one after the other, and each sees those before it as newcomers. Units as in
core.scheduler.request.
"""

from dataclasses import dataclass, field

import numpy as np

from nova_market.core.resource import Array, Rows
from nova_market.core.scheduler.filters import affordable_hosts
from nova_market.core.scheduler.host_demand import newcomers_since
from nova_market.core.scheduler.request import ServerRequest
from nova_market.core.scheduler.snapshot import SchedulerSnapshot
from nova_market.core.scheduler.weights import by_allocation_error, by_bid_load, by_servers
from nova_market.sim.cloud.hosts import SimulatedHosts

OPINIONS = ('cpu', 'ram', 'bid_load', 'allocation_error', 'packing')

RANGED = 'allocation_error'
"""Counts between fixed bounds, -1 and 0; the others between the least and the most of the candidates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Multipliers, by default those of Nova and of group [nova_market]. cpu, ram: Nova's spreading."""

    cpu: float = 1.0
    ram: float = 1.0
    bid_load: float = 1.0
    allocation_error: float = 1.0
    packing: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacingSetting:
    """candidates: hosts that are looked at for a request, [scheduler]max_placement_results; 0 = all
    periods: [nova_market]affordable_periods, 0 = the filter is off
    """

    weights: Weights = field(default_factory=Weights)
    candidates: int = 1000
    periods: int = 0


def places(
    hosts: SimulatedHosts,
    snapshot: SchedulerSnapshot,
    request: ServerRequest,
    setting: PlacingSetting,
    rng: np.random.Generator,
) -> Rows | None:
    """Hosts of the request's servers, taken of `hosts`; None, and nothing taken, when not all find one."""
    size = np.array(request.size)
    rows = hosts.with_room(size)
    rows = _candidates(rows, setting.candidates, rng)
    fine, _ = affordable_hosts(snapshot, request, rows, setting.periods)
    rows = rows[fine]
    if not len(rows):
        return None
    bench = _Bench(hosts, snapshot, request, setting.weights, rows)
    chosen: list[int] = []
    for _ in range(request.count):
        if not len(bench.rows):
            hosts.release(np.array(chosen, dtype=np.intp), size)
            return None
        best = bench.best()
        chosen.append(int(bench.rows[best]))
        hosts.take(bench.rows[best : best + 1], size)
        bench.look_again(best)
    return np.array(chosen, dtype=np.intp)


def _candidates(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """As many as are looked at, in order, from anywhere on: [placement]randomize_allocation_candidates."""
    if not most or len(rows) <= most:
        return rows
    start = int(rng.integers(len(rows)))
    chosen = (start + np.arange(most)) % len(rows)
    found: Rows = rows[np.sort(chosen)]
    return found


class _Bench:
    """The opinions on the candidates of one request; those where it does not fit any more are out."""

    def __init__(
        self,
        hosts: SimulatedHosts,
        snapshot: SchedulerSnapshot,
        request: ServerRequest,
        weights: Weights,
        rows: Rows,
    ) -> None:
        self._hosts, self._snapshot, self._request = hosts, snapshot, request
        self._size, self.rows = np.array(request.size), rows
        chosen = np.array([getattr(weights, name) for name in OPINIONS])
        self._counts = chosen != 0
        self._multiplier = chosen[self._counts]
        self._ranged = np.array([name == RANGED for name in OPINIONS])[self._counts]
        self._found = self._opinions(rows)

    def best(self) -> int:
        """Position of the first of the candidates with the largest sum of weights, as Nova normalises."""
        found = self._found
        least = np.where(self._ranged, -1.0, found.min(axis=1))
        span = np.where(self._ranged, 1.0, found.max(axis=1) - least)
        scale = np.divide(self._multiplier, span, out=np.zeros_like(span), where=span > 0)
        return int((scale @ found - scale @ least).argmax())

    def look_again(self, position: int) -> None:
        """One more server is on this candidate."""
        row = self.rows[position : position + 1]
        if self._hosts.fits(int(row[0]), self._size):
            self._found[:, position] = self._opinions(row)[:, 0]
        else:
            self.rows = np.delete(self.rows, position)
            self._found = np.delete(self._found, position, axis=1)

    def _opinions(self, rows: Rows) -> Array:
        """(opinions that count, rows); 0 for no opinion."""
        hosts, snapshot, request = self._hosts, self._snapshot, self._request
        none = np.zeros(len(rows))
        found: list[Array] = []
        cpu, ram, load, error, packing = self._counts
        free = hosts.room[:, rows] - hosts.used[:, rows]
        come = newcomers_since(snapshot, request, rows, hosts.used[0, rows])
        if cpu:
            found.append(free[0])
        if ram:
            found.append(free[1])
        if load:
            opinion = by_bid_load(snapshot, request, rows, come)
            found.append(none if opinion is None else opinion)
        if error:
            opinion = by_allocation_error(snapshot, request, rows, come)
            found.append(none if opinion is None else opinion)
        if packing:
            found.append(by_servers(hosts.servers[rows].astype(np.float64)))
        return np.array(found).reshape(len(found), len(rows))
