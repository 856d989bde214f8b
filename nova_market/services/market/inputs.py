# SPDX-License-Identifier: Apache-2.0
"""Reads everything a round decides on, once, into frozen values.

Implements the input of Merkat (INRIA RR-8648), section 2.2.3, and rules M1, B1, B5 and F2 of
doc/source/specs/market.rst. A project that is seen for the first time gets an account.
"""

from collections.abc import Sequence

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import BANK, AccountId
from nova_market.core.market.inputs import (
    RoundInputs,
    inventory_of,
    missing_accounts,
    round_inputs,
)
from nova_market.core.market.inventory import CloudServer
from nova_market.core.market.settings import MarketSettings
from nova_market.ports import AccountStore, Enforcement, MarketCloud
from nova_market.ports.stores import MarketStores
from nova_market.services.market.past import PAGE, read_past


def gather(
    cloud: MarketCloud,
    stores: MarketStores,
    enforcement: Enforcement,
    settings: MarketSettings,
    period: int,
) -> RoundInputs:
    """:raises CloudUnavailable, DatabaseUnavailable: there is no round then."""
    hosts, everything = cloud.hosts(), cloud.servers()
    inventory = inventory_of(hosts, everything)
    accounts = _accounts(stores.accounts, everything)
    past = read_past(
        stores.history,
        stores.ledger,
        stores.accounts,
        period,
        settings.return_delay,
        allocated=not inventory.all_answer,
    )
    return round_inputs(
        period,
        inventory,
        stores.bids.of([one.id for one in inventory.servers]),
        accounts,
        past,
        settings,
        bank=stores.ledger.balances([BANK]).get(BANK, 0),
        enforced=enforcement.enforced([host.name for host in hosts]),
    )


def _accounts(store: AccountStore, servers: Sequence[CloudServer]) -> dict[AccountId, Account]:
    """All open accounts, after the missing ones were opened."""
    found = _listed(store)
    missing = missing_accounts(servers, found)
    if missing:
        store.open(missing)
        found = {one.id: one for one in missing} | _listed(store)
    return found


def _listed(store: AccountStore) -> dict[AccountId, Account]:
    found: dict[AccountId, Account] = {}
    after = ''
    while page := store.list(after=after, limit=PAGE):
        found |= {one.id: one for one in page}
        after = page[-1].id
        if len(page) < PAGE:
            break
    return found
