# SPDX-License-Identifier: Apache-2.0
"""A batch workload on the market of a cloud that has hosts: placement, migrations, costs, and a ledger.

Implements the simulation of Merkat (INRIA RR-8648), sections 3.1.1 and 3.2.2. As in market_run each job is an
application with a policy of `nova_market.scaling`; here each of its tasks is a server of one vCPU with its
own host, bid and allocation, and the job is as fast as the slowest of them. Units as in market_run.

A round at t: what was bought before t is paid, jobs that are over return their credits, new ones get budgets,
policies step, those that start or resume are placed, the market decides, and servers migrate until the
next round. A job that finds no room for all of its servers waits. Suspended servers leave their hosts
once their RAM is written, and may come back on others (Nova's shelve).
"""

from dataclasses import dataclass, field

import numpy as np

from nova_market.core.app.policies.merkat_policies import Policy
from nova_market.core.app.policies.policy_interface import MarketState, PolicyState
from nova_market.core.resource import Array, Flags, Rows, Values
from nova_market.core.scheduler.request import ServerRequest
from nova_market.core.scheduler.snapshot import SchedulerSnapshot
from nova_market.sim.cloud.accounts import project_name
from nova_market.sim.cloud.costs import Costs
from nova_market.sim.cloud.hosts import SimulatedHosts
from nova_market.sim.cloud.market import CloudMarket, Offers, Ruling
from nova_market.sim.cloud.scheduler import PlacingSetting, places
from nova_market.sim.cloud.scheduler_snapshot import scheduler_view
from nova_market.sim.market.batch_run import CPU, MEMORY, MarketResult, MarketRun, MarketSetting
from nova_market.sim.workload.job import Terms, Workload

ORIGIN = 1000
"""The period at 0 s: periods are counted from the epoch, where none is the first."""


@dataclass(slots=True, kw_only=True)
class CloudLog:
    """Of each round: servers, largest allocation error, migrations begun, jobs that found no room."""

    servers: list[int] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    migrations: list[int] = field(default_factory=list)
    homeless: list[int] = field(default_factory=list)


class CloudRun(MarketRun):
    """Servers are numbered through the whole workload: those of job j from first[j] on."""

    def __init__(
        self,
        workload: Workload,
        terms: Terms,
        park: SimulatedHosts,
        market: CloudMarket,
        policy: Policy,
        setting: MarketSetting,
        *,
        costs: Costs,
        placing: PlacingSetting,
        project: Rows,
        rng: np.random.Generator,
    ) -> None:
        """project: (jobs,) who pays; rng: for the choice of candidates on large clouds."""
        capacity = park.capacity.sum(axis=1)
        super().__init__(workload, terms, (capacity[0], capacity[1]), policy, setting)
        self._park, self._cloud, self._costs = park, market, costs
        self._placing, self._project, self._rng = placing, project, rng
        # flavors have whole MiB
        self._most[MEMORY] = np.maximum(np.ceil(np.nan_to_num(workload.memory_mib)), 1.0)
        self._first = np.concatenate([[0], np.cumsum(workload.processors)])
        self._host = np.full(self._first[-1], -1, dtype=np.intp)
        self._rate = np.zeros(len(workload))
        self._here = np.zeros(0, dtype=np.intp)
        self._leaving: list[tuple[float, int]] = []
        self._view: SchedulerSnapshot | None = None
        self._period = ORIGIN
        self.log = CloudLog()

    def run(self) -> MarketResult:
        result = super().run()
        self._end_of_jobs(np.zeros(0, dtype=np.intp), self._period + 1)
        return result

    def servers_of(self, jobs: Rows) -> Rows:
        """Ids of the servers of these jobs, job by job."""
        counts = self._jobs.processors[jobs]
        starts = np.repeat(self._first[jobs] - np.cumsum(counts) + counts, counts)
        found: Rows = starts + np.arange(counts.sum())
        return found

    def _round(self, rows: Rows, now: float) -> None:
        period = round(now / self._setting.period) + ORIGIN
        if not len(self.log.servers):
            # a round with nobody: the currency gives the projects what they begin with
            self._decide(period - 1, np.zeros(0, dtype=np.intp))
        self._period = period
        self._cloud.settle(period)
        self._end_of_jobs(rows, period)
        self._budget[rows] = self._cloud.available(rows)
        before = self._state[rows]
        steps = self._policy(self._seen(rows, now))
        self._bid[:, rows], self._change[:, rows] = steps.bid, steps.change
        self._free_what_left(now)
        state, homeless = self._settled(rows, before, steps.state, now)
        self._state[rows] = state
        runs = state == PolicyState.RUNNING
        self._note_changes(rows, before, runs, now)
        bidders = rows[runs]
        ruling = self._decide(period, bidders)
        self._take(bidders, ruling)
        self._write(now, ruling.outcome, len(bidders), len(rows) - len(bidders))
        self._write_cloud(ruling, homeless)

    def _end_of_jobs(self, rows: Rows, period: int) -> None:
        """Close the budgets of jobs that are over, free their hosts, and open those of new ones."""
        gone = np.setdiff1d(self._here, rows, assume_unique=True)
        new = np.setdiff1d(rows, self._here, assume_unique=True)
        for job in gone.tolist():
            self._vacate(job)
        if len(gone):
            self._cloud.close(gone, period)
        if len(new):
            self._cloud.open(new, period)
        self._here = rows

    def _settled(
        self, rows: Rows, before: Values, wanted: Values, now: float
    ) -> tuple[Values, int]:
        """(states after placement, how many found no room): leave first, then come, in order."""
        state = wanted.copy()
        for at in np.flatnonzero(
            (before == PolicyState.RUNNING) & (wanted != PolicyState.RUNNING)
        ).tolist():
            job = int(rows[at])
            written = self._costs.suspend(self._most[MEMORY, [job]])[0]
            if wanted[at] == PolicyState.SUSPENDED and written > 0:
                self._leaving.append((now + float(written), job))
            else:
                self._vacate(job)
        homeless = 0
        for at in np.flatnonzero(
            (before != PolicyState.RUNNING) & (wanted == PolicyState.RUNNING)
        ).tolist():
            if not self._house(int(rows[at])):
                state[at] = before[at]
                self._bid[:, rows[at]] = 0.0
                homeless += 1
        return state, homeless

    def _house(self, job: int) -> bool:
        """Find hosts for all servers of a job."""
        servers = slice(self._first[job], self._first[job + 1])
        if self._host[servers][0] >= 0:
            # its RAM is still being written where it was
            return False
        most, bid = self._most[:, job], np.floor(self._bid[:, job])
        request = ServerRequest(
            project_id=project_name(int(self._project[job])),
            size=(1.0, float(most[MEMORY])),
            limit=(1.0, float(most[MEMORY])),
            bid=(int(bid[CPU]), int(bid[MEMORY])),
            count=int(self._jobs.processors[job]),
            market=True,
        )
        assert self._view is not None
        found = places(self._park, self._view, request, self._placing, self._rng)
        if found is None:
            return False
        self._host[servers] = found
        return True

    def _vacate(self, job: int) -> None:
        servers = slice(self._first[job], self._first[job + 1])
        hosts = self._host[servers]
        if len(hosts) and hosts[0] >= 0:
            self._park.release(hosts, self._size(job))
            self._host[servers] = -1

    def _free_what_left(self, now: float) -> None:
        for until, job in self._leaving:
            if until <= now:
                self._vacate(job)
        self._leaving = [one for one in self._leaving if one[0] > now]

    def _size(self, job: int) -> Array:
        return np.array([1.0, self._most[MEMORY, job]])

    def _decide(self, period: int, bidders: Rows) -> Ruling:
        servers = self.servers_of(bidders)
        job = np.repeat(bidders, self._jobs.processors[bidders])
        caps = self._most[:, job]
        offers = Offers(
            server=servers,
            job=job,
            host=self._host[servers],
            bids=np.floor(self._bid[:, job]).astype(np.int64),
            caps=caps,
            size=caps,
        )
        vcpus = self._park.used[CPU].copy()
        ruling = self._cloud.round(period, offers)
        for move in ruling.ended:
            self._host[move.server] = move.target
        self._lost[:] = 0.0
        for move in ruling.ended:
            owner = int(np.searchsorted(self._first, move.server, side='right')) - 1
            seconds = self._costs.lost(np.array(move.ended - move.began))
            self._lost[owner] = max(self._lost[owner], float(seconds))
        self._view = scheduler_view(period, self._park, ruling, vcpus, self._cloud.projects())
        return ruling

    def _take(self, bidders: Rows, ruling: Ruling) -> None:
        """Allocations of the slowest server of each job, and what the job owes."""
        outcome, most = ruling.outcome, ruling.snapshot.caps
        self._allocation[:], self._rate[:] = 0.0, 0.0
        if len(bidders):
            counts = self._jobs.processors[bidders]
            starts = np.cumsum(counts) - counts
            self._allocation[:, bidders] = np.minimum.reduceat(outcome.actual, starts, axis=1)
            part = np.divide(
                outcome.actual[MEMORY],
                most[MEMORY],
                out=np.ones(len(outcome.error)),
                where=most[MEMORY] > 0,
            )
            speed = outcome.actual[CPU] * self._costs.memory_speed(part)
            self._rate[bidders] = np.minimum.reduceat(speed, starts)
            self._paid[bidders] += np.add.reduceat(outcome.due(), starts)
        self._market = MarketState(
            price=outcome.price,
            capacity=self._capacity,
            idle=self._capacity - outcome.actual.sum(axis=1),
            reserve=self._reserve,
        )

    def _speed(self, rows: Rows) -> Array:
        speed: Array = self._rate[rows]
        return speed

    def _entry_cost(self, rows: Rows, first: Flags) -> Array:
        boot = self._setting.start_cost + self._costs.boot
        read = self._setting.resume_cost + self._costs.resume(self._most[MEMORY, rows])
        return np.where(first, boot, read)

    def _write_cloud(self, ruling: Ruling, homeless: int) -> None:
        self.log.servers.append(len(ruling.outcome.error))
        self.log.error.append(ruling.outcome.largest_error)
        self.log.migrations.append(len(ruling.begun))
        self.log.homeless.append(homeless)
