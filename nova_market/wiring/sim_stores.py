# SPDX-License-Identifier: Apache-2.0
"""Stores of the market's services for a simulation: SQLite in memory, empty."""

from collections.abc import Callable

from nova_market.db import schema
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.bids import DatabaseBids
from nova_market.db.database import Database
from nova_market.db.escrow import DatabaseEscrow
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.plans import DatabasePlans
from nova_market.db.rounds import DatabaseRounds
from nova_market.ports import PlanStore
from nova_market.ports.stores import MarketStores


def open_stores(wall: Callable[[], float]) -> tuple[MarketStores, PlanStore]:
    """Empty stores of the services, in memory."""
    database = Database({'connection': 'sqlite://'})
    schema.sync(database)
    rounds = DatabaseRounds(database, wall)
    stores = MarketStores(
        accounts=DatabaseAccounts(database),
        ledger=DatabaseLedger(database, wall),
        escrow=DatabaseEscrow(database),
        bids=DatabaseBids(database, wall),
        rounds=rounds,
        history=rounds,
    )
    return stores, DatabasePlans(database, wall)
