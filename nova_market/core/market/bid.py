# SPDX-License-Identifier: Apache-2.0
"""Bids: what a server offers for each resource, where it comes from, and what its payer can pay.

Implements Merkat (INRIA RR-8648), section 2.2.2, and rules B1 and B2 of doc/source/specs/market.rst. Units:
whole micro-credits per period; arrays (resources, servers) in the order of MARKET_RESOURCES, those of
payers (payers,).

Differs from the paper: a bid may be left to defaults, and the bids of a payer that cannot cover their
sum are all scaled down by the same factor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from nova_market.core.ledger.money import MAX_AMOUNT, MONEY, micro_credits
from nova_market.core.ledger.posting import AccountId
from nova_market.core.market.extra_spec import LEAST_CORES, LEAST_MIB, MOST_CORES, MOST_MIB
from nova_market.core.resource import CPU, MEMORY, RESOURCES, Rows, Values
from nova_market.core.row_check import Bounds
from nova_market.errors import BadAmount

MARKET_RESOURCES = (RESOURCES[CPU], RESOURCES[MEMORY])
"""What is bid for, in this order: `cpu` in cores, `memory` in MiB."""

ABSENT = -1
"""Stands for a bid that a source does not set."""

EXACT = 2.0**53
"""Below this, a float64 sum of whole numbers is exact."""


Bid = tuple[int, ...]
"""Micro-credits per period for each of MARKET_RESOURCES, ABSENT where nothing is set."""

NO_BID: Bid = (ABSENT,) * len(MARKET_RESOURCES)


class BidSource(IntEnum):
    """Where a bid comes from. A bid is looked up in this order; the first source that sets one wins (B1)."""

    TENANT = 0
    SERVER = 1
    FLAVOR = 2
    SUSTAINABLE = 3


def bid_from(texts: Mapping[str, str], prefix: str = 'market:bid_') -> Bid:
    """The bid in a server's metadata or a flavor's extra specs, ABSENT for a resource not named.

    :raises BadAmount: names the key, the value and the limit.
    """
    names = [f'{prefix}{resource}' for resource in MARKET_RESOURCES]
    unknown = sorted(k for k in texts if k.startswith(prefix) and k not in names)
    if unknown:
        raise BadAmount(f'{unknown[0]!r} is no bid: use {" or ".join(names)}')
    return tuple(micro_credits(texts[n], n) if n in texts else ABSENT for n in names)


def first_set(*bids: Bid) -> Bid:
    """B1: of bids in the order of their precedence, for each resource the first that is set."""
    return tuple(
        next((one for one in of_resource if one != ABSENT), ABSENT)
        for of_resource in zip(*bids, strict=True)
    )


def resolved(sources: Sequence[Values]) -> tuple[Values, Values]:
    """(bids, source of each), shape (resources, servers): B1, each resource by itself.

    sources: bids of the tenant, of the server and of the flavor, ABSENT where one sets none
    Where none sets one the bid is 0 and its source SUSTAINABLE: default_bids of sustainable_bid fills it.
    """
    stack = np.stack([*sources, np.zeros_like(sources[0])])
    source = np.argmax(stack >= 0, axis=0)
    bids = np.take_along_axis(stack, source[None], axis=0)[0]
    return bids, source


def affordable(bids: Values, payers: Rows, available: Values) -> tuple[Values, Values]:
    """B2: (bids scaled down, rows of the payers they were scaled for).

    payers:    row of each server's payer in `available`, micro-credits the payer can spend
    The bids of a payer add up to at most what is available, and keep their proportions to a micro-credit.
    """
    count = len(available)
    total = np.bincount(payers, bids.sum(axis=0, dtype=np.float64), count)
    # beyond EXACT the sum is rounded at each step: err on the side of the payer's balance
    slack = 1.0 + np.where(total < EXACT, 0.0, (bids.size + 1) * np.finfo(float).eps)
    budget = np.maximum(available, 0).astype(np.float64)
    short = total * slack > budget
    if not short.any():
        return bids, np.flatnonzero(short)
    # rounded down by more than all roundings below can add up to: floor() then never exceeds the true part
    part = np.divide(budget, total * slack, out=np.ones(count), where=short) * (1.0 - 2.0**-49)
    part = np.where(short, part, 1.0)
    rows = np.flatnonzero(short[payers])
    scaled = bids.copy()
    scaled[:, rows] = np.floor(bids[:, rows] * part[payers[rows]]).astype(np.int64)
    return scaled, np.flatnonzero(short)


def check_bids(bids: Values) -> None:
    """Refuse bids that no server may make.

    :raises BadAmount: names the row, the value and the limit.
    """
    wrong = np.argwhere((bids < 0) | (bids > MAX_AMOUNT))
    if len(wrong):
        resource, server = (int(i) for i in wrong[0])
        raise BadAmount(
            f'bid {int(bids[resource, server])} micro-credits for {MARKET_RESOURCES[resource]} '
            f'of server {server}: give 0 to {MAX_AMOUNT}'
        )


BID_BOUNDS: Bounds = {
    **dict.fromkeys(('cpu', 'memory'), MONEY),
    'max_cpu': (LEAST_CORES, MOST_CORES),
    'max_memory_mib': (LEAST_MIB, MOST_MIB),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBid:
    """What one server bids per period until it is changed (B1).

    cpu, memory: None: not set here, so the next place of B1 counts
    """

    server_id: str
    project_id: str
    payer: AccountId
    cpu: int | None
    memory: int | None
    max_cpu: float | None = None
    max_memory_mib: float | None = None
    source: str = 'tenant'
    """Who has set it: always tenant."""

    generation: int = 0
    """Grows with each change; 0: not stored yet."""

    @property
    def bid(self) -> Bid:
        """What it sets, ABSENT where it sets nothing."""
        return tuple(ABSENT if one is None else one for one in (self.cpu, self.memory))
