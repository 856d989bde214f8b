# SPDX-License-Identifier: Apache-2.0
"""Everything that one round decides on, as frozen values, and how it is put together from what was read.

Implements the input of Merkat (INRIA RR-8648), section 2.2.3, and rules M1, M7, B1, B5 and F2 of
doc/source/specs/market.rst. Units: cores, MiB, micro-credits; times in periods. Arrays as in
core.market.snapshot.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.currency import weighed
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.ledger.posting import AccountId, account
from nova_market.core.market.bid import BidSource, StoredBid
from nova_market.core.market.bid_sources import Bids, bids_of
from nova_market.core.market.enforced import Enforced, sold_on
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.past import Past
from nova_market.core.market.settings import MarketSettings
from nova_market.core.market.snapshot import MarketSnapshot, market_capacity
from nova_market.core.market.sustainable_bid import (
    DefaultBids,
    Means,
    default_bids,
    means_of,
)
from nova_market.core.resource import Array, Flags, HostName, Rows, Values

NOTHING: Mapping[str, int] = {}


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
    others:   servers that take no part, as in Inventory; also those of projects without credits yet
    accounts: all that are open; bank: what is in the bank
    escrow:   project -> what is in escrow for it, where the tax is due (M6)
    stated:   hosts that have confirmed something, to this engine or to one before
    means, defaults: what payers can spend, and what their servers without a bid offer of it (B3)
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
    means: Means
    defaults: DefaultBids
    stated: frozenset[HostName]
    bank: int = 0
    escrow: Mapping[str, int] = field(default_factory=dict)


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
    """Accounts to open: of projects that are seen for the first time; without weight, and nothing in them."""
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
    enforced: Enforced,
    escrow: Mapping[str, int] = NOTHING,
) -> RoundInputs:
    """The inputs of a round.

    stored: server -> the bid that its owner has placed; enforced: as hosts have reported it to this engine
    """
    running = {server.project_id for server in cloud.servers}
    entitled = {name for name, amount in past.carried.entitled.items() if amount > 0}
    accounts = weighed(accounts, settings.new_weight, running | entitled)
    cloud = _with_credits(cloud, accounts, past)
    sold = sold_on(cloud.hosts, enforced, past.enforced)
    bids = bids_of(cloud.servers, stored, accounts)
    payers = tuple(sorted(set(bids.payers)))
    snapshot = _snapshot(cloud, sold, bids, payers, accounts, past, settings)
    spent, pool = _spent(snapshot), settings.shared_pool(bank)
    means = means_of(payers, spent, accounts, past.carried.coming, pool, settings.cycle)
    defaults = _defaults(snapshot, means, bids.source == BidSource.SUSTAINABLE)
    whole = bids.bids + defaults.bids
    return RoundInputs(
        period=period,
        hosts=cloud.hosts,
        servers=cloud.servers,
        others=cloud.others,
        payers=payers,
        accounts=accounts,
        bids=replace(bids, bids=whole),
        past=past,
        snapshot=replace(snapshot, bids=whole),
        means=means,
        defaults=defaults,
        stated=past.stated.union(enforced),
        bank=bank,
        escrow=escrow,
    )


def _snapshot(
    cloud: Inventory,
    sold: Flags,
    bids: Bids,
    payers: tuple[AccountId, ...],
    accounts: Mapping[AccountId, Account],
    past: Past,
    settings: MarketSettings,
) -> MarketSnapshot:
    """The cloud with the bids that are set; default bids come on top."""
    hosts, servers = cloud.hosts, cloud.servers
    return MarketSnapshot(
        capacity=np.where(sold, _capacity(hosts, settings), 0.0),
        answering=np.array([host.answering for host in hosts], dtype=np.bool_),
        host=_rows([host.name for host in hosts], [server.host for server in servers]),
        payer=_rows(payers, bids.payers),
        bids=bids.bids,
        caps=bids.caps,
        last=_last(servers, past),
        available=np.array([accounts[payer].balance for payer in payers], dtype=np.int64),
        reserve=np.array(settings.reserve),
        last_price=past.price,
        last_demand=past.demand,
        sold=sold,
    )


def _spent(snapshot: MarketSnapshot) -> Values:
    """(payers,) bids that are set, without those that cost nothing."""
    counted = np.where(_charged(snapshot), snapshot.bids, 0).sum(axis=0)
    sums = np.bincount(snapshot.payer, counted, len(snapshot.available))
    return np.minimum(sums, MAX_AMOUNT).astype(np.int64)


def _defaults(snapshot: MarketSnapshot, means: Means, unset: Flags) -> DefaultBids:
    caps = np.where(_charged(snapshot), snapshot.caps, 0.0)
    return default_bids(means, snapshot.payer, caps, unset, _capacity_sold(snapshot))


def _charged(snapshot: MarketSnapshot) -> Flags:
    """(resources, servers) not on hosts that do not answer, and nothing that is not sold there."""
    sold = snapshot.buyable & (_capacity_sold(snapshot) > 0)[:, None]
    found: Flags = snapshot.answering[snapshot.host] & sold
    return found


def _capacity_sold(snapshot: MarketSnapshot) -> Array:
    """(resources,) the capacity of all hosts that take part."""
    found: Array = np.where(snapshot.answering, snapshot.capacity, 0.0).sum(axis=1)
    return found


def _capacity(hosts: Sequence[CloudHost], settings: MarketSettings) -> Array:
    """(resources, hosts)"""
    supply = np.array([[h.cores for h in hosts], [h.memory_mib for h in hosts]], dtype=np.float64)
    return market_capacity(supply, np.array(settings.host_reserve))


def _with_credits(cloud: Inventory, accounts: Mapping[AccountId, Account], past: Past) -> Inventory:
    """Without servers of projects that had no part in a renewal yet, and have nothing.

    This round decides what they receive. Until the next one their hosts give them the average of the others
    (A5), which nothing of their own could buy.
    """
    held: dict[str, int] = {}
    for one in accounts.values():
        held[one.project_id] = held.get(one.project_id, 0) + one.balance
    waiting = {owner for owner, has in held.items() if not has} - past.carried.entitled.keys()
    if not waiting:
        return cloud
    return replace(
        cloud,
        servers=tuple(one for one in cloud.servers if one.project_id not in waiting),
        others=cloud.others + tuple(one for one in cloud.servers if one.project_id in waiting),
    )


def _last(servers: Sequence[CloudServer], past: Past) -> Array:
    """(resources, servers) what each had in the round before."""
    last = [past.allocated.get(server.id, (0.0, 0.0)) for server in servers]
    return np.array(last, dtype=np.float64).reshape(len(servers), 2).T


def _rows(names: Sequence[str], wanted: Sequence[str]) -> Rows:
    row = {name: number for number, name in enumerate(names)}
    return np.array([row[name] for name in wanted], dtype=np.intp)
