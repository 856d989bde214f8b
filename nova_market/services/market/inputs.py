# SPDX-License-Identifier: Apache-2.0
"""Reads everything a round decides on, once, into frozen values.

Implements the input of Merkat (INRIA RR-8648), section 2.2.3, and rules M1, M6, B1, B5 and F2 of
doc/source/specs/market.rst. A project that is seen for the first time gets an account.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import BANK, AccountId, account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.currency_step import renews
from nova_market.core.market.enforced import Enforced
from nova_market.core.market.inputs import (
    Inventory,
    RoundInputs,
    inventory_of,
    missing_accounts,
    round_inputs,
)
from nova_market.core.market.inventory import CloudServer
from nova_market.core.market.past import Past
from nova_market.core.market.settings import MarketSettings
from nova_market.ports import AccountStore, Enforcement, MarketCloud
from nova_market.ports.stores import MarketStores
from nova_market.row_boundary import RowBoundary
from nova_market.services.cloud_rows import sound_hosts, sound_servers
from nova_market.services.market.past import PAGE, read_past

LOG = logging.getLogger(__name__)

MAX_SHOWN = 20
"""Projects in one line of the log."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MarketRead:
    """What was read for one round. bids: as they are stored, by server; escrow: held, by project"""

    period: int
    cloud: Inventory
    bids: Mapping[str, StoredBid]
    accounts: Mapping[AccountId, Account]
    past: Past
    bank: int
    enforced: Enforced
    escrow: Mapping[str, int]

    def decidable(self, boundary: RowBoundary) -> dict[str, str]:
        """Project of each server of which it is known what it bids and who pays, by id: it is not guessed."""
        bids, accounts = boundary.unread('bid'), boundary.unread('account')

        def payers(one: CloudServer) -> set[str]:
            own, bid = account('project', one.project_id), self.bids.get(one.id)
            return {own} if bid is None else {own, bid.payer}

        return {
            one.id: one.project_id
            for one in self.cloud.servers
            if one.id not in bids and accounts.isdisjoint(payers(one))
        }

    def inputs(self, settings: MarketSettings, taking_part: Collection[str]) -> RoundInputs:
        """Of a round in which these servers take part, by id."""
        chosen = frozenset(taking_part)
        left_out = tuple(one for one in self.cloud.servers if one.id not in chosen)
        cloud = replace(
            self.cloud,
            servers=tuple(one for one in self.cloud.servers if one.id in chosen),
            others=self.cloud.others + left_out,
        )
        return round_inputs(
            self.period, cloud, self.bids, self.accounts, self.past, settings, bank=self.bank,
            enforced=self.enforced, escrow=self.escrow,
        )  # fmt: skip


def gather(
    cloud: MarketCloud,
    stores: MarketStores,
    enforcement: Enforcement,
    settings: MarketSettings,
    period: int,
) -> MarketRead:
    """:raises CloudUnavailable, DatabaseUnavailable: there is no round then."""
    hosts = sound_hosts(stores.boundary, cloud.hosts())
    everything = sound_servers(stores.boundary, cloud.servers())
    inventory = inventory_of(hosts, everything)
    past = read_past(stores, period, settings.return_delay, allocated=not inventory.all_answer)
    taxed = bool(settings.tax_rate) and renews(past.carried, period, settings)
    return MarketRead(
        period=period,
        cloud=inventory,
        bids=stores.bids.of([one.id for one in inventory.servers]),
        accounts=_accounts(stores, everything, settings),
        past=past,
        bank=stores.ledger.balances([BANK]).get(BANK, 0),
        enforced=enforcement.enforced([host.name for host in hosts]),
        escrow=stores.escrow.held() if taxed else {},
    )


def _accounts(
    stores: MarketStores, servers: Sequence[CloudServer], settings: MarketSettings
) -> dict[AccountId, Account]:
    """All open accounts, after the missing ones were opened."""
    store = stores.accounts
    found = listed(store)
    # one that cannot be read is there
    unread = stores.boundary.unread('account')
    missing = [one for one in missing_accounts(servers, found) if one.id not in unread]
    if missing:
        store.open(missing)
        if not settings.new_weight:
            more = f' and {len(missing) - MAX_SHOWN} more' if len(missing) > MAX_SHOWN else ''
            LOG.info(
                'new projects without a weight, so their servers have the least weight until an '
                'administrator gives them a weight or credits: %s%s',
                ', '.join(one.project_id for one in missing[:MAX_SHOWN]),
                more,
            )
        found = {one.id: one for one in missing} | listed(store)
    return found


def listed(store: AccountStore) -> dict[AccountId, Account]:
    """All accounts that are open."""
    found: dict[AccountId, Account] = {}
    after = ''
    while page := store.list(after=after, limit=PAGE):
        found |= {one.id: one for one in page}
        after = page[-1].id
        if len(page) < PAGE:
            break
    return found
