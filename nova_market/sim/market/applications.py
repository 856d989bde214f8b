# SPDX-License-Identifier: Apache-2.0
"""The jobs of a workload as applications that bid for themselves: what each wants, gets and has done.

Implements the applications of Merkat (INRIA RR-8648), section 3.2.2. Units: seconds, cores, MiB,
micro-credits per period. Arrays (jobs,) and (resources, jobs); bids, allocations and limits are those of
one server.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.app.policies.policy_interface import (
    Band,
    Deadlines,
    MarketState,
    PolicyInput,
    PolicyOutput,
    PolicyState,
)
from nova_market.core.app.policies.price_smoothing import KEEP
from nova_market.core.app.progress import lateness
from nova_market.core.ledger.money import MICRO
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.resource import Array, Flags, Rows, Values
from nova_market.sim.workload.job import DONE, Terms, Workload

CPU = MARKET_RESOURCES.index('cpu')
MEMORY = MARKET_RESOURCES.index('memory')
WIDTH = len(MARKET_RESOURCES)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketSetting:
    """period: seconds of a round
    reserve: least prices in credits per core (MiB) and period
    least_part: of a task's CPU, the least that it starts with (section 3.2.1: 25 %)
    reference, low, high: of remaining time / time to the deadline (section 2.3.2)
    start_cost, resume_cost: seconds without progress after a start and a resume
    price_memory: part of a price that still counts a round later (core.app.policies.price_smoothing)
    memory: whether memory is bid for as well; a task that has less than it uses is slower by that part
    """

    period: float = 60.0
    reserve: tuple[float, float] = (0.01, 0.0)
    least_part: float = 0.25
    reference: float = 0.9
    low: float = 0.75
    high: float = 1.0
    start_cost: float = 0.0
    resume_cost: float = 0.0
    price_memory: float = KEEP
    memory: bool = False


class Applications:
    """One for each job; `rows` are jobs.

    most: (resources, jobs) what a server can use; budget: (jobs,) what a job can spend in a period
    speed: (jobs,) seconds of work in a second; lost: (jobs,) seconds without progress in this period
    """

    def __init__(
        self, workload: Workload, terms: Terms, setting: MarketSetting, most: Array
    ) -> None:
        count = len(workload)
        self.jobs, self.most = workload, most
        self.budget = terms.budget * MICRO
        self.state = np.full(count, int(PolicyState.WAITING))
        self.bid, self.change, self.allocation = np.zeros((3, WIDTH, count))
        self.speed, self.lost, self.paid = np.zeros((3, count))
        self.start, self.end = np.full((2, count), np.nan)
        self.suspensions = np.zeros(count, dtype=np.int64)
        self._setting, self._deadline = setting, terms.deadline
        self._remaining, self._ready = workload.run.copy(), np.zeros(count)

    def seen(self, rows: Rows, now: float, market: MarketState) -> PolicyInput:
        """What the policy of these applications decides on."""
        setting, count = self._setting, len(rows)
        most = self.most[:, rows]
        least = most.copy()
        least[CPU] *= setting.least_part
        speed = self.speed[rows]
        remaining, left = self._remaining[rows], self._deadline[rows] - now
        at_this_speed = np.divide(
            remaining, speed, out=np.where(remaining > 0, np.inf, 0.0), where=speed > 0
        )
        servers = self.jobs.processors[rows]
        return PolicyInput(
            market=market,
            state=self.state[rows],
            count=servers,
            least_count=servers,
            most_count=servers,
            bid=self.bid[:, rows],
            allocation=self.allocation[:, rows],
            least=least,
            most=most,
            change=self.change[:, rows],
            budget=self.budget[rows],
            band=Band(
                performance=lateness(at_this_speed, left),
                reference=np.full(count, setting.reference),
                low=np.full(count, setting.low),
                high=np.full(count, setting.high),
            ),
            deadlines=Deadlines(remaining=remaining, left=left),
        )

    def take_bids(self, rows: Rows, steps: PolicyOutput) -> None:
        """What the policy has decided, but for the states, which need room."""
        self.bid[:, rows] = steps.bid
        self.change[:, rows] = steps.change

    def enter(self, rows: Rows, state: Values, now: float, cost: tuple[Array, Array]) -> Flags:
        """The new states. Returns which applications run; those that start or resume pay with time.

        cost: (rows,) seconds without progress after a start, and after a resume
        """
        before = self.state[rows]
        self.state[rows] = state
        runs: Flags = state == PolicyState.RUNNING
        entered = runs & (before != PolicyState.RUNNING)
        if entered.any():
            first = entered & (before == PolicyState.WAITING)
            self.start[rows[first]] = now
            self._ready[rows[entered]] = now + np.where(first, *cost)[entered]
        left = (before == PolicyState.RUNNING) & (state == PolicyState.SUSPENDED)
        self.suspensions[rows[left]] += 1
        return runs

    def take_shares(
        self, rows: Rows, bidders: Rows, allocation: Array, speed: Array, due: Values
    ) -> None:
        """The outcome of a round for those that bid; the others have nothing.

        allocation: (resources, bidders) of one server; due: (bidders,) micro-credits
        """
        self.allocation[:, rows], self.speed[rows] = 0.0, 0.0
        self.allocation[:, bidders], self.speed[bidders] = allocation, speed
        self.paid[bidders] += due

    def work(self, rows: Rows, now: float) -> Flags:
        """Progress until the next round; a job ends at its own time. Returns which are not over."""
        period = self._setting.period
        speed = self.speed[rows]
        begins = np.maximum(self._ready[rows], now) + self.lost[rows]
        done = speed * np.maximum(now + period - begins, 0.0)
        remaining = self._remaining[rows]
        # a job of no work ends when it starts
        ends = (done >= remaining - DONE) & (self.state[rows] == PolicyState.RUNNING)
        needed = np.divide(remaining, speed, out=np.zeros_like(speed), where=speed > 0)
        self.end[rows[ends]] = begins[ends] + needed[ends]
        self._remaining[rows] = np.where(ends, 0.0, remaining - done)
        there: Flags = np.isnan(self.end[rows]) & (self.state[rows] != PolicyState.DROPPED)
        return there
