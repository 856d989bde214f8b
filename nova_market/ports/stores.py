# SPDX-License-Identifier: Apache-2.0
"""The stores of the market as one value."""

from dataclasses import dataclass, field

from nova_market.ports import (
    AccountStore,
    BidStore,
    EscrowStore,
    History,
    LedgerStore,
    RoundStore,
)
from nova_market.row_boundary import RowBoundary


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketStores:
    """Where the market keeps what it knows."""

    accounts: AccountStore
    ledger: LedgerStore
    escrow: EscrowStore
    bids: BidStore
    rounds: RoundStore
    history: History
    boundary: RowBoundary = field(default_factory=RowBoundary)
    """Of the database that they are in."""
