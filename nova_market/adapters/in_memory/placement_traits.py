# SPDX-License-Identifier: Apache-2.0
"""A mark on hosts in memory, for tests and the simulator. Implements ports.ProviderTraits."""

from collections.abc import Iterable

from nova_market.core.resource import HostName
from nova_market.errors import CloudUnavailable


class MemoryTraits:
    """known: hosts that have a provider; available = False is a Placement that is down."""

    def __init__(self, known: Iterable[HostName]) -> None:
        self.available = True
        self.known = set(known)
        self.announced = False
        self._marked: set[HostName] = set()

    def marked(self) -> frozenset[HostName]:
        self._check()
        return frozenset(self._marked & self.known)

    def mark(self, host: HostName) -> None:
        self._check()
        self.announced = True
        self._marked |= {host} & self.known

    def unmark(self, host: HostName) -> None:
        self._check()
        self._marked -= {host}

    def announce(self) -> None:
        self._check()
        self.announced = True

    def _check(self) -> None:
        if not self.available:
            raise CloudUnavailable('Placement was made unavailable; set available to True')
