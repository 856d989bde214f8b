# SPDX-License-Identifier: Apache-2.0
"""What each server bids, who pays for it, and how much it can use.

Implements Merkat (INRIA RR-8648), section 2.2.2, and rule B1 of doc/source/specs/market.rst: the tenant's
bid, metadata or hint of the server, extra specs of its flavor, price times a_max; each resource by itself.
Units: micro-credits per period, cores, MiB. Arrays (resources, servers).

A text that is not a bid is ignored and noted in the round: a typo must not stop a server.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import AccountId, account
from nova_market.core.market.bid import ABSENT, StoredBid, bid_from, resolved
from nova_market.core.market.extra_spec import MAX_CPU, MAX_MEMORY, PREFIX
from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import Array, Values
from nova_market.errors import BadAmount

LIMITS = (MAX_CPU, MAX_MEMORY)
NOTHING = (ABSENT, ABSENT)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bids:
    """bids, source: (resources, servers); source as core.market.bid.BidSource
    caps:   (resources, servers) a_max
    payers: per server
    notes:  server -> what was wrong with its texts
    """

    bids: Values
    source: Values
    caps: Array
    payers: tuple[AccountId, ...]
    notes: Mapping[str, str] = field(default_factory=dict)


def bids_of(
    servers: Sequence[CloudServer],
    stored: Mapping[str, StoredBid],
    accounts: Mapping[AccountId, Account],
    price: Array,
) -> Bids:
    """Bids of all servers, in their order. price: of the round before, (resources,)."""
    notes: dict[str, str] = {}
    count = len(servers)
    sources = np.full((3, 2, count), ABSENT, dtype=np.int64)
    caps = np.zeros((2, count))
    payers = []
    for row, server in enumerate(servers):
        bid = _own(server, stored.get(server.id))
        if bid is not None:
            sources[0, :, row] = bid.cpu, bid.memory
        if server.metadata or server.hints:
            sources[1, :, row] = _of_server(server, notes)
        if server.extra_specs:
            sources[2, :, row] = _of(server, server.extra_specs, 'extra specs', notes)
        caps[:, row] = _caps(server, bid, notes)
        payers.append(_payer(server, bid, accounts))
    bids, source = resolved([*sources], price, caps)
    return Bids(bids=bids, source=source, caps=caps, payers=tuple(payers), notes=notes)


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


def _of_server(server: CloudServer, notes: dict[str, str]) -> tuple[int, ...]:
    """Metadata, which its owner can change, before the hints it was made with."""
    newer = _of(server, server.metadata, 'metadata', notes)
    older = _of(server, server.hints, 'hints', notes)
    return tuple(n if n != ABSENT else o for n, o in zip(newer, older, strict=True))


def _of(
    server: CloudServer, texts: Mapping[str, str], where: str, notes: dict[str, str]
) -> tuple[int, ...]:
    if not any(key.startswith(PREFIX) for key in texts):
        return NOTHING
    try:
        return bid_from(texts)
    except BadAmount as error:
        notes[server.id] = f'{where}: {error}'
        return NOTHING


def _caps(server: CloudServer, bid: StoredBid | None, notes: dict[str, str]) -> tuple[float, float]:
    """a_max: the flavor, or less where the flavor's extra specs, the metadata or the bid set less."""
    found = [float(server.vcpus), float(server.memory_mib)]
    for where in (server.extra_specs, server.metadata):
        for r, key in enumerate(LIMITS):
            if key in where:
                found[r] = min(found[r], _limit(server, key, where[key], notes))
    if bid is not None:
        for r, limit in enumerate((bid.max_cpu, bid.max_memory_mib)):
            found[r] = found[r] if limit is None else min(found[r], limit)
    return found[0], found[1]


def _limit(server: CloudServer, key: str, text: str, notes: dict[str, str]) -> float:
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if math.isfinite(limit) and limit > 0:
        return limit
    notes[server.id] = f'{key} is {text!r:.40}: give a number above 0'
    return math.inf
