# SPDX-License-Identifier: Apache-2.0
"""A round of the market in a simulated cloud: who is asked, what is answered, and the answer in arrays.

Implements the input and output of Merkat (INRIA RR-8648), section 2.2. Units as in core.market.round; times
in seconds. Whoever implements CloudMarket decides rounds, moves credits and migrates:
`vector_market.VectorMarket` with the functions of core, `engine_market.EngineMarket` with the services.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

from nova_market.core.ledger.posting import AccountId
from nova_market.core.market.price import Pricing, clearing_price
from nova_market.core.market.record import EconomyRecord
from nova_market.core.market.round import RoundOutcome
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.resource import Array, Rows, Values
from nova_market.ports import PlanStore
from nova_market.ports.stores import MarketStores
from nova_market.sim.cloud.accounts import MoneySetting
from nova_market.sim.cloud.migrations import Move, MoveSetting

OpenStores = Callable[[Callable[[], float]], tuple[MarketStores, PlanStore]]
"""Empty stores of the services, from a clock's wall()."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Offers:
    """The servers that run, ordered by id.

    server: id; job: who pays; host: row; bids, caps, size: (resources, servers)
    """

    server: Rows
    job: Rows
    host: Rows
    bids: Values
    caps: Array
    size: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ruling:
    """economy: before the charges of this round (P4); begun, ended: migrations of this period"""

    snapshot: MarketSnapshot
    outcome: RoundOutcome
    economy: EconomyRecord
    begun: Sequence[Move] = ()
    ended: Sequence[Move] = ()


class CloudMarket(Protocol):
    """One after the other for each period: settle, close, open, round."""

    def settle(self, period: int) -> None:
        """The period begins: the rounds before it are paid for."""

    def open(self, jobs: Rows, period: int) -> None:
        """New jobs, with a budget each."""

    def close(self, jobs: Rows, period: int) -> None:
        """Jobs that are gone; what they have not spent goes back."""

    def available(self, jobs: Rows) -> Values:
        """(jobs,) micro-credits in their budgets."""

    def projects(self) -> Array:
        """(projects,) micro-credits that are not set aside."""

    def balances(self) -> dict[AccountId, int]:
        """Every account that is not empty."""

    def round(self, period: int, offers: Offers) -> Ruling:
        """Decide, charge, migrate until the period ends."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CloudSetting:
    """period: seconds; reserve: micro-credits per core and MiB; moves: None: servers stay where they are
    breaker: largest factor between the prices of two periods; by default none, as in the paper
    """

    period: float = 60.0
    reserve: tuple[float, float] = (0.0, 0.0)
    pricing: Pricing = clearing_price
    breaker: float = inf
    money: MoneySetting
    moves: MoveSetting | None = None
