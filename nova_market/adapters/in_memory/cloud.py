# SPDX-License-Identifier: Apache-2.0
"""A cloud in memory: the simulator's, and the tests' Nova.

Implements ports.MarketCloud, ports.JobHosts and ports.ComputeServices. Live migrations take as long as
copying the server's RAM, on the clock that it is given. Units: MiB, seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nova_market.core.market.inventory import CloudHost, CloudMigration, CloudServer, MigrationState
from nova_market.core.resource import HostName
from nova_market.errors import CloudUnavailable, MigrationRefused
from nova_market.ports import Clock


@dataclass(slots=True)
class _Move:
    id: str
    source: HostName
    destination: HostName
    began: float
    seconds: float
    reason: str
    over: bool = False


class MemoryCloud:
    """The world catches up with its clock whenever it is looked at.

    available = False: it does not answer. failing: servers whose next migration fails half way.
    groups: names of the hosts of each aggregate, by its name.
    """

    def __init__(
        self,
        clock: Clock,
        hosts: Sequence[CloudHost],
        servers: Sequence[CloudServer] = (),
        *,
        mib_per_second: float = 1000.0,
    ) -> None:
        self.available = True
        self.failing: set[str] = set()
        self.groups: dict[str, Sequence[str]] = {}
        self._clock = clock
        self._rate = mib_per_second
        self._hosts = {host.name: host for host in hosts}
        self._servers = {server.id: server for server in servers}
        self._moves: dict[str, _Move] = {}
        self._count = 0

    def put_host(self, host: CloudHost) -> None:
        """Add a host or replace it."""
        self._hosts[host.name] = host

    def take_host(self, name: str) -> CloudHost:
        """It is not listed any more; what it was."""
        return self._hosts.pop(HostName(name))

    def put_server(self, server: CloudServer) -> None:
        """Add a server or replace it."""
        self._servers[server.id] = server

    def remove(self, server_id: str) -> None:
        """Its owner has deleted it."""
        self._servers.pop(server_id, None)

    def hosts(self) -> Sequence[CloudHost]:
        self._catch_up()
        return [host for _, host in sorted(self._hosts.items())]

    def servers(self) -> Sequence[CloudServer]:
        self._catch_up()
        return [server for _, server in sorted(self._servers.items())]

    def aggregates(self) -> Mapping[str, Sequence[str]]:
        self._catch_up()
        return dict(self.groups)

    def migrate(self, server_id: str, destination: HostName) -> None:
        self._catch_up()
        server = self._servers.get(server_id)
        if server is None:
            raise MigrationRefused(f'server {server_id} is gone')
        host = self._hosts.get(destination)
        if not server.migratable or server.status != 'ACTIVE':
            raise MigrationRefused(f'server {server_id} is {server.pinned or server.status}')
        if host is None or not (host.enabled and host.answering) or destination == server.host:
            raise MigrationRefused(f'server {server_id} cannot go to host {destination}')
        used = sum(s.memory_mib for s in self._servers.values() if s.host == destination)
        if used + server.memory_mib > host.memory_mib:
            raise MigrationRefused(
                f'host {destination} has {host.memory_mib - used:g} MiB left, '
                f'{server.memory_mib} are needed'
            )
        seconds = server.memory_mib / self._rate
        reason = 'the copy was broken off' if server_id in self.failing else ''
        self.failing.discard(server_id)
        self._servers[server_id] = replace(server, status='MIGRATING')
        self._count += 1
        self._moves[server_id] = _Move(
            str(self._count), server.host, destination, self._clock.monotonic(), seconds, reason
        )

    def migration(self, server_id: str) -> CloudMigration | None:
        self._catch_up()
        move = self._moves.get(server_id)
        if move is None:
            return None
        part = (self._clock.monotonic() - move.began) / move.seconds
        state = MigrationState.RUNNING
        if move.over:
            state = MigrationState.FAILED if move.reason else MigrationState.DONE
        return CloudMigration(
            id=move.id,
            server_id=server_id,
            source=move.source,
            destination=move.destination,
            state=state,
            progress=min(part, 0.5 if move.reason else 1.0),
            reason=move.reason if move.over else '',
        )

    def users(self, host: CloudHost) -> int | None:
        self._catch_up()
        coming = sum(not one.over and one.destination == host.name for one in self._moves.values())
        return coming + sum(one.host == host.name for one in self._servers.values())

    def disable(self, host: HostName, reason: str) -> bool:
        self._catch_up()
        found = self._hosts.get(host)
        if found is None or not found.enabled:
            return False
        self._hosts[host] = replace(found, enabled=False, disabled_reason=reason)
        return True

    def enable(self, host: HostName, reason: str) -> bool:
        self._catch_up()
        found = self._hosts.get(host)
        if found is None or found.enabled or found.disabled_reason != reason:
            return False
        self._hosts[host] = replace(found, enabled=True, disabled_reason='')
        return True

    def _catch_up(self) -> None:
        if not self.available:
            raise CloudUnavailable('the cloud was made unavailable; set available to True')
        now = self._clock.monotonic()
        for server_id, move in self._moves.items():
            ends = move.began + move.seconds * (0.5 if move.reason else 1.0)
            if move.over or now < ends:
                continue
            move.over = True
            server = self._servers.get(server_id)
            if server is None:
                move.reason = 'the server is gone'
                continue
            host = server.host if move.reason else move.destination
            self._servers[server_id] = replace(server, host=host, status='ACTIVE')
