# SPDX-License-Identifier: Apache-2.0
"""What each server bids, who pays for it, and how much it can use.

Implements Merkat (INRIA RR-8648), section 2.2.2, and rule B1 of doc/source/specs/market.rst: the tenant's
bid, metadata or hint of the server, extra specs of its flavor; each resource by itself. Where none of them
sets one, sustainable_bid does.
Units: micro-credits per period, cores, MiB. Arrays (resources, servers).

A text that is no bid counts as none, and the round's document names it: a typo must not stop a server.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import AccountId, account
from nova_market.core.market.bid import (
    ABSENT,
    NO_BID,
    Bid,
    StoredBid,
    bid_from,
    first_set,
    resolved,
)
from nova_market.core.market.extra_spec import PREFIX, limits
from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import Array, Values
from nova_market.errors import BadAmount


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bids:
    """bids, source: (resources, servers); source as core.market.bid.BidSource; 0 where none sets a bid
    caps:   (resources, servers) a_max
    payers: per server
    notes:  server -> what is wrong with its texts
    """

    bids: Values
    source: Values
    caps: Array
    payers: tuple[AccountId, ...]
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedBids:
    """Bids in texts: of the server and of its flavor; problems: of texts that are no bids."""

    server: Bid
    flavor: Bid
    problems: tuple[str, ...] = ()


def bids_of(
    servers: Sequence[CloudServer],
    stored: Mapping[str, StoredBid],
    accounts: Mapping[AccountId, Account],
) -> Bids:
    """Bids of all servers that are set, in their order."""
    notes: dict[str, str] = {}
    count = len(servers)
    sources = np.full((3, 2, count), ABSENT, dtype=np.int64)
    caps = np.zeros((2, count))
    payers = []
    for row, server in enumerate(servers):
        bid = _own(server, stored.get(server.id))
        if bid is not None:
            sources[0, :, row] = bid.bid
        stated = stated_bids(
            metadata=server.metadata, hints=server.hints, extra_specs=server.extra_specs
        )
        sources[1, :, row], sources[2, :, row] = stated.server, stated.flavor
        limit = limits(server.extra_specs, server.metadata)
        caps[:, row] = (
            _least(server.vcpus, limit.cpu, bid.max_cpu if bid else None),
            _least(server.memory_mib, limit.memory_mib, bid.max_memory_mib if bid else None),
        )
        if problems := stated.problems + limit.problems:
            notes[server.id] = '; '.join(problems)
        payers.append(_payer(server, bid, accounts))
    bids, source = resolved([*sources])
    return Bids(bids=bids, source=source, caps=caps, payers=tuple(payers), notes=notes)


def stated_bids(
    *,
    metadata: Mapping[str, str],
    hints: Mapping[str, str],
    extra_specs: Mapping[str, str],
) -> StatedBids:
    """B1: what a server's owner wrote and what its flavor has.

    Metadata, which the owner can change, comes before the hints that the server was made with.
    """
    problems: list[str] = []
    newer = _stated(metadata, 'metadata', problems)
    older = _stated(hints, 'hints', problems)
    flavor = _stated(extra_specs, 'extra specs', problems)
    return StatedBids(
        server=newer if older is NO_BID else first_set(newer, older),
        flavor=flavor,
        problems=tuple(problems),
    )


def _own(server: CloudServer, bid: StoredBid | None) -> StoredBid | None:
    """A bid that somebody else's project has placed does not count."""
    return bid if bid is not None and bid.project_id == server.project_id else None


def _payer(
    server: CloudServer, bid: StoredBid | None, accounts: Mapping[AccountId, Account]
) -> AccountId:
    """The account the bid names, if it is open and of the server's project; else the project's."""
    named = accounts.get(bid.payer) if bid is not None else None
    if named is not None and named.project_id == server.project_id:
        return named.id
    return account('project', server.project_id)


def _least(size: float, limit: float, own: float | None) -> float:
    """a_max: the size of the flavor, or less where a text or the stored bid limits it."""
    return min(float(size), limit, math.inf if own is None else own)


def _stated(texts: Mapping[str, str], where: str, problems: list[str]) -> Bid:
    if not any(key.startswith(PREFIX) for key in texts):
        return NO_BID
    try:
        return bid_from(texts)
    except BadAmount as error:
        problems.append(f'{where}: {error}')
        return NO_BID
