# SPDX-License-Identifier: Apache-2.0
"""Hosts in memory that apply what they are sent: the simulator's, and the tests'.

Implements ports.Enforcement.
"""

from collections.abc import Iterable, Mapping, Sequence

from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.inventory import Allocation
from nova_market.core.resource import HostName, OwnerId


class MemoryEnforcement:
    """silent: hosts that neither apply nor confirm. applied: host -> what it applied last.

    heavy: what all hosts say of their owners; controls: what all of them enforce; own: those that differ
    """

    def __init__(self, controls: Iterable[str] = MARKET_RESOURCES) -> None:
        self.controls = frozenset(controls)
        self.own: dict[HostName, frozenset[str]] = {}
        self.silent: set[HostName] = set()
        self.heavy: dict[OwnerId, float] = {}
        self.applied: dict[HostName, tuple[Allocation, ...]] = {}
        self.expires = 0.0
        self._period: int | None = None
        self._confirmed: dict[str, HostName] = {}

    def start(self) -> None:
        """Nothing to connect to."""

    def send(
        self, period: int, expires: float, allocations: Mapping[HostName, Sequence[Allocation]]
    ) -> None:
        if period != self._period:
            self._confirmed = {}
        self._period, self.expires = period, expires
        for host, given in allocations.items():
            if host not in self.silent:
                self.applied[host] = tuple(given)
                self._confirmed |= {one.server_id: host for one in given}

    def confirmed(self, period: int) -> Mapping[str, HostName]:
        return dict(self._confirmed) if period == self._period else {}

    def enforced(self, hosts: Iterable[HostName]) -> Mapping[HostName, frozenset[str]]:
        return {host: self.own.get(host, self.controls) for host in hosts}

    def heaviness(self) -> Mapping[OwnerId, float]:
        return dict(self.heavy)

    def stop(self) -> None:
        """Nothing to let go of."""
