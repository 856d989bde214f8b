# SPDX-License-Identifier: Apache-2.0
"""A cloud that has hosts as the site of a run: placement, migrations, costs, and a ledger.

Implements the simulation of Merkat (INRIA RR-8648), sections 3.1.1 and 3.2.2. Each task of a job is a server
of one vCPU with its own host, bid and allocation, and the job is as fast as the slowest of them. Units as in
sim.market.applications.

A round at t: what was bought before t is paid, jobs that are over return their credits, new ones get budgets,
policies step, those that start or resume are placed, the market decides, and servers migrate until the
next round. A job that finds no room for all of its servers waits. Suspended servers leave their hosts
once their RAM is written, and may come back on others with it: Nova's suspend keeps their room, its shelve
loses their RAM.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from nova_market.core.app.policies.policy_interface import MarketState, PolicyState
from nova_market.core.ledger.money import MICRO
from nova_market.core.market.record import EconomyRecord
from nova_market.core.market.round import RoundOutcome
from nova_market.core.resource import Array, Rows, Values
from nova_market.core.scheduler.request import ServerRequest
from nova_market.core.scheduler.snapshot import SchedulerSnapshot, round_snapshot
from nova_market.sim.cloud.accounts import project_name
from nova_market.sim.cloud.costs import Costs
from nova_market.sim.cloud.hosts import SimulatedHosts
from nova_market.sim.cloud.market import CloudMarket, Offers, Ruling
from nova_market.sim.cloud.scheduler import PlacingSetting, places
from nova_market.sim.cloud.servers import JobServers
from nova_market.sim.market.applications import CPU, MEMORY, Applications, MarketSetting
from nova_market.sim.market.one_host import empty_market, market_after
from nova_market.sim.workload.job import Workload

ORIGIN = 1000
"""The period at 0 s: periods are counted from the epoch, where none is the first."""

NONE: Rows = np.zeros(0, dtype=np.intp)


@dataclass(slots=True, kw_only=True)
class CloudLog:
    """Of each round: servers, largest allocation error, migrations begun, jobs that found no room.

    economy: before the charges of the round, with what it charged (P4)
    """

    servers: list[int] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    migrations: list[int] = field(default_factory=list)
    homeless: list[int] = field(default_factory=list)
    economy: list[EconomyRecord] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CloudParts:
    """What a cloud is made of. project: (jobs,) who pays; rng: for candidates on large clouds"""

    hosts: SimulatedHosts
    market: CloudMarket
    costs: Costs
    placing: PlacingSetting
    project: Rows
    rng: np.random.Generator


class CloudSite:
    """Implements Site. Remembers which jobs are there, and what policies and the scheduler see of a round."""

    def __init__(self, workload: Workload, setting: MarketSetting, parts: CloudParts) -> None:
        self._setting, self.parts = setting, parts
        # flavors have whole MiB
        memory = np.maximum(np.ceil(np.nan_to_num(workload.memory_mib)), 1.0)
        self.most: Array = np.stack([np.ones(len(workload)), memory])
        self.servers = JobServers(parts.hosts, workload.processors, memory)
        self.log = CloudLog()
        self._capacity = parts.hosts.capacity.sum(axis=1)
        # what nobody sells costs nothing, not even the reserve price
        sold = parts.hosts.sold.any(axis=1)
        self._reserve = np.where(sold, np.array(setting.reserve) * MICRO, 0.0)
        self.market: MarketState = empty_market(self._capacity, self._reserve)
        self._here = NONE
        self._view: SchedulerSnapshot | None = None
        self._period = ORIGIN

    def forget_prices(self) -> None:
        self.market = empty_market(self._capacity, self._reserve)

    def begin(self, apps: Applications, rows: Rows, now: float) -> None:
        period = round(now / self._setting.period) + ORIGIN
        if not len(self.log.servers):
            # a round without servers: the currency gives the projects what they begin with
            self._decide(apps, period - 1, NONE)
        self._period = period
        self.parts.market.settle(period)
        self._change_jobs(rows, period)
        apps.budget[rows] = self.parts.market.available(rows)

    def admit(
        self, apps: Applications, rows: Rows, wanted: Values, now: float
    ) -> tuple[Values, tuple[Array, Array]]:
        """First some leave, then the others come, in order, as long as there is room."""
        before, state = apps.state[rows], wanted.copy()
        ran, runs = before == PolicyState.RUNNING, wanted == PolicyState.RUNNING
        self.servers.free(now)
        for at in np.flatnonzero(ran & ~runs).tolist():
            self._leave(int(rows[at]), now, suspended=wanted[at] == PolicyState.SUSPENDED)
        homeless = 0
        for at in np.flatnonzero(~ran & runs).tolist():
            if not self.house(apps, int(rows[at])):
                state[at] = before[at]
                apps.bid[:, rows[at]] = 0.0
                homeless += 1
        self.log.homeless.append(homeless)
        costs, setting = self.parts.costs, self._setting
        boot = np.full(len(rows), setting.start_cost + costs.boot)
        return state, (boot, setting.resume_cost + costs.resume(self.most[MEMORY, rows]))

    def house(self, apps: Applications, job: int) -> bool:
        """Find hosts for all servers of a job; False where there is no room for all."""
        if self.servers.placed(job):
            # its RAM is still being written where it was
            return False
        parts, bid = self.parts, np.floor(apps.bid[:, job])
        memory = float(self.most[MEMORY, job])
        request = ServerRequest(
            project_id=project_name(int(parts.project[job])),
            size=(1.0, memory),
            limit=(1.0, memory),
            bid=(int(bid[CPU]), int(bid[MEMORY])),
            count=int(apps.jobs.processors[job]),
            market=True,
        )
        assert self._view is not None
        found = places(parts.hosts, self._view, request, parts.placing, parts.rng)
        if found is None:
            return False
        self.servers.put(job, found)
        return True

    def divide(self, apps: Applications, rows: Rows, bidders: Rows, now: float) -> RoundOutcome:
        """Every job gets what its slowest server gets, and owes for all of them."""
        ruling = self._decide(apps, self._period, bidders)
        outcome, caps = ruling.outcome, ruling.snapshot.caps
        if len(bidders):
            counts = apps.jobs.processors[bidders]
            starts = np.cumsum(counts) - counts
            part = np.ones(len(outcome.error))
            np.divide(outcome.actual[MEMORY], caps[MEMORY], out=part, where=caps[MEMORY] > 0)
            speed = outcome.actual[CPU] * self.parts.costs.memory_speed(part)
            apps.take_shares(
                rows,
                bidders,
                np.minimum.reduceat(outcome.actual, starts, axis=1),
                np.minimum.reduceat(speed, starts),
                np.add.reduceat(outcome.due(), starts),
            )
        else:
            apps.take_shares(rows, NONE, np.zeros((2, 0)), np.zeros(0), np.zeros(0, dtype=np.int64))
        self.market = market_after(outcome, self._capacity, self._reserve)
        self.log.servers.append(len(outcome.error))
        self.log.error.append(outcome.largest_error)
        self.log.migrations.append(len(ruling.begun))
        self.log.economy.append(replace(ruling.economy, charged=int(outcome.due().sum())))
        return outcome

    def close(self) -> None:
        self._change_jobs(NONE, self._period + 1)

    def _change_jobs(self, rows: Rows, period: int) -> None:
        """Close the budgets of jobs that are over, free their hosts, and open those of new ones."""
        gone = np.setdiff1d(self._here, rows, assume_unique=True)
        new = np.setdiff1d(rows, self._here, assume_unique=True)
        for job in gone.tolist():
            self.servers.vacate(job)
        if len(gone):
            self.parts.market.close(gone, period)
        if len(new):
            self.parts.market.open(new, period)
        self._here = rows

    def _leave(self, job: int, now: float, *, suspended: bool) -> None:
        written = float(self.parts.costs.suspend(self.most[MEMORY, [job]])[0])
        if suspended and written > 0:
            self.servers.vacate_at(now + written, job)
        else:
            self.servers.vacate(job)

    def _decide(self, apps: Applications, period: int, bidders: Rows) -> Ruling:
        hosts, cloud, servers = self.parts.hosts, self.parts.market, self.servers
        ids = servers.of(bidders)
        job = np.repeat(bidders, apps.jobs.processors[bidders])
        caps = self.most[:, job]
        offers = Offers(
            server=ids,
            job=job,
            host=servers.host[ids],
            bids=np.floor(apps.bid[:, job]).astype(np.int64),
            caps=caps,
            size=caps,
        )
        vcpus = hosts.used[CPU].copy()
        ruling = cloud.round(period, offers)
        apps.lost[:] = 0.0
        for move in ruling.ended:
            servers.host[move.server] = move.target
            owner = servers.job_of(move.server)
            seconds = float(self.parts.costs.lost(np.array(move.ended - move.began)))
            apps.lost[owner] = max(apps.lost[owner], seconds)
        available = cloud.projects()
        # servers are paid for by the budgets of their jobs, so no project owes anything of its own
        self._view = round_snapshot(
            period,
            ruling.snapshot,
            ruling.outcome,
            hosts=hosts.names,
            vcpus=vcpus,
            projects=[project_name(row) for row in range(len(available))],
            available=available,
        )
        return ruling
