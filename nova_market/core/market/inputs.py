# SPDX-License-Identifier: Apache-2.0
"""Everything that one round decides on, as frozen values.

Implements the input of Merkat (INRIA RR-8648), section 2.2.3, and the state behind rules P2, M3, M4 and F2 of
doc/source/specs/market.rst. Units: cores, MiB, micro-credits; times in periods. Arrays as in
core.market.snapshot.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import AccountId
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.bid_sources import Bids
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.resource import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the currency and the notices remember from round to round; stands in each round's document.

    entitled: project -> micro-credits that renewals have given it, this round's not included
    renewed:  period of the last renewal, 0 before the first
    returned: last period whose charges went back
    pool:     taxes that wait to be distributed
    low, short: payers who were told that they run out, or that their bids were scaled down
    """

    entitled: Mapping[str, int] = field(default_factory=dict)
    renewed: int = 0
    returned: int = 0
    pool: int = 0
    low: tuple[str, ...] = ()
    short: tuple[str, ...] = ()

    def plain(self) -> dict[str, object]:
        """As JSON has it."""
        return asdict(self) | {'low': list(self.low), 'short': list(self.short)}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Past:
    """price, demand: (resources,), 0 before the first round
    allocated: server -> (cores, MiB), where they are needed
    paid:      project -> charges that are due to be returned now
    memory:    what this round's document has to remember, before its own decisions
    """

    period: int = 0
    price: Array = field(default_factory=lambda: np.zeros(len(MARKET_RESOURCES)))
    demand: Array = field(default_factory=lambda: np.zeros(len(MARKET_RESOURCES)))
    allocated: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    paid: Mapping[str, int] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoundInputs:
    """hosts, servers, payers: in the order of the rows of the snapshot
    others:   servers that take no part: not running, or on a host that is not known
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
