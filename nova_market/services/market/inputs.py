# SPDX-License-Identifier: Apache-2.0
"""Reads everything a round decides on, once, into frozen values.

Implements the input of Merkat (INRIA RR-8648), section 2.2.3, and rules M1, B1 and F2 of
doc/source/specs/market.rst. A project that is seen for the first time gets an account with weight 1 and
nothing in it. Units: cores, MiB, micro-credits. Arrays as in core.market.snapshot.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import BANK, AccountId, account
from nova_market.core.market.bid_sources import Bids, bids_of
from nova_market.core.market.inputs import Past, RoundInputs
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.settings import MarketSettings
from nova_market.core.market.snapshot import MarketSnapshot, market_capacity
from nova_market.core.resource import Rows
from nova_market.ports import AccountStore, MarketCloud
from nova_market.ports.stores import Stores
from nova_market.services.market.past import PAGE, read_past


def gather(
    cloud: MarketCloud, stores: Stores, settings: MarketSettings, period: int
) -> RoundInputs:
    """:raises CloudUnavailable, DatabaseUnavailable: there is no round then."""
    hosts = tuple(cloud.hosts())
    everything = cloud.servers()
    known = {host.name for host in hosts}
    servers = tuple(s for s in everything if s.running and s.host in known)
    others = tuple(s for s in everything if not (s.running and s.host in known))
    accounts = _accounts(stores.accounts, everything)
    past = read_past(
        stores.history,
        stores.ledger,
        stores.accounts,
        period,
        settings.return_delay,
        # only hosts that do not answer keep what they had
        allocated=not all(host.answering for host in hosts),
    )
    price = np.where(past.price > 0, past.price, np.array(settings.reserve))
    bids = bids_of(servers, stores.bids.of([one.id for one in servers]), accounts, price)
    payers = tuple(sorted(set(bids.payers)))
    return RoundInputs(
        period=period,
        hosts=hosts,
        servers=servers,
        others=others,
        payers=payers,
        accounts=accounts,
        bids=bids,
        past=past,
        snapshot=_snapshot(hosts, servers, bids, payers, accounts, past, settings),
        bank=stores.ledger.balances([BANK]).get(BANK, 0),
    )


def _snapshot(
    hosts: Sequence[CloudHost],
    servers: Sequence[CloudServer],
    bids: Bids,
    payers: Sequence[AccountId],
    accounts: Mapping[AccountId, Account],
    past: Past,
    settings: MarketSettings,
) -> MarketSnapshot:
    supply = np.array([[h.cores for h in hosts], [h.memory_mib for h in hosts]], dtype=np.float64)
    last = [past.allocated.get(server.id, (0.0, 0.0)) for server in servers]
    return MarketSnapshot(
        capacity=market_capacity(supply, np.array(settings.host_reserve)),
        answering=np.array([host.answering for host in hosts], dtype=np.bool_),
        host=_rows([host.name for host in hosts], [server.host for server in servers]),
        payer=_rows(payers, bids.payers),
        bids=bids.bids,
        caps=bids.caps,
        last=np.array(last, dtype=np.float64).reshape(len(servers), 2).T,
        available=np.array([accounts[payer].balance for payer in payers], dtype=np.int64),
        reserve=np.array(settings.reserve),
        last_price=past.price,
        last_demand=past.demand,
    )


def _rows(names: Sequence[str], wanted: Sequence[str]) -> Rows:
    row = {name: number for number, name in enumerate(names)}
    return np.array([row[name] for name in wanted], dtype=np.intp)


def _accounts(store: AccountStore, servers: Sequence[CloudServer]) -> dict[AccountId, Account]:
    """All open accounts, after those were opened that lacked."""
    found = _listed(store)
    owners = sorted({server.project_id for server in servers})
    missing = [
        Account(id=account('project', owner), project_id=owner)
        for owner in owners
        if account('project', owner) not in found
    ]
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
