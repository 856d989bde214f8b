# SPDX-License-Identifier: Apache-2.0
"""Keystone, Nova and Placement on 127.0.0.1 as far as the market asks them, over a cloud in memory.

The answers have the fields, the names and the paging of Nova 34 (microversion 2.100) and Placement 16.
"""

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from urllib.parse import parse_qs, urlsplit

from nova_market.core.market.inventory import MigrationState
from nova_market.errors import MigrationRefused
from tests.support.openstack.json_server import listening

STATUS = {
    MigrationState.RUNNING: 'running',
    MigrationState.DONE: 'completed',
    MigrationState.FAILED: 'error',
}
RATIOS = {'VCPU': 4.0, 'MEMORY_MB': 1.5, 'DISK_GB': 1.0}


def _updated_at(host) -> str | None:
    """As Nova gives it: in UTC, without saying so."""
    if host.reported_at == inf:
        return None
    return datetime.fromtimestamp(host.reported_at, UTC).replace(tzinfo=None).isoformat()


def node_of(host: str) -> str:
    """The id of a host's hypervisor, which is its resource provider's."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, host))


class FakeNova:
    """changed: servers that a reading of changes shows; deleted: those it shows as deleted.

    page: servers in one answer; broken: answer every request with this status
    nodes: hypervisors beside the one that each host has
    """

    def __init__(self, cloud) -> None:
        self.cloud = cloud
        self.changed: set[str] = set()
        self.deleted: dict[str, dict] = {}
        self.nodes: list[dict] = []
        self.spoiled: dict[str, dict] = {}
        """What is shown of a server or a host instead, by its id or name."""
        self.page = 2
        self.broken = 0
        self.asked: list[str] = []
        self.url = ''

    def answer(self, method: str, target: str, body: dict | None):
        """(status, document, headers) of a request."""
        parts = urlsplit(target)
        path, query = parts.path, {k: v[0] for k, v in parse_qs(parts.query).items()}
        self.asked.append(f'{method} {target}')
        if path.startswith('/v3'):
            return self._keystone(method)
        if self.broken:
            return self.broken, {'error': {'message': 'broken'}}, {}
        for pattern, handle in self._routes().items():
            found = re.fullmatch(pattern, path)
            if found:
                return handle(*found.groups(), **({'body': body} if body else {'query': query}))
        return 404, {'itemNotFound': {'message': f'no {path}'}}, {}

    def _routes(self):
        return {
            r'/compute/v2.1/?': self._version,
            r'/placement/?': self._placement,
            r'/placement/resource_providers/([^/]+)/inventories': self._inventories,
            r'/compute/v2.1/os-services': self._services,
            r'/compute/v2.1/os-services/([^/]+)': self._put_service,
            r'/placement/resource_providers/([^/]+)/allocations': self._allocations,
            r'/compute/v2.1/os-hypervisors/detail': self._hypervisors,
            r'/compute/v2.1/servers/detail': self._servers,
            r'/compute/v2.1/os-server-groups': self._groups,
            r'/compute/v2.1/servers/([^/]+)/action': self._act,
            r'/compute/v2.1/os-migrations': self._migrations,
            r'/compute/v2.1/servers/([^/]+)/migrations': self._progress,
        }

    def _keystone(self, method):
        if method == 'GET':
            link = {'rel': 'self', 'href': f'{self.url}/v3'}
            return 200, {'version': {'id': 'v3.14', 'status': 'stable', 'links': [link]}}, {}
        catalog = [
            {
                'type': kind, 'name': kind, 'id': kind,
                'endpoints': [
                    {'id': kind, 'interface': 'public', 'region': 'one', 'region_id': 'one',
                     'url': self.url + place}
                ],
            }
            for kind, place in (('compute', '/compute/v2.1'), ('placement', '/placement'))
        ]  # fmt: skip
        domain = {'id': 'default', 'name': 'Default'}
        token = {
            'catalog': catalog, 'expires_at': '2999-01-01T00:00:00.000000Z',
            'issued_at': '2020-01-01T00:00:00.000000Z', 'methods': ['password'],
            'user': {'id': 'u', 'name': 'market', 'domain': domain},
            'project': {'id': 's', 'name': 'service', 'domain': domain},
            'roles': [{'id': 'r', 'name': 'admin'}],
        }  # fmt: skip
        return 201, {'token': token}, {'X-Subject-Token': 'token'}

    def _version(self, query):
        version = {
            'id': 'v2.1', 'status': 'CURRENT', 'version': '2.100', 'min_version': '2.1',
            'links': [{'rel': 'self', 'href': f'{self.url}/compute/v2.1/'}],
        }  # fmt: skip
        return 200, {'version': version}, {}

    def _placement(self, query):
        version = {
            'id': 'v1.0', 'status': 'CURRENT', 'max_version': '1.39', 'min_version': '1.0',
            'links': [{'rel': 'self', 'href': ''}],
        }  # fmt: skip
        return 200, {'versions': [version]}, {}

    def _inventories(self, node, query):
        for host in self.cloud.hosts():
            second = [one['id'] for one in self.nodes if one['service']['host'] == host.name]
            if node in {node_of(host.name), *second}:
                totals = {'VCPU': host.cores, 'MEMORY_MB': host.memory_mib, 'DISK_GB': 100}
                found = {
                    name: {'total': int(total) + 1, 'reserved': 1,
                           'allocation_ratio': RATIOS[name]}
                    for name, total in totals.items()
                }  # fmt: skip
                document = {'inventories': found, 'resource_provider_generation': 1}
                return 200, document, {}
        return 404, {'errors': [{'status': 404}]}, {}

    def _services(self, query):
        services = [
            {'id': node_of('s' + host.name), 'binary': 'nova-compute', 'host': host.name,
             'zone': host.zone, 'status': 'enabled' if host.enabled else 'disabled',
             'state': 'up' if host.answering else 'down', 'updated_at': _updated_at(host),
             'disabled_reason': host.disabled_reason or None}
            for host in self.cloud.hosts()
            if query.get('host', host.name) == host.name
        ]  # fmt: skip
        return 200, {'services': services}, {}

    def _put_service(self, service, body):
        (host,) = (h for h in self.cloud.hosts() if node_of('s' + h.name) == service)
        reason = body.get('disabled_reason', '')
        changed = {'enabled': body['status'] == 'enabled', 'disabled_reason': reason}
        self.cloud.put_host(replace(host, **changed))
        return 200, {'service': {}}, {}

    def _allocations(self, node, query):
        for host in self.cloud.hosts():
            if node == node_of(host.name):
                found = {str(one): {} for one in range(self.cloud.users(host))}
                document = {'allocations': found, 'resource_provider_generation': 1}
                return 200, document, {}
        return 404, {'errors': [{'status': 404}]}, {}

    def _hypervisors(self, query):
        nodes = [
            {'id': node_of(host.name), 'hypervisor_hostname': f'{host.name}.test',
             'service': {'id': node_of('s' + host.name), 'host': host.name},
             'vcpus_used': self._used(host), **self.spoiled.get(host.name, {})}
            for host in self.cloud.hosts()
        ] + self.nodes  # fmt: skip
        return 200, *self._paged('hypervisors', nodes, query)

    def _used(self, host):
        if host.vcpus_used is not None:
            return host.vcpus_used
        return sum(one.vcpus for one in self.cloud.servers() if one.host == host.name)

    def _servers(self, query):
        servers = [shown(s) | self.spoiled.get(s.id, {}) for s in self.cloud.servers()]
        if 'changes-since' in query:
            servers = [s for s in servers if s['id'] in self.changed]
            servers += self.deleted.values()
        servers.sort(key=lambda server: server['id'])
        return 200, *self._paged('servers', servers, query)

    def _paged(self, key, items, query):
        if 'marker' in query:
            ids = [item['id'] for item in items]
            items = items[ids.index(query['marker']) + 1 :]
        page = {key: items[: self.page]}
        if len(items) > self.page:
            page[f'{key}_links'] = [{'rel': 'next', 'href': 'http://next'}]
        return page, {}

    def _groups(self, query):
        members: dict[tuple[str, str], list[str]] = {}
        for server in self.cloud.servers():
            if server.group:
                members.setdefault((server.group, server.group_policy), []).append(server.id)
        groups = [
            {'id': group, 'name': group, 'policy': policy, 'members': ids}
            for (group, policy), ids in sorted(members.items())
        ]
        return 200, {'server_groups': groups}, {}

    def _act(self, server_id, body):
        try:
            self.cloud.migrate(server_id, body['os-migrateLive']['host'])
        except MigrationRefused as error:
            return 409, {'conflictingRequest': {'code': 409, 'message': str(error)}}, {}
        return 202, None, {}

    def _migrations(self, query):
        found = self.cloud.migration(query['instance_uuid'])
        if found is None:
            return 200, {'migrations': []}, {}
        migration = {
            'uuid': found.id, 'instance_uuid': found.server_id, 'status': STATUS[found.state],
            'source_compute': found.source, 'dest_compute': found.destination,
            'migration_type': 'live-migration',
        }  # fmt: skip
        return 200, {'migrations': [migration]}, {}

    def _progress(self, server_id, query):
        found = self.cloud.migration(server_id)
        total = 1000
        left = total - round(total * found.progress)
        one = {'memory_total_bytes': total, 'memory_remaining_bytes': left}
        return 200, {'migrations': [one]}, {}


def shown(server) -> dict:
    """A server as Nova shows it."""
    return {
        'id': server.id, 'name': server.name, 'tenant_id': server.project_id,
        'status': server.status, 'metadata': dict(server.metadata), 'image': {'id': 'i'},
        'OS-EXT-SRV-ATTR:host': server.host, 'locked': not server.migratable,
        'pinned_availability_zone': server.zone or None,
        'scheduler_hints': dict(server.hints),
        'flavor': {
            'original_name': server.flavor, 'vcpus': server.vcpus, 'ram': server.memory_mib,
            'disk': 10, 'ephemeral': 0, 'swap': 0, 'extra_specs': dict(server.extra_specs),
        },
    }  # fmt: skip


@contextmanager
def serving(fake: FakeNova) -> Iterator[FakeNova]:
    """The fake behind a port of 127.0.0.1."""
    with listening(lambda method, path, body, _: fake.answer(method, path, body)) as fake.url:
        yield fake
