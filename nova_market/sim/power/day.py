# SPDX-License-Identifier: Apache-2.0
"""A day of servers on hosts, sample by sample: where they are, what is on, what it draws, who is short.

The decisions are those of the services: core.rebalancing, core.power. Units: cores, MiB, watts, seconds,
joules; arrays (servers,), (hosts,), (servers, samples). What a server wants is its utilisation times its
vCPUs; a host divides its cores among them equally by vCPU, as for equal bids.

A move is carried out within the sample in which it is decided, and its copy costs cores on both hosts for
that long. A woken host has room at the next sample, and draws its base from the one before.
"""

from dataclasses import dataclass, field

import numpy as np

from nova_market.core.calendar.axes import AXES, CORES
from nova_market.core.calendar.calendar import unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.lease.cluster import Cluster, cluster
from nova_market.core.lease.power import watts
from nova_market.core.power.consolidation import ConsolidationSettings, consolidated
from nova_market.core.power.plan import HostsPower, Power, PowerSettings, power_plan
from nova_market.core.rebalancing.layout import NOWHERE, Layout, LayoutState
from nova_market.core.rebalancing.move_order import MigrationSettings
from nova_market.core.rebalancing.tabu_search import BalancePlan, BalanceSettings, balanced
from nova_market.core.resource import Array, Flags, Rows
from nova_market.sim.power.loads import INTERVAL

HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """count hosts of one model. base_w, peak_w: of an idle one, and what a full load adds (W1)"""

    count: int
    cores: float
    memory_mib: float
    base_w: float
    peak_w: float

    def cluster(self) -> Cluster:
        whole = np.zeros((len(AXES), self.count))
        whole[CORES] = self.cores
        watts_of = np.ones(self.count)
        return cluster(
            tuple(f'host-{row}' for row in range(self.count)),
            unbooked(capacity(whole)),
            whole,
            base_w=self.base_w * watts_of,
            peak_w=self.peak_w * watts_of,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """What is done. balance: servers move off hosts that are short; consolidate: onto fewer hosts;
    power: hosts without servers are powered down

    window: samples whose mean load is what hosts are filled by, and whose largest total is the demand
    every:  samples between consolidations
    """

    balance: bool = False
    consolidate: bool = False
    power: bool = False
    window: int = 12
    every: int = 12
    fill: ConsolidationSettings = field(default_factory=ConsolidationSettings)
    down: PowerSettings = field(default_factory=PowerSettings)
    migrations: int = 50
    """At most, of one plan that balances."""


@dataclass(slots=True, kw_only=True)
class Day:
    """What a day came to.

    joules:   of hosts and copies; on: host-samples that drew their base
    errors:   largest allocation error of each sample; short: server-samples above the tolerated error
    missing:  core-seconds that servers wanted and did not get; wanted: that they wanted
    """

    joules: float = 0.0
    on: int = 0
    errors: list[float] = field(default_factory=list)
    short: int = 0
    missing: float = 0.0
    wanted: float = 0.0
    migrations: int = 0
    copied_mib: float = 0.0
    changes: int = 0


def simulated(
    loads: Array, vcpus: float, memory_mib: float, machines: Machines, goals: Goals
) -> Day:
    """The day of equal servers that begin on all hosts in turn."""
    return _Run(loads, vcpus, memory_mib, machines, goals).whole()


def least_joules(loads: Array, vcpus: float, memory_mib: float, machines: Machines) -> float:
    """No placement with any number of moves draws less: hosts by their RAM or their cores, whole ones."""
    wanted = loads.sum(axis=0) * vcpus
    by_memory = np.ceil(len(loads) * memory_mib / machines.memory_mib)
    hosts = np.maximum(by_memory, np.ceil(wanted / machines.cores - 1e-9))
    dynamic = machines.peak_w * wanted / machines.cores
    return float((hosts * machines.base_w + dynamic).sum() * INTERVAL)


class _Run:
    """The state of one day."""

    def __init__(
        self, loads: Array, vcpus: float, memory_mib: float, machines: Machines, goals: Goals
    ) -> None:
        self._wanted = loads * vcpus
        self._goals = goals
        self._machines = machines
        self._copies = MigrationSettings()
        self._cluster = machines.cluster()
        servers, hosts = len(loads), machines.count
        self._vcpus = np.full((1, servers), vcpus)
        self._size = np.full((1, servers), memory_mib)
        self._room = np.full((1, hosts), machines.memory_mib)
        self._cores = np.full((1, hosts), machines.cores)
        self._host: Rows = np.arange(servers) % hosts
        self._state = np.full(hosts, int(Power.ON))
        self._empty_for = np.zeros(hosts)
        self._day = Day()

    def whole(self) -> Day:
        for sample in range(self._wanted.shape[1]):
            self._one(sample)
        return self._day

    def _one(self, sample: int) -> None:
        goals = self._goals
        self._state[self._state == Power.WAKING] = Power.ON
        # up to the sample before: nobody knows what comes
        recent = self._wanted[:, max(sample - goals.window, 0) : max(sample, 1)]
        if goals.consolidate and sample and sample % goals.every == 0:
            base = self._cluster.base_w
            self._apply(consolidated(self._layout(recent.mean(axis=1)), base, goals.fill))
        if goals.balance:
            settings = BalanceSettings(migrations=goals.migrations)
            self._apply(balanced(self._layout(recent[:, -1]), settings))
        if goals.power:
            self._switch(recent)
        self._account(sample)

    def _layout(self, wanted: Array) -> Layout:
        servers, hosts = len(wanted), self._machines.count
        return Layout(
            host=self._host,
            bids=self._vcpus,
            caps=wanted[None, :],
            ideal=wanted[None, :],
            capacity=self._cores,
            size=self._size,
            room=self._room,
            movable=np.ones(servers, dtype=np.bool_),
            open=self._on(),
            zone=np.full(servers, NOWHERE),
            host_zone=np.zeros(hosts, dtype=np.intp),
            apart=np.full(servers, NOWHERE),
        )

    def _on(self) -> Flags:
        flags: Flags = self._state == Power.ON
        return flags

    def _apply(self, plan: BalancePlan) -> None:
        copied = float(self._size[0, plan.moved].sum())
        self._host = plan.host
        self._day.migrations += len(plan.moved)
        self._day.copied_mib += copied
        seconds = copied / self._copies.copy_rate
        watts_of_core = self._machines.peak_w / self._machines.cores
        self._day.joules += self._copies.copy_cores * seconds * watts_of_core

    def _switch(self, recent: Array) -> None:
        empty = np.bincount(self._host, minlength=self._machines.count) == 0
        self._empty_for = np.where(empty & self._on(), self._empty_for + INTERVAL, 0.0)
        hosts = self._machines.count
        seen = HostsPower(
            state=self._state,
            empty_for=self._empty_for,
            needed_in=np.full(hosts, np.inf),
            bound=np.zeros(hosts, dtype=np.bool_),
            capacity=np.concatenate([self._cores, self._room]),
            base_w=self._cluster.base_w,
        )
        # RAM may be filled wholly
        ram = self._size.sum() * self._goals.down.fullest
        demand = np.array([recent.sum(axis=0).max(), ram])
        plan = power_plan(seen, demand, self._goals.down)
        self._state[plan.down] = Power.OFF
        self._state[plan.wake] = Power.WAKING
        self._day.changes += len(plan.down) + len(plan.wake)

    def _account(self, sample: int) -> None:
        wanted = self._wanted[:, sample]
        layout = LayoutState(self._layout(wanted))
        busy = np.minimum(layout.wanted[0], self._cores[0])
        on = np.isin(self._state, (Power.ON, Power.WAKING))
        day = self._day
        day.joules += float(watts(self._cluster, busy, on.astype(np.float64)).sum()) * INTERVAL
        day.on += int(on.sum())
        errors = np.maximum(layout.errors, 0.0)
        day.errors.append(float(errors.max(initial=0.0)))
        tolerated = self._goals.fill.error
        day.short += sum(
            len(members)
            for members, error in zip(layout.members, errors.tolist(), strict=True)
            if error > tolerated
        )
        day.wanted += float(wanted.sum()) * INTERVAL
        day.missing += float((layout.wanted[0] - busy).sum()) * INTERVAL
