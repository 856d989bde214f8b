# SPDX-License-Identifier: Apache-2.0
"""The hosts of a simulated cloud, and what is taken of them.

Beyond the paper. What Placement counts is `room`: (supply - reserve) * allocation ratio; what the market
divides is `capacity`, real cores and MiB. Units: cores, MiB. Arrays (resources, hosts), resources in the
order of MARKET_RESOURCES; the size of a server is its vCPUs and its RAM.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.snapshot import market_capacity
from nova_market.core.rebalancing.layout import fits
from nova_market.core.resource import Array, Flags, Rows

WIDTH = len(MARKET_RESOURCES)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKind:
    """So many equal hosts."""

    count: int
    cores: float
    memory_mib: float


class SimulatedHosts:
    """Remembers what is taken of each host."""

    def __init__(
        self,
        kinds: Sequence[HostKind],
        reserve: tuple[float, float] = (0.0, 0.0),
        ratios: tuple[float, float] = (1.0, 1.0),
        enforced: Collection[str] = MARKET_RESOURCES,
    ) -> None:
        """reserve: cores and MiB a host keeps; ratios: allocation ratios of vCPUs and RAM.

        enforced: what all of them control, so that it is sold (B5)
        """
        self.enforced = tuple(enforced)
        counts = [kind.count for kind in kinds]
        self.supply = np.stack(
            [
                np.repeat([kind.cores for kind in kinds], counts),
                np.repeat([kind.memory_mib for kind in kinds], counts),
            ]
        ).astype(np.float64)
        self.capacity = market_capacity(self.supply, np.array(reserve))
        self.room = self.capacity * np.array(ratios)[:, None]
        self.used = np.zeros_like(self.room)
        self.servers = np.zeros(self.room.shape[1], dtype=np.int64)
        self.names = {f'host-{row:06d}': row for row in range(len(self.servers))}

    @property
    def sold(self) -> Flags:
        """(resources, hosts): what is sold."""
        flags = np.array([name in self.enforced for name in MARKET_RESOURCES], dtype=np.bool_)
        return np.repeat(flags[:, None], len(self), axis=1)

    def __len__(self) -> int:
        return len(self.servers)

    def with_room(self, size: Array) -> Rows:
        """Hosts where one more server of this size fits."""
        found: Rows = np.flatnonzero(fits(self.used + size[:, None], self.room))
        return found

    def fits(self, host: int, size: Array) -> bool:
        return bool(fits(self.used[:, host] + size, self.room[:, host]))

    def take(self, hosts: Rows, size: Array) -> None:
        """One server of this size on each of `hosts`; (resources,) or (resources, len(hosts))."""
        self._add(hosts, size, 1)

    def release(self, hosts: Rows, size: Array) -> None:
        self._add(hosts, size, -1)

    def _add(self, hosts: Rows, size: Array, sign: int) -> None:
        each = np.broadcast_to(size.reshape(WIDTH, -1), (WIDTH, len(hosts)))
        np.add.at(self.servers, hosts, sign)
        for r in range(WIDTH):
            np.add.at(self.used[r], hosts, sign * each[r])
        # so that the rounding of many additions does not pile up on a host that is empty
        empty = hosts[self.servers[hosts] == 0]
        self.used[:, empty] = 0.0
