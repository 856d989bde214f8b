# SPDX-License-Identifier: Apache-2.0
"""Users, clouds and the bank from event to event.

Implements the simulation of INRIA RR-7837, section 4: requests for offers go to all clouds through the
hierarchy, an acceptance goes to one cloud directly, and each message takes the time of its hops [3.2,
4.2]. Clouds adapt their prices and look for idle workers each `price_period`; the bank divides their
income equally each `bank_period` [3.1]. Deterministic: events of one instant are in the order in which
they were caused.

Settled here, where the paper is silent: a request passes HOPS nodes on its way up and down; one waiting
task is tried for each result and each poll; a user polls from its first task on, so that the polls of
users are spread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import numpy as np

from nova_market.core.ledger.money import split
from nova_market.core.market.price import ResourceMarket, clearing_price
from nova_market.core.tender.acceptance import Terms
from nova_market.core.tender.negotiation import Strategy
from nova_market.core.tender.offer import Offers, merged
from nova_market.sim.tender.cloud import Accepted, Cloud, CloudSetting
from nova_market.sim.tender.outcome import Outcome, Sample
from nova_market.sim.tender.user import State, User
from nova_market.sim.tender.workload import UserTasks

HOPS = 4
"""User, master agent, agent, local agent, cloud."""

MESSAGE = 0.001
"""Seconds of a hop: 1 Kb at 1 Mb/s [4.2]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketSetting:
    """budget: of each user at the beginning, micro-credits; message: seconds of a hop
    until: the run ends then, whatever is open
    clearing: the price of work is that at which users can pay for what there is (P1), and no rule adapts it
    """

    clouds: Sequence[CloudSetting]
    strategy: Strategy
    budget: int = 1_000_000_000
    price_period: float = 50.0
    bank_period: float = 1000.0
    message: float = MESSAGE
    until: float = float('inf')
    clearing: bool = False


@dataclass(slots=True, eq=False)
class TenderRun:
    """One run; `run` may be called once."""

    setting: MarketSetting
    tasks: Sequence[UserTasks]
    now: float = 0.0
    users: list[User] = field(init=False)
    clouds: list[Cloud] = field(init=False)
    samples: list[Sample] = field(default_factory=list)
    requests: int = 0
    gone: int = 0
    """Requests for offers of all users; acceptances that were refused."""

    _heap: list[tuple[float, int, Any, tuple[Any, ...]]] = field(default_factory=list)
    _sequence: int = 0
    _first: list[int] = field(init=False)
    """The key of each user's first task: keys are numbers that clouds know tasks by."""

    def __post_init__(self) -> None:
        one = self.setting
        self.users = [
            User(tasks=tasks, strategy=one.strategy, balance=one.budget) for tasks in self.tasks
        ]
        self.clouds = [Cloud(setting) for setting in one.clouds]
        self._first, count = [], 0
        for tasks in self.tasks:
            self._first.append(count)
            count += len(tasks)

    def run(self) -> Outcome:
        """Until every task is done or has failed."""
        for user, tasks in enumerate(self.tasks):
            if len(tasks):
                self._at(float(tasks.arrival[0]), self._arrive, user, 0)
                self._at(float(tasks.arrival[0]) + self.setting.strategy.poll, self._poll, user)
        self._at(self.setting.price_period, self._period)
        self._at(self.setting.bank_period, self._bank)
        while self._heap:
            at, _, call, arguments = heappop(self._heap)
            if at > self.setting.until:
                break
            self.now = at
            call(*arguments)
        return Outcome.of(self.users, self.samples, self.requests, self.gone, self.now)

    def _at(self, time: float, call: Any, *arguments: Any) -> None:
        self._sequence += 1
        heappush(self._heap, (time, self._sequence, call, arguments))

    def _after(self, hops: int, call: Any, *arguments: Any) -> None:
        self._at(self.now + hops * self.setting.message, call, *arguments)

    @property
    def _open(self) -> bool:
        return any(user.open_tasks for user in self.users)

    def _arrive(self, user: int, row: int) -> None:
        self.users[user].state[row] = State.ASKING
        self._ask(user, row)
        if row + 1 < len(self.tasks[user]):
            self._at(float(self.tasks[user].arrival[row + 1]), self._arrive, user, row + 1)

    def _poll(self, user: int) -> None:
        if self.users[user].open_tasks:
            self._turn(user)
            self._at(self.now + self.setting.strategy.poll, self._poll, user)

    def _turn(self, user: int) -> None:
        row = self.users[user].next_task(self.now)
        if row is not None:
            self._ask(user, row)

    def _ask(self, user: int, row: int) -> None:
        self.requests += 1
        self._after(HOPS, self._quote, user, row)

    def _quote(self, user: int, row: int) -> None:
        task = self.users[user].task(row)
        answers = [cloud.offers(task, self.now) for cloud in self.clouds]
        self._after(HOPS, self._choose, user, row, merged(answers))

    def _choose(self, user: int, row: int, offers: Offers) -> None:
        self._send(user, row, self.users[user].choose(row, offers, self.now))

    def _send(self, user: int, row: int, terms: Terms | None) -> None:
        if terms is not None:
            self._after(1, self._accept, user, row, terms)

    def _accept(self, user: int, row: int, terms: Terms) -> None:
        key = self._first[user] + row
        who = self.users[user]
        answer = self.clouds[terms.source].accept(
            key, who.task(row), terms, who.strategy.utility, self.now
        )
        if isinstance(answer, Accepted):
            who.confirmed(row, terms, answer.cost)
            self._at(answer.end, self._end, user, row, terms.source, answer.cost)
        else:
            self.gone += 1
            self._after(1, self._refused, user, row, terms, answer)

    def _refused(self, user: int, row: int, terms: Terms, fresh: Offers) -> None:
        # the offers of one cloud come without its row
        answer = merged([fresh]) if not terms.source else _from(fresh, terms.source)
        self._send(user, row, self.users[user].refusal(row, terms, answer, self.now))

    def _end(self, user: int, row: int, cloud: int, cost: int) -> None:
        self.clouds[cloud].finish(self._first[user] + row, cost, self.now)
        self.users[user].done(row, cost, self.now)
        self._after(1, self._turn, user)

    def _period(self) -> None:
        for cloud in self.clouds:
            cloud.adapt_prices()
            cloud.stop_idle(self.now)
        if self.setting.clearing:
            self._clear()
        self.samples.append(Sample.of(self.now, self.clouds))
        if self._open:
            self._at(self.now + self.setting.price_period, self._period)

    def _clear(self) -> None:
        """Users bid what they have for the time until they are paid back; memory and disk cost nothing."""
        wanted = [int(((one.state > 0) & (one.state < State.DONE)).sum()) for one in self.users]
        speed = float(self.clouds[0].setting.flavors.speed.min())
        found = clearing_price(
            ResourceMarket(
                bids=np.array([one.balance for one in self.users]) / self.setting.bank_period,
                caps=np.array(wanted, dtype=np.float64) * speed,
                capacity=sum(float(cloud.capacity()[0]) for cloud in self.clouds),
                reserve=self.clouds[0].setting.prices.floor,
            )
        )
        for cloud in self.clouds:
            cloud.prices = np.array([found, 0.0, 0.0])

    def _bank(self) -> None:
        income = sum(cloud.income for cloud in self.clouds)
        names = {f'{row:06d}': 1 for row in range(len(self.users))}
        for user, part in zip(self.users, split(income, names).values(), strict=True):
            user.balance += part
        for cloud in self.clouds:
            cloud.income = 0
        if self._open:
            self._at(self.now + self.setting.bank_period, self._bank)


def _from(offers: Offers, source: int) -> Offers:
    """The same offers, of this cloud."""
    return merged([offers.take(offers.pe[:0])] * source + [offers])
