# SPDX-License-Identifier: Apache-2.0
"""Hosts in memory that apply what they are sent: the simulator's, and the tests'.

Implements ports.Enforcement.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.delivery import LATE
from nova_market.core.market.enforced import Confirmed
from nova_market.core.market.inventory import Allocation
from nova_market.core.market.stated_heaviness import believed_heaviness
from nova_market.core.resource import HostName, OwnerId


class MemoryEnforcement:
    """silent: hosts that neither apply nor confirm. unheard: those whose confirmations do not arrive.

    applied: host -> what it applied last
    heavy: what all hosts say of their owners; controls: what all of them enforce; own: those that differ
    """

    def __init__(self, controls: Iterable[str] = MARKET_RESOURCES) -> None:
        self.controls = frozenset(controls)
        self.own: dict[HostName, frozenset[str]] = {}
        self.silent: set[HostName] = set()
        self.unheard: set[HostName] = set()
        self.heavy: dict[OwnerId, float] = {}
        self.applied: dict[HostName, tuple[Allocation, ...]] = {}
        self.expires = 0.0
        self._confirmed: dict[int, dict[str, Confirmed]] = {}

    def start(self) -> None:
        """Nothing to connect to."""

    def send(
        self, period: int, expires: float, allocations: Mapping[HostName, Sequence[Allocation]]
    ) -> None:
        self.expires = expires
        confirmed = self._confirmed.setdefault(period, {})
        for old in sorted(self._confirmed)[: -LATE - 1]:
            del self._confirmed[old]
        for host, given in allocations.items():
            if host not in self.silent:
                self.applied[host] = tuple(given)
                one = Confirmed(host=host, since=0.0, enforced=self._controls(host))
                confirmed |= {server.server_id: one for server in given}

    def confirmed(self, period: int) -> Mapping[str, Confirmed]:
        known = self._confirmed.get(period, {})
        return {server: one for server, one in known.items() if one.host not in self.unheard}

    def enforced(self, hosts: Iterable[HostName]) -> Mapping[HostName, frozenset[str]]:
        stating = (host for host in hosts if host not in self.silent or host in self.applied)
        return {host: self._controls(host) for host in stating}

    def heaviness(self, owners: Mapping[HostName, Collection[OwnerId]]) -> Mapping[OwnerId, float]:
        return believed_heaviness(dict.fromkeys(owners, self.heavy), owners)

    def _controls(self, host: HostName) -> frozenset[str]:
        return self.own.get(host, self.controls)

    def stop(self) -> None:
        """Nothing to let go of."""
