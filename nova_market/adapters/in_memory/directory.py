# SPDX-License-Identifier: Apache-2.0
"""Servers and flavors that somebody has written down."""

from nova_market.errors import CloudUnavailable


class StaticDirectory:
    """Servers and flavors that somebody has written down: a fake for tests."""

    def __init__(self, owners: dict[str, str], flavors: dict[str, tuple[float, float]]) -> None:
        """The mappings are read at each call, so they may change; available = False: Nova is down."""
        self.available = True
        self.owners = owners
        self.flavors = flavors

    def owner(self, server_id: str) -> str | None:
        self._check()
        return self.owners.get(server_id)

    def flavor(self, name: str) -> tuple[float, float] | None:
        self._check()
        return self.flavors.get(name)

    def size(self, name: str) -> tuple[float, float, float] | None:
        """Without a disk."""
        found = self.flavor(name)
        return None if found is None else (*found, 0.0)

    def _check(self) -> None:
        if not self.available:
            raise CloudUnavailable('the directory was made unavailable; set available to True')
