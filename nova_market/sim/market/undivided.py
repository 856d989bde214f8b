# SPDX-License-Identifier: Apache-2.0
"""The undivided cloud as the site of a run: one host as large as all, where nothing has to be placed.

Implements the cloud of Merkat (INRIA RR-8648), section 3.2.2. An application is one bidder for all its tasks,
each of which is a server of one core: equal tasks get equal parts of one host, so nothing is lost by adding
them up. Units as in sim.market.applications.
"""

import numpy as np

from nova_market.core.app.policies.merkat_policies import Policy
from nova_market.core.app.policies.policy_interface import MarketState
from nova_market.core.ledger.money import MICRO
from nova_market.core.market.price import Pricing, clearing_price
from nova_market.core.market.round import RoundOutcome
from nova_market.core.resource import Array, Rows, Values
from nova_market.sim.market.applications import CPU, MEMORY, Applications, MarketSetting
from nova_market.sim.market.batch_run import MarketRun
from nova_market.sim.market.one_host import Bidders, empty_market, one_host_round
from nova_market.sim.workload.job import Terms, Workload


def undivided_run(
    workload: Workload,
    terms: Terms,
    capacity: tuple[float, float],
    policy: Policy,
    setting: MarketSetting,
    pricing: Pricing = clearing_price,
) -> MarketRun:
    """A run on one host of this capacity, in cores and MiB."""
    site = UndividedSite(workload, capacity, setting, pricing)
    return MarketRun(workload, terms, policy, setting, site)


class UndividedSite:
    """Implements Site. Remembers the prices of the last round."""

    def __init__(
        self,
        workload: Workload,
        capacity: tuple[float, float],
        setting: MarketSetting,
        pricing: Pricing,
    ) -> None:
        count = len(workload)
        memory = np.nan_to_num(workload.memory_mib) if setting.memory else np.zeros(count)
        self.most: Array = np.stack([np.ones(count), memory])
        self._costs = setting.start_cost, setting.resume_cost
        self._capacity = np.array(capacity, dtype=np.float64)
        self._reserve, self._pricing = np.array(setting.reserve) * MICRO, pricing
        self.market: MarketState = empty_market(self._capacity, self._reserve)

    def forget_prices(self) -> None:
        self.market = empty_market(self._capacity, self._reserve)

    def begin(self, apps: Applications, rows: Rows, now: float) -> None:
        """Nothing: budgets are full in every round."""

    def admit(
        self, apps: Applications, rows: Rows, wanted: Values, now: float
    ) -> tuple[Values, tuple[Array, Array]]:
        """There is room for all."""
        start, resume = self._costs
        return wanted, (np.full(len(rows), start), np.full(len(rows), resume))

    def divide(self, apps: Applications, rows: Rows, bidders: Rows, now: float) -> RoundOutcome:
        divided = one_host_round(
            self.market,
            Bidders(
                count=apps.jobs.processors[bidders],
                bid=apps.bid[:, bidders],
                most=self.most[:, bidders],
                budget=apps.budget[bidders],
            ),
            self._pricing,
        )
        self.market = divided.market
        has, needs = divided.allocation, self.most[MEMORY, bidders]
        part = np.divide(has[MEMORY], needs, out=np.ones(len(bidders)), where=needs > 0)
        apps.take_shares(rows, bidders, has, has[CPU] * part, divided.paid)
        return divided.outcome

    def close(self) -> None:
        """Nothing is left open."""
