# SPDX-License-Identifier: Apache-2.0
"""Hosts, servers and live migrations of a real cloud, through Nova's and Placement's APIs.

Implements ports.MarketCloud and the readings behind rules B1, A3 and F2 of doc/source/specs/market.rst.
Units: cores, MiB, seconds. For one thread, with an account that may read all projects.

Servers are read whole now and then, and between that only those that have changed. Nova does not count a
change of metadata as one, so metadata that is changed later is seen at the next whole reading.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import inf
from typing import Any

from openstack import connection
from openstack import exceptions as sdk_errors

from nova_market.adapters.openstack.answers import items, refusal, sound_items, translated
from nova_market.adapters.openstack.server_json import group_of, server_of
from nova_market.core.market.inventory import CloudHost, CloudMigration, CloudServer, MigrationState
from nova_market.core.resource import HostName
from nova_market.core.timestamp import seconds
from nova_market.errors import MigrationRefused
from nova_market.ports import Clock
from nova_market.row_boundary import RowBoundary

LOG = logging.getLogger(__name__)

NEWEST = (2, 100)
"""Microversion that shows scheduler hints; an older cloud's newest is used, where hints are not known."""

PAGE = 1000
OVERLAP = 60.0
"""Seconds that a reading of changes looks back further: clocks differ, and transactions take time."""

STALE = 600.0
"""Seconds until a host's inventory is read again, AT_ONCE hosts in a reading at most."""

AT_ONCE = 200

GONE = frozenset({'DELETED', 'SOFT_DELETED'})
ENDED = {
    'completed': MigrationState.DONE,
    'done': MigrationState.DONE,
    'error': MigrationState.FAILED,
    'failed': MigrationState.FAILED,
    'cancelled': MigrationState.FAILED,
}


class NovaCloud:
    """Implements ports.MarketCloud and ports.JobHosts."""

    def __init__(
        self,
        connect: Callable[[], connection.Connection],
        clock: Clock,
        whole: float = 300.0,
        boundary: RowBoundary | None = None,
    ) -> None:
        """connect: makes the connection, at first use; whole: seconds between two whole readings."""
        self._boundary = boundary or RowBoundary()
        self._connect = connect
        self._clock = clock
        self._whole = whole
        self._connection: connection.Connection | None = None
        self._version = ''
        self._servers: dict[str, CloudServer] = {}
        self._read_whole: float | None = None
        self._read_wall = 0.0
        self._inventory: dict[str, tuple[float, Mapping[str, Any]]] = {}

    def hosts(self) -> Sequence[CloudHost]:
        with translated():
            services = {
                str(one['host']): one
                for one in self._get('/os-services?binary=nova-compute', '2.53')['services']
            }
            nodes = [
                node
                # vcpus_used is gone from 2.88 on
                for node in self._items('/os-hypervisors/detail', 'hypervisors', '2.53')
                if str(node['service']['host']) in services
            ]
            self._read_inventories([str(node['id']) for node in nodes])
            hosts = sound_items(
                self._boundary,
                'host',
                nodes,
                lambda n: _host(
                    services[str(n['service']['host'])], n, self._inventory[str(n['id'])][1]
                ),
                lambda n: str(n['service']['host']),
            )
        return _one_each([host for host in hosts if host is not None])

    def servers(self) -> Sequence[CloudServer]:
        with translated():
            now, wall = self._clock.monotonic(), self._clock.wall()
            query = '?all_tenants=1&deleted=false'
            whole = self._read_whole is None or now - self._read_whole >= self._whole
            if not whole:
                since = datetime.fromtimestamp(self._read_wall - OVERLAP, UTC)
                query = f'?all_tenants=1&changes-since={since:%Y-%m-%dT%H:%M:%SZ}'
            groups = self._groups()
            answers = list(self._items(f'/servers/detail{query}', 'servers', self._newest()))
            known = {} if whole else dict(self._servers)
            for answer in answers:
                known.pop(str(answer['id']), None)
            found = sound_items(
                self._boundary,
                'server',
                answers,
                lambda one: None if one['status'] in GONE else server_of(one, groups),
                owner_of=lambda one: str(one['tenant_id']),
                whole=whole,
            )
            known |= {server.id: server for server in found if server is not None}
            self._servers, self._read_wall = known, wall
            if whole:
                self._read_whole = now
        return [server for _, server in sorted(known.items())]

    def aggregates(self) -> Mapping[str, Sequence[str]]:
        with translated():
            found = self._get('/os-aggregates', '2.53')['aggregates']
            return {str(one['name']): [str(host) for host in one['hosts']] for one in found}

    def migrate(self, server_id: str, destination: HostName) -> None:
        body = {'os-migrateLive': {'host': destination, 'block_migration': 'auto'}}
        with translated():
            answer = self._cloud.compute.post(
                f'/servers/{server_id}/action', json=body, microversion='2.68'
            )
            if answer.status_code in (400, 403, 404, 409):
                raise MigrationRefused(f'server {server_id} to {destination}: {refusal(answer)}')
            sdk_errors.raise_from_response(answer)

    def migration(self, server_id: str) -> CloudMigration | None:
        query = f'?instance_uuid={server_id}&migration_type=live-migration&limit=1'
        with translated():
            found = self._get(f'/os-migrations{query}', '2.80')['migrations']
            if not found:
                return None
            newest = found[0]
            state = ENDED.get(newest['status'], MigrationState.RUNNING)
            running = state == MigrationState.RUNNING
            return CloudMigration(
                id=str(newest['uuid']),
                server_id=server_id,
                source=HostName(newest['source_compute'] or ''),
                destination=HostName(newest['dest_compute'] or ''),
                state=state,
                progress=self._progress(server_id) if running else 1.0,
                reason=newest['status'] if state == MigrationState.FAILED else '',
            )

    def _progress(self, server_id: str) -> float:
        """Part of the RAM that is there already; 0 while it is not known, or is over just now."""
        path = f'/servers/{server_id}/migrations'
        answer = self._cloud.compute.get(path, microversion='2.80')
        for one in answer.json().get('migrations', ()) if answer.ok else ():
            total, left = one.get('memory_total_bytes'), one.get('memory_remaining_bytes')
            if total and left is not None:
                return min(max(1.0 - float(left) / float(total), 0.0), 1.0)
        return 0.0

    def _groups(self) -> Mapping[str, tuple[str, str]]:
        """Server -> (group, policy)."""
        found: dict[str, tuple[str, str]] = {}
        path = '/os-server-groups?all_projects=True'
        for group in items(
            lambda page: self._get(page, '2.64'), path, 'server_groups', limit=PAGE, by_offset=True
        ):
            found |= group_of(group)
        return found

    def _read_inventories(self, nodes: Sequence[str]) -> None:
        now = self._clock.monotonic()
        self._inventory = {node: self._inventory[node] for node in nodes if node in self._inventory}
        old = sorted((read, n) for n, (read, _) in self._inventory.items() if now - read >= STALE)
        missing = [node for node in nodes if node not in self._inventory]
        for node in [*missing, *(n for _, n in old[:AT_ONCE])]:
            answer = self._cloud.placement.get(f'/resource_providers/{node}/inventories')
            if answer.status_code == 404:  # not there yet, or gone with its host
                self._inventory[node] = (now - STALE, {})
                continue
            sdk_errors.raise_from_response(answer)
            self._inventory[node] = (now, answer.json()['inventories'])

    def _newest(self) -> str:
        """The newest microversion that both sides know."""
        if not self._version:
            data = self._cloud.compute.get_endpoint_data()
            there = (data and data.max_microversion) or NEWEST
            self._version = '{}.{}'.format(*min(tuple(there)[:2], NEWEST))
        return self._version

    def _items(self, path: str, key: str, version: str) -> Iterator[Mapping[str, Any]]:
        return items(lambda page: self._get(page, version), path, key, limit=PAGE)

    def _get(self, path: str, version: str) -> Any:
        answer = self._cloud.compute.get(path, microversion=version)
        sdk_errors.raise_from_response(answer)
        return answer.json()

    @property
    def _cloud(self) -> connection.Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection


def _one_each(hosts: Sequence[CloudHost]) -> list[CloudHost]:
    """By name. A host with several nodes is left out: Nova does not show which one a server is on."""
    nodes = Counter(host.name for host in hosts)
    for name in sorted(name for name, count in nodes.items() if count > 1):
        LOG.debug('host %s is left out: it has %d nodes', name, nodes[name])
    return sorted((h for h in hosts if nodes[h.name] == 1), key=lambda host: host.name)


def _host(
    service: Mapping[str, Any], node: Mapping[str, Any], inventory: Mapping[str, Any]
) -> CloudHost | None:
    """A host that Placement does not know yet can't be divided."""
    if 'MEMORY_MB' not in inventory:
        LOG.debug('host %s is left out: Placement knows no inventory of it', service['host'])
        return None
    real = {name: one['total'] - one['reserved'] for name, one in inventory.items()}
    return CloudHost(
        name=HostName(str(service['host'])),
        cores=float(max(real.get('VCPU', 0), 0)),
        memory_mib=float(max(real['MEMORY_MB'], 0)),
        enabled=service['status'] == 'enabled',
        disabled_reason=str(service.get('disabled_reason') or ''),
        answering=service['state'] == 'up',
        reported_at=seconds(service['updated_at']) if service.get('updated_at') else inf,
        zone=str(service.get('zone') or ''),
        counted={name: real[name] * one['allocation_ratio'] for name, one in inventory.items()},
        vcpus_used=float(node['vcpus_used']) if 'vcpus_used' in node else None,
        node=str(node['id']),
    )
