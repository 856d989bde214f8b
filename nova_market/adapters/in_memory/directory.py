# SPDX-License-Identifier: Apache-2.0
"""Servers, flavors and projects that somebody has written down."""

import math
from collections.abc import Mapping

from nova_market.core.market.owner_server import OwnedServer
from nova_market.errors import CloudUnavailable


class StaticDirectory:
    """Servers, flavors and projects that somebody has written down: a fake for tests."""

    def __init__(
        self,
        owners: dict[str, str],
        flavors: dict[str, tuple[float, float]],
        *,
        sizes: Mapping[str, tuple[float, float]] | None = None,
        projects: Mapping[str, tuple[str, str]] | None = None,
    ) -> None:
        """The mappings are read at each call, so they may change; available = False: all is down.

        owners: projects of servers; sizes: cores and MiB of servers, of others it is not known; projects:
        domain and name by id
        """
        self.projects = projects or {}
        self.available = True
        self.owners = owners
        self.flavors = flavors
        self.sizes = sizes or {}

    def server(self, server_id: str) -> OwnedServer | None:
        self._check()
        if server_id not in self.owners:
            return None
        vcpus, memory_mib = self.sizes.get(server_id, (math.inf, math.inf))
        return OwnedServer(project_id=self.owners[server_id], vcpus=vcpus, memory_mib=memory_mib)

    def project(self, text: str, domain_id: str) -> str | None:
        self._check()
        if text in self.projects:
            return text
        return next((one for one, at in self.projects.items() if at == (domain_id, text)), None)

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
