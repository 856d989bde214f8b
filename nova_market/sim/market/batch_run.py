# SPDX-License-Identifier: Apache-2.0
"""A batch workload on the market: each job is an application that bids for itself, round after round.

Implements the simulation of Merkat (INRIA RR-8648), section 3.2.2, with the functions that the engine and the
controllers decide with: `market_round.decide` and a policy of `nova_market.scaling`. Units: seconds, cores,
MiB, credits per period (micro-credits inside). Arrays (jobs,); the market sees (resources, jobs).

An application is one bidder for all its tasks, each of which is a server of one core: on an undivided cloud
(one host as large as all) equal tasks get equal parts, so nothing is lost by adding them up.

A round at t: who has arrived and what has been done by t is known, policies step with the prices of the round
before, the round decides, and its allocations last until the next. Work ends within a period at its own
time; what it leaves is idle until the next round.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.app.policies.merkat_policies import Policy
from nova_market.core.app.policies.policy_interface import (
    Band,
    Deadlines,
    MarketState,
    PolicyInput,
    PolicyState,
)
from nova_market.core.app.progress import lateness
from nova_market.core.ledger.money import MICRO
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.price import Pricing, clearing_price
from nova_market.core.market.round import RoundOutcome, decide
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.resource import Array, Flags, Rows, Values
from nova_market.sim.baseline.schedule import Schedule
from nova_market.sim.workload.job import Terms, Workload

CPU = MARKET_RESOURCES.index('cpu')
MEMORY = MARKET_RESOURCES.index('memory')
WIDTH = len(MARKET_RESOURCES)

DONE = 1e-9
"""Seconds of work below which a job is done: rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketSetting:
    """period: seconds of a round
    reserve: least prices in credits per core (MiB) and period
    least_part: of a task's CPU, the least that it starts with (section 3.2.1: 25 %)
    reference, low, high: of remaining time / time to the deadline (section 2.3.2)
    start_cost, resume_cost: seconds without progress after a start and a resume
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
    memory: bool = False


@dataclass(slots=True, kw_only=True)
class RoundLog:
    """Of each round: when, price of a core in credits, cores used, applications that run and that wait."""

    time: list[float] = field(default_factory=list)
    price: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MarketResult:
    """paid: credits, (jobs,); suspensions: (jobs,)"""

    schedule: Schedule
    paid: Array
    suspensions: Values
    rounds: RoundLog


class MarketRun:
    """All jobs of a workload; `rows` are those that are there and not done."""

    def __init__(
        self,
        workload: Workload,
        terms: Terms,
        capacity: tuple[float, float],
        policy: Policy,
        setting: MarketSetting,
        pricing: Pricing = clearing_price,
    ) -> None:
        count = len(workload)
        self._jobs, self._terms, self._setting = workload, terms, setting
        self._policy, self._pricing = policy, pricing
        self._capacity = np.array(capacity, dtype=np.float64)
        self._reserve = np.array(setting.reserve) * MICRO
        memory = np.nan_to_num(workload.memory_mib) if setting.memory else np.zeros(count)
        self._most = np.stack([np.ones(count), memory])
        self._budget = terms.budget * MICRO
        self._remaining = workload.run.copy()
        self._state = np.full(count, int(PolicyState.WAITING))
        self._bid, self._change, self._allocation = np.zeros((3, WIDTH, count))
        self._ready, self._lost = np.zeros((2, count))
        self._start, self._end = np.full((2, count), np.nan)
        self._paid, self._suspensions = np.zeros(count), np.zeros(count, dtype=np.int64)
        self._market = MarketState(
            price=self._reserve,
            capacity=self._capacity,
            idle=self._capacity,
            reserve=self._reserve,
        )
        self._log = RoundLog()

    def run(self) -> MarketResult:
        """To the end of the last job that is not dropped."""
        for _ in self.rounds():
            pass
        return MarketResult(
            schedule=Schedule(start=self._start, end=self._end),
            paid=self._paid / MICRO,
            suspensions=self._suspensions,
            rounds=self._log,
        )

    def rounds(self) -> Iterator[float]:
        """One round for each step; the time of it. Empty times are passed over."""
        period, submit = self._setting.period, self._jobs.submit
        rows: Rows = np.zeros(0, dtype=np.intp)
        arrived, number = 0, 0
        while arrived < len(submit) or len(rows):
            if not len(rows):
                number = max(number, int(np.ceil(submit[arrived] / period)))
                self._forget_prices()
            now = number * period
            until = int(np.searchsorted(submit, now, side='right'))
            rows = np.concatenate([rows, np.arange(arrived, until)])
            arrived = until
            self._round(rows, now)
            self._work(rows, now)
            rows = rows[np.isnan(self._end[rows]) & (self._state[rows] != PolicyState.DROPPED)]
            number += 1
            yield now

    def _forget_prices(self) -> None:
        """Nobody is there: everything is idle at the reserve price."""
        self._market = MarketState(
            price=self._reserve,
            capacity=self._capacity,
            idle=self._capacity,
            reserve=self._reserve,
        )

    def _round(self, rows: Rows, now: float) -> None:
        """Policies, then the market's decision."""
        before = self._state[rows]
        steps = self._policy(self._seen(rows, now))
        self._state[rows] = steps.state
        self._bid[:, rows] = steps.bid
        self._change[:, rows] = steps.change
        runs = steps.state == PolicyState.RUNNING
        self._note_changes(rows, before, runs, now)
        bidders = rows[runs]
        outcome = decide(self._snapshot(bidders), self._pricing)
        self._allocation[:, rows] = 0.0
        self._allocation[:, bidders] = outcome.actual / self._jobs.processors[bidders]
        self._paid[bidders] += outcome.due()
        self._market = MarketState(
            price=outcome.price,
            capacity=self._capacity,
            idle=self._capacity - outcome.actual.sum(axis=1),
            reserve=self._reserve,
        )
        self._write(now, outcome, len(bidders), len(rows) - len(bidders))

    def _note_changes(self, rows: Rows, before: Values, runs: Array, now: float) -> None:
        """Starts, resumes and suspensions; the first two cost time."""
        entered = runs & (before != PolicyState.RUNNING)
        if entered.any():
            first = entered & (before == PolicyState.WAITING)
            self._start[rows[first]] = now
            self._ready[rows[entered]] = now + self._entry_cost(rows, first)[entered]
        left = (before == PolicyState.RUNNING) & (self._state[rows] == PolicyState.SUSPENDED)
        self._suspensions[rows[left]] += 1

    def _entry_cost(self, rows: Rows, first: Flags) -> Array:
        """Seconds until those that enter make progress, (len(rows),); the others are not looked at."""
        return np.where(first, self._setting.start_cost, self._setting.resume_cost)

    def _seen(self, rows: Rows, now: float) -> PolicyInput:
        setting, count = self._setting, len(rows)
        most = self._most[:, rows]
        least = most.copy()
        least[CPU] *= setting.least_part
        speed = self._speed(rows)
        remaining, left = self._remaining[rows], self._terms.deadline[rows] - now
        at_this_speed = np.divide(
            remaining, speed, out=np.where(remaining > 0, np.inf, 0.0), where=speed > 0
        )
        servers = self._jobs.processors[rows]
        return PolicyInput(
            market=self._market,
            state=self._state[rows],
            count=servers,
            least_count=servers,
            most_count=servers,
            bid=self._bid[:, rows],
            allocation=self._allocation[:, rows],
            least=least,
            most=most,
            change=self._change[:, rows],
            budget=self._budget[rows],
            band=Band(
                performance=lateness(at_this_speed, left),
                reference=np.full(count, setting.reference),
                low=np.full(count, setting.low),
                high=np.full(count, setting.high),
            ),
            deadlines=Deadlines(remaining=remaining, left=left),
        )

    def _snapshot(self, rows: Rows) -> MarketSnapshot:
        servers, count = self._jobs.processors[rows], len(rows)
        return MarketSnapshot(
            capacity=self._capacity[:, None],
            answering=np.ones(1, dtype=np.bool_),
            host=np.zeros(count, dtype=np.intp),
            payer=np.arange(count, dtype=np.intp),
            bids=np.floor(self._bid[:, rows] * servers).astype(np.int64),
            caps=self._most[:, rows] * servers,
            last=np.zeros((WIDTH, count)),
            available=self._budget[rows].astype(np.int64),
            reserve=self._reserve,
            last_price=self._market.price,
            last_demand=self._capacity - self._market.idle,
        )

    def _work(self, rows: Rows, now: float) -> None:
        """Progress until the next round; a job ends at its own time."""
        period = self._setting.period
        speed = self._speed(rows)
        begins = np.maximum(self._ready[rows], now) + self._lost[rows]
        done = speed * np.maximum(now + period - begins, 0.0)
        remaining = self._remaining[rows]
        # a job of no work ends when it starts
        ends = (done >= remaining - DONE) & (self._state[rows] == PolicyState.RUNNING)
        needed = np.divide(remaining, speed, out=np.zeros_like(speed), where=speed > 0)
        self._end[rows[ends]] = begins[ends] + needed[ends]
        self._remaining[rows] = np.where(ends, 0.0, remaining - done)

    def _speed(self, rows: Rows) -> Array:
        """Seconds of work in a second: the part of a core, times the part of its memory a task has."""
        memory = self._most[MEMORY, rows]
        part = np.divide(
            self._allocation[MEMORY, rows], memory, out=np.ones(len(rows)), where=memory > 0
        )
        speed: Array = self._allocation[CPU, rows] * part
        return speed

    def _write(self, now: float, outcome: RoundOutcome, running: int, waiting: int) -> None:
        log = self._log
        log.time.append(now)
        log.price.append(float(outcome.price[CPU]) / MICRO)
        log.used.append(float(outcome.actual[CPU].sum()))
        log.running.append(running)
        log.waiting.append(waiting)
