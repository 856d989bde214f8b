# SPDX-License-Identifier: Apache-2.0
"""What the API works with: the market's stores, the cloud's directory, and settings of the service."""

from collections.abc import Callable
from dataclasses import dataclass

from nova_market.ports import (
    AccountStore,
    BidStore,
    Flavors,
    History,
    LedgerStore,
    PlanStore,
    ServerOwners,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """`wall`: seconds since the epoch."""

    ledger: LedgerStore
    accounts: AccountStore
    bids: BidStore
    history: History
    plans: PlanStore
    owners: ServerOwners
    flavors: Flavors
    wall: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """period: seconds of a market round; response_validation: `error`, `warn` or `ignore`."""

    period: float = 60.0
    max_limit: int = 1000
    max_budgets: int = 100
    response_validation: str = 'warn'
