# SPDX-License-Identifier: Apache-2.0
"""What a round of the market knows, frozen: hosts, servers, bids and what payers have.

Implements the input of Merkat (INRIA RR-8648), section 2.2.3. Units: cores and MiB; bids and balances in
whole micro-credits; prices in micro-credits per unit and period. Arrays (resources, servers) and
(resources, hosts), resources in the order of MARKET_RESOURCES; rows of servers in the order of their ids.

Checked once, here: what comes after relies on it.
"""

from dataclasses import dataclass, field

import numpy as np

from nova_market.core.market.bid import MARKET_RESOURCES, check_bids
from nova_market.core.resource import Array, Flags, Rows, Values
from nova_market.errors import BadSnapshot

WIDTH = len(MARKET_RESOURCES)

HOST_RESERVE = np.array([1.0, 1024.0])
"""What a host keeps for itself by default: 1 core, 1 GiB (section 3.1.2)."""


def _zeros() -> Array:
    return np.zeros(WIDTH)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MarketSnapshot:
    """capacity: (resources, hosts) what is handed out, without the reserve for the host itself
    answering: (hosts,) whether the host takes part in this round (F2)
    host, payer: (servers,) rows in `capacity` and `available`
    bids, caps: (resources, servers); caps is a_max, the most a server can use
    last: (resources, servers) allocation of the round before, kept on hosts that do not answer
    available: (payers,) what each payer can spend this period
    reserve, last_price, last_demand: (resources,)
    sold: (resources, hosts) what the host enforces (B5); None: everything. There is no capacity to hand out
          where it is not
    """

    capacity: Array
    answering: Flags
    host: Rows
    payer: Rows
    bids: Values
    caps: Array
    last: Array
    available: Values
    reserve: Array = field(default_factory=_zeros)
    last_price: Array = field(default_factory=_zeros)
    last_demand: Array = field(default_factory=_zeros)
    sold: Flags | None = None

    @property
    def sells(self) -> Flags:
        """(resources, hosts): as `sold`, whether it is stated or not."""
        return np.ones(self.capacity.shape, dtype=np.bool_) if self.sold is None else self.sold

    @property
    def offered(self) -> Flags:
        """(resources,): does any host sell it?"""
        return np.asarray(self.sells.any(axis=1))

    @property
    def buyable(self) -> Flags:
        """(resources, servers): is it sold on the server's host?"""
        return self.sells[:, self.host]

    def __post_init__(self) -> None:
        self._check_shapes()
        _check_rows('host', self.host, self.capacity.shape[1])
        _check_rows('payer', self.payer, len(self.available))
        check_bids(self.bids)
        for name in ('capacity', 'caps', 'last', 'reserve', 'last_price', 'last_demand'):
            _check_amounts(name, getattr(self, name))
        if self.capacity[~self.sells].any():
            raise BadSnapshot('capacity of what a host does not sell: give 0')

    def _check_shapes(self) -> None:
        servers, hosts = len(self.host), len(self.answering)
        wanted = {
            'capacity': (WIDTH, hosts),
            'payer': (servers,),
            'bids': (WIDTH, servers),
            'caps': (WIDTH, servers),
            'last': (WIDTH, servers),
            'reserve': (WIDTH,),
            'last_price': (WIDTH,),
            'last_demand': (WIDTH,),
        }
        if self.sold is not None:
            wanted['sold'] = (WIDTH, hosts)
        for name, shape in wanted.items():
            found = getattr(self, name).shape
            if found != shape:
                raise BadSnapshot(f'{name} has the shape {found}; {shape} is needed')


def market_capacity(supply: Array, host_reserve: Array = HOST_RESERVE) -> Array:
    """What hosts hand out: what Nova may use minus the reserve of each, never below 0; (resources, hosts)."""
    left: Array = np.maximum(supply - host_reserve[:, None], 0.0)
    return left


def _check_rows(name: str, rows: Rows, count: int) -> None:
    if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < count:
        raise BadSnapshot(
            f'{name} rows {int(rows.min())} to {int(rows.max())}: give 0 to {count - 1}'
        )


def _check_amounts(name: str, values: Array) -> None:
    if values.size and not (values.min() >= 0 and values.max() < np.inf):
        raise BadSnapshot(
            f'{name} holds {values.min():g} to {values.max():g}: give finite, 0 or more'
        )
