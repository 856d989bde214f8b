# SPDX-License-Identifier: Apache-2.0
"""The stores of the market as one value."""

from dataclasses import dataclass

from nova_market.ports import AccountStore, BidStore, History, LedgerStore, RoundStore


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketStores:
    """Where the market keeps what it knows."""

    accounts: AccountStore
    ledger: LedgerStore
    bids: BidStore
    rounds: RoundStore
    history: History
