# SPDX-License-Identifier: Apache-2.0
"""A batch workload on a market: each job is an application that bids for itself, round after round.

Implements the simulation of Merkat (INRIA RR-8648), section 3.2.2, with the functions that the engine and the
controllers decide with. Units: seconds, cores, MiB, credits per period (micro-credits inside).

A round at t: who has arrived and what has been done by t is known, policies step with the prices of the round
before, the site admits who may run, the round decides, and its allocations last until the next. Work ends
within a period at its own time; what it leaves is idle until the next round.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from nova_market.core.app.policies.merkat_policies import Policy
from nova_market.core.app.policies.policy_interface import MarketState
from nova_market.core.ledger.money import MICRO
from nova_market.core.market.round import RoundOutcome
from nova_market.core.resource import Array, Rows, Values
from nova_market.sim.baseline.schedule import Schedule
from nova_market.sim.market.applications import CPU, Applications, MarketSetting
from nova_market.sim.market.past_prices import PastPrices
from nova_market.sim.workload.job import Terms, Workload
from nova_market.sim.workload.presence import Presence


class Site(Protocol):
    """Where the servers of applications are, and the market that they buy on."""

    @property
    def market(self) -> MarketState:
        """Prices and what was idle in the last round."""

    @property
    def most(self) -> Array:
        """(resources, jobs) what one server of each job can use."""

    def forget_prices(self) -> None:
        """No application was there for some time: everything is idle at the reserve price."""

    def begin(self, apps: Applications, rows: Rows, now: float) -> None:
        """A round begins with these applications; afterwards their budgets are up to date."""

    def admit(
        self, apps: Applications, rows: Rows, wanted: Values, now: float
    ) -> tuple[Values, tuple[Array, Array]]:
        """(the states that these applications get, seconds that a start costs, and a resume).

        wanted: (rows,) states that their policy has decided
        """

    def divide(self, apps: Applications, rows: Rows, bidders: Rows, now: float) -> RoundOutcome:
        """Decide the round, and give the applications what they get."""

    def close(self) -> None:
        """The last application is over."""


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
    """All jobs of a workload on one site, with one policy."""

    def __init__(
        self, workload: Workload, terms: Terms, policy: Policy, setting: MarketSetting, site: Site
    ) -> None:
        self.apps = Applications(workload, terms, setting, site.most)
        self.site, self._policy = site, policy
        self._presence = Presence(workload.submit, setting.period)
        self._log = RoundLog()
        self._past = PastPrices(setting.price_memory)

    def run(self) -> MarketResult:
        """To the end of the last job that is not dropped."""
        for _ in self.rounds():
            pass
        self.site.close()
        apps = self.apps
        return MarketResult(
            schedule=Schedule(start=apps.start, end=apps.end),
            paid=apps.paid / MICRO,
            suspensions=apps.suspensions,
            rounds=self._log,
        )

    def rounds(self) -> Iterator[float]:
        """One round for each step; the time of it. Empty times are passed over."""
        presence = self._presence
        for now in presence.rounds():
            if presence.idle:
                self.site.forget_prices()
                self._past.forget()
            self._round(presence.rows, now)
            presence.keep(self.apps.work(presence.rows, now))
            yield now

    def _round(self, rows: Rows, now: float) -> None:
        """Policies, then the market's decision."""
        apps, site = self.apps, self.site
        site.begin(apps, rows, now)
        steps = self._policy(apps.seen(rows, now, self._past.planned(site.market)))
        apps.take_bids(rows, steps)
        state, cost = site.admit(apps, rows, steps.state, now)
        bidders = rows[apps.enter(rows, state, now, cost)]
        outcome = site.divide(apps, rows, bidders, now)
        self._past.add(outcome.price)
        log = self._log
        log.time.append(now)
        log.price.append(float(outcome.price[CPU]) / MICRO)
        log.used.append(float(outcome.actual[CPU].sum()))
        log.running.append(len(bidders))
        log.waiting.append(len(rows) - len(bidders))
