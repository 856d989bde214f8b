# SPDX-License-Identifier: Apache-2.0
"""The program of `exact` over columns: each lease on as many hosts as it has nodes, all from one start on.

For rule L3 of doc/source/specs/leases.rst. Variables, all 0 or more:

    column c (a set of options on a host of one kind)   cost of the column     integer
    start  o (of a lease with several options)          0                      0 or 1
    missing i (a lease that has no place)               penalty                0 or 1

    coverage  o: sum of the columns with option o = nodes * start o
    choice    i: sum of its starts + missing i = 1
    number    k: sum of the columns of kind k <= its hosts
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.lease.program import Program, Solution
from nova_market.core.resource import Array, Rows, Values

Column = tuple[int, tuple[int, ...]]
"""The kind of the host, and options of the grid, ascending."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Duals:
    """worth: (options,) what one node of an option is worth; lease: (leases,) ; kind: (kinds,) 0 or more"""

    worth: Array
    lease: Array
    kind: Array


@dataclass(slots=True, eq=False, kw_only=True)
class Master:
    """lease: (options,) row of each; nodes: (leases,); hosts: (kinds,); penalty: of a missing lease"""

    lease: Rows
    nodes: Values
    hosts: Values
    penalty: float
    columns: list[Column] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    _known: set[Column] = field(default_factory=set)

    def add(self, column: Column, cost: float) -> bool:
        """False: it is there already."""
        if column in self._known:
            return False
        self._known.add(column)
        self.columns.append(column)
        self.costs.append(cost)
        return True

    def program(self, *, integer: bool) -> Program:
        options, leases, kinds = len(self.lease), len(self.nodes), len(self.hosts)
        count = len(self.columns)
        sizes = np.array([len(chosen) for _, chosen in self.columns], dtype=np.intp)
        members = np.array([o for _, chosen in self.columns for o in chosen], dtype=np.intp)
        kind = np.array([k for k, _ in self.columns], dtype=np.intp)
        option, lease = np.arange(options), np.arange(leases)
        start, missing = count + option, count + options + lease
        entries = [
            (members, np.repeat(np.arange(count), sizes), np.ones(len(members))),
            (option, start, -self.nodes[self.lease].astype(np.float64)),
            (options + self.lease, start, np.ones(options)),
            (options + lease, missing, np.ones(leases)),
            (options + leases + kind, np.arange(count), np.ones(count)),
        ]
        row, column, value = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        most = np.concatenate([self.hosts[kind], np.ones(options + leases)]).astype(np.float64)
        return Program(
            cost=np.concatenate([self.costs, np.zeros(options), np.full(leases, self.penalty)]),
            most=most if integer else np.full(len(most), np.inf),
            integer=np.full(len(most), integer),
            row=row, column=column, value=value,
            low=np.concatenate([np.zeros(options), np.ones(leases), np.full(kinds, -np.inf)]),
            high=np.concatenate([np.zeros(options), np.ones(leases), self.hosts]).astype(np.float64),
        )  # fmt: skip

    def duals(self, solution: Solution) -> Duals:
        """Corrected so that they are feasible for starts and missing leases, whatever was rounded."""
        options, leases = len(self.lease), len(self.nodes)
        kind = np.maximum(-solution.duals[options + leases :], 0.0)
        return self._feasible(solution.duals[:options], kind)

    def between(self, one: Duals, other: Duals) -> Duals:
        """Half-way."""
        return self._feasible((one.worth + other.worth) / 2.0, (one.kind + other.kind) / 2.0)

    def _feasible(self, worth: Array, kind: Array) -> Duals:
        lease = np.full(len(self.nodes), self.penalty)
        np.minimum.at(lease, self.lease, self.nodes[self.lease] * worth)
        return Duals(worth=worth, lease=lease, kind=kind)

    def chosen(self, solution: Solution) -> list[tuple[Column, int]]:
        """The columns of an integer solution, and how often each is taken."""
        times = np.rint(solution.x[: len(self.columns)]).astype(int).tolist()
        return [(one, n) for one, n in zip(self.columns, times, strict=True) if n > 0]


def spots_of(
    chosen: Sequence[tuple[Column, int]], hosts_of: Sequence[Rows], lease: Rows
) -> dict[int, tuple[int, list[int]]]:
    """Lease -> option and hosts. hosts_of: rows of the hosts of each kind, which are used in their order."""
    spots: dict[int, tuple[int, list[int]]] = {}
    used = [0] * len(hosts_of)
    for (kind, options), times in chosen:
        for _ in range(times):
            host = int(hosts_of[kind][used[kind]])
            used[kind] += 1
            for option in options:
                spots.setdefault(int(lease[option]), (option, []))[1].append(host)
    return spots
