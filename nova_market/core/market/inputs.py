# SPDX-License-Identifier: Apache-2.0
"""Everything that one round decides on, as frozen values, and how it is put together from what was read.

Implements the input of Merkat (INRIA RR-8648), section 2.2.3, and rules M1, B1 and F2 of
doc/source/specs/market.rst. Units: cores, MiB, micro-credits; times in periods. Arrays as in
core.market.snapshot.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import AccountId, account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.bid_sources import Bids, bids_of
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.past import Past
from nova_market.core.market.settings import MarketSettings
from nova_market.core.market.snapshot import MarketSnapshot, market_capacity
from nova_market.core.resource import Rows


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Inventory:
    """The cloud as a round sees it.

    servers: those that take part, on a host that is known
    others:  servers that take no part: not running, or on a host that is not known
    """

    hosts: tuple[CloudHost, ...]
    servers: tuple[CloudServer, ...]
    others: tuple[CloudServer, ...]

    @property
    def all_answer(self) -> bool:
        """Do all hosts take part? Those that do not keep what they had (F2)."""
        return all(host.answering for host in self.hosts)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoundInputs:
    """hosts, servers, payers: in the order of the rows of the snapshot
    others:   servers that take no part, as in Inventory
    accounts: all that are open; bank: what is in the bank
    """

    period: int
    hosts: tuple[CloudHost, ...]
    servers: tuple[CloudServer, ...]
    others: tuple[CloudServer, ...]
    payers: tuple[AccountId, ...]
    accounts: Mapping[AccountId, Account]
    bids: Bids
    past: Past
    snapshot: MarketSnapshot
    bank: int = 0


def inventory_of(hosts: Sequence[CloudHost], servers: Sequence[CloudServer]) -> Inventory:
    """Hosts and servers of a cloud, divided into those that take part and the others."""
    known = {host.name for host in hosts}
    return Inventory(
        hosts=tuple(hosts),
        servers=tuple(s for s in servers if s.running and s.host in known),
        others=tuple(s for s in servers if not (s.running and s.host in known)),
    )


def missing_accounts(
    servers: Sequence[CloudServer], known: Mapping[AccountId, Account]
) -> list[Account]:
    """Accounts to open: of projects that are seen for the first time, weight 1 and nothing in them."""
    owners = sorted({server.project_id for server in servers})
    return [
        Account(id=account('project', owner), project_id=owner)
        for owner in owners
        if account('project', owner) not in known
    ]


def round_inputs(
    period: int,
    cloud: Inventory,
    stored: Mapping[str, StoredBid],
    accounts: Mapping[AccountId, Account],
    past: Past,
    settings: MarketSettings,
    *,
    bank: int,
) -> RoundInputs:
    """The inputs of a round. stored: server -> the bid that its owner has placed."""
    hosts, servers = cloud.hosts, cloud.servers
    price = np.where(past.price > 0, past.price, np.array(settings.reserve))
    bids = bids_of(servers, stored, accounts, price)
    payers = tuple(sorted(set(bids.payers)))
    supply = np.array([[h.cores for h in hosts], [h.memory_mib for h in hosts]], dtype=np.float64)
    last = [past.allocated.get(server.id, (0.0, 0.0)) for server in servers]
    return RoundInputs(
        period=period,
        hosts=hosts,
        servers=servers,
        others=cloud.others,
        payers=payers,
        accounts=accounts,
        bids=bids,
        past=past,
        snapshot=MarketSnapshot(
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
        ),
        bank=bank,
    )


def _rows(names: Sequence[str], wanted: Sequence[str]) -> Rows:
    row = {name: number for number, name in enumerate(names)}
    return np.array([row[name] for name in wanted], dtype=np.intp)
