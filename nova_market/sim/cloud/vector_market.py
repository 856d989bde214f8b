# SPDX-License-Identifier: Apache-2.0
"""The market of a simulated cloud in arrays, by the functions of core that the services use.

Implements Merkat (INRIA RR-8648), section 2.2. A round of 40,000 servers takes tens of milliseconds; what it
decides is what the services decide (engine_market), but nothing is stored. Units as in sim.cloud.market.
"""

import numpy as np

from nova_market.core.ledger.posting import AccountId
from nova_market.core.market.economy import Offer
from nova_market.core.market.economy_record import basket_of, economy_record
from nova_market.core.market.record import EconomyRecord
from nova_market.core.market.round import RoundOutcome, decide
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.resource import Array, Rows, Values
from nova_market.sim.cloud.accounts import SimulatedAccounts
from nova_market.sim.cloud.hosts import WIDTH, SimulatedHosts
from nova_market.sim.cloud.market import CloudSetting, Offers, Ruling
from nova_market.sim.cloud.migrations import Mover


class VectorMarket:
    """Implements CloudMarket on arrays; a period is charged for as soon as it is decided."""

    def __init__(
        self,
        hosts: SimulatedHosts,
        setting: CloudSetting,
        targets: Values,
        project: Rows,
        rate: float,
    ) -> None:
        """rate: MiB/s of a migration"""
        self._hosts, self._setting = hosts, setting
        self._accounts = SimulatedAccounts(setting.money, targets, project)
        self._reserve = np.array(setting.reserve)
        self._price = self._demand = np.zeros(WIDTH)
        self._economy: EconomyRecord | None = None
        self._mover = Mover(hosts, setting.moves, rate, setting.period) if setting.moves else None

    def settle(self, period: int) -> None:
        """It is, already."""

    def open(self, jobs: Rows, period: int) -> None:
        self._accounts.open(jobs, period)

    def close(self, jobs: Rows, period: int) -> None:
        self._accounts.close(jobs, period)

    def available(self, jobs: Rows) -> Values:
        return np.array(self._accounts.available(jobs), dtype=np.int64)

    def projects(self) -> Array:
        return np.array(self._accounts.projects(), dtype=np.float64)

    def balances(self) -> dict[AccountId, int]:
        return self._accounts.balances()

    def round(self, period: int, offers: Offers) -> Ruling:
        payers, payer = np.unique(offers.job, return_inverse=True)
        sold = self._hosts.sold
        snapshot = MarketSnapshot(
            capacity=np.where(sold, self._hosts.capacity, 0.0),
            answering=np.ones(len(self._hosts), dtype=np.bool_),
            host=offers.host,
            payer=payer.astype(np.intp),
            bids=offers.bids,
            caps=offers.caps,
            last=np.zeros_like(offers.caps),
            available=self.available(payers),
            reserve=self._reserve,
            last_price=self._price,
            last_demand=self._demand,
            sold=sold,
        )
        outcome = decide(snapshot, self._setting.pricing, self._setting.breaker)
        self._price, self._demand = outcome.price, outcome.demand
        self._economy = economy = self._figures(period, outcome)
        owed = np.bincount(payer, outcome.due(), len(payers)).astype(np.int64)
        self._accounts.charge(period, dict(zip(payers.tolist(), owed.tolist(), strict=True)))
        if self._mover is None:
            return Ruling(snapshot=snapshot, outcome=outcome, economy=economy)
        now = period * self._setting.period
        begun, ended = self._mover.pass_period(
            period, (now, now + self._setting.period), offers, snapshot, outcome
        )
        return Ruling(snapshot=snapshot, outcome=outcome, economy=economy, begun=begun, ended=ended)

    def _figures(self, period: int, outcome: RoundOutcome) -> EconomyRecord:
        offer = Offer(
            price=outcome.price,
            capacity=self._hosts.capacity.sum(axis=1),
            sold=outcome.actual.sum(axis=1),
        )
        return economy_record(period, self.balances(), offer, basket_of(self._economy))
