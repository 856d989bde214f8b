# SPDX-License-Identifier: Apache-2.0
"""Owners of servers and sizes of flavors, read from Nova with the account of group [openstack].

Implements ports.ServerOwners and ports.Flavors. Units: cores, MiB, GiB.
"""

import math
import threading
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

from openstack import connection
from openstack import exceptions as sdk_errors
from oslo_config import cfg

from nova_market.adapters.openstack.answers import translated
from nova_market.adapters.openstack.session import connector
from nova_market.core.market.owner_server import OwnedServer
from nova_market.errors import CloudUnavailable

FLAVOR_SECONDS = 300.0
"""Flavors hardly ever change, and quotes are asked often."""

UNKNOWN_SECONDS = 10.0
"""An unknown name may be a new flavor; Nova lists all flavors for it at most once in this time."""

FAILURE_SECONDS = 10.0
"""While Nova does not answer, one request in this time waits for it, not one for each quote."""

MAX_FLAVORS = 10_000
DELETED = frozenset({'DELETED', 'SOFT_DELETED'})

Size = tuple[float, float, float]
MIB_IN_GIB = 1024


class ComputeDirectory:
    """For many threads: a connection for each."""

    def __init__(
        self,
        connect: Callable[[], connection.Connection],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """connect: makes a connection, at a thread's first use."""
        self._connect = connect
        self._monotonic = monotonic
        self._local = threading.local()
        self._lock = threading.Lock()
        self._flavors: dict[str, Size] = {}
        self._read_at = -math.inf
        self._failure = ''
        self._failed_at = -math.inf

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> 'ComputeDirectory':
        """With the account of group [openstack]; nothing is connected yet.

        :raises ConfigurationError: the account is not complete.
        """
        return cls(connector(conf, 'the market API'))

    def server(self, server_id: str) -> OwnedServer | None:
        with translated():
            try:
                found = self._cloud.compute.get_server(server_id)
            except sdk_errors.NotFoundException:
                return None
            if found.status in DELETED:
                return None
            size = found.flavor or {}
            return OwnedServer(
                project_id=str(found.project_id),
                vcpus=float(size.get('vcpus') or math.inf),
                memory_mib=float(size.get('ram') or math.inf),
            )

    def flavor(self, name: str) -> tuple[float, float] | None:
        """As `size`, without the disk."""
        found = self.size(name)
        return None if found is None else found[:2]

    def size(self, name: str) -> Size | None:
        """A public one, as everybody may ask: a new one after ten seconds, a change after five minutes.

        :raises CloudUnavailable: Nova does not answer, or did not a moment ago.
        """
        if self._due(name):
            with self._lock:
                # another thread may have read them, or failed, while this one waited
                if self._due(name):
                    self._renew()
        return self._flavors.get(name)

    def _due(self, name: str) -> bool:
        age = self._monotonic() - self._read_at
        return age >= (FLAVOR_SECONDS if name in self._flavors else UNKNOWN_SECONDS)

    def _renew(self) -> None:
        if self._monotonic() - self._failed_at < FAILURE_SECONDS:
            raise CloudUnavailable(self._failure)
        try:
            with translated():
                self._flavors = self._read()
        except CloudUnavailable as error:
            self._failure, self._failed_at = str(error), self._monotonic()
            raise
        self._read_at = self._monotonic()

    def _read(self) -> dict[str, Size]:
        """By name and by id; where one's name is another's id, the id counts."""
        listed = self._cloud.compute.flavors(details=True, is_public=True)
        # Nova adds the private ones of the service's own project
        found = [one for one in islice(listed, MAX_FLAVORS) if one.is_public]
        sizes = [(one.name, one.id, _size(one)) for one in found]
        return {name: size for name, _, size in sizes} | {key: size for _, key, size in sizes}

    @property
    def _cloud(self) -> connection.Connection:
        if not hasattr(self._local, 'connection'):
            self._local.connection = self._connect()
        found: connection.Connection = self._local.connection
        return found


def _size(flavor: Any) -> Size:
    disk = float(flavor.disk or 0) + float(flavor.ephemeral or 0)
    return float(flavor.vcpus), float(flavor.ram), disk + float(flavor.swap or 0) / MIB_IN_GIB
