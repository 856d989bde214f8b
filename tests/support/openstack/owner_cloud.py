# SPDX-License-Identifier: Apache-2.0
"""Keystone with trusts, Nova, Glance and Neutron on 127.0.0.1, as the controller asks them, over memory.

The answers have the fields and paging of Keystone 30, Nova 34 (microversion 2.69), Glance 33 and Neutron 29.
"""

import base64
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import parse_qs, unquote, urlsplit

from nova_market.adapters.in_memory.owner_cloud import UNADDRESSED, MemoryOwnerCloud
from nova_market.core.market.owner_server import ACTIONS, NewServer, OwnerAccess, ServerState
from nova_market.errors import AccessLost, CloudAway, CloudRefused, CloudUnavailable
from tests.support.openstack.json_server import listening

STATUS = {
    ServerState.BUILDING: ('BUILD', 'spawning'),
    ServerState.RUNNING: ('ACTIVE', None),
    ServerState.SUSPENDED: ('SUSPENDED', None),
    ServerState.SHELVED: ('SHELVED_OFFLOADED', None),
    ServerState.BUSY: ('ACTIVE', 'rebooting'),
    ServerState.STOPPED: ('SHUTOFF', None),
    ServerState.FAILED: ('ERROR', None),
    ServerState.DELETING: ('ACTIVE', 'deleting'),
}
IMAGE = {'id': '11111111-2222-3333-4444-555555555555', 'name': 'cirros'}
PUBLIC = {**IMAGE, 'visibility': 'public', 'owner': 'operator'}
NET = {'id': 'net-id', 'name': 'net', 'project_id': 'operator', 'shared': True}
PAGE = 2
PEOPLE = ('users', 'projects', 'domains')
PLACES = {
    'compute': '/compute/v2.1',
    'image': '/image',
    'network': '/network',
    'identity': '/v3',
}


class OwnerNova:
    """lock: the memory is used by one request, or by whoever holds it. broken: answer with this status.

    away: all but Keystone hang up without an answer. password: of the market's account.
    disabled: trusts whose project is disabled. tasks: what Nova is at, by server.

    Everybody has the role member in every project.
    places: of services in the catalog, by type.
    images, networks: of all projects, the newest first; all of them are shown, as to an administrator.
    """

    def __init__(self, cloud: MemoryOwnerCloud) -> None:
        self.cloud = cloud
        self.lock = threading.RLock()
        self.broken = 0
        self.password = 'geheim'
        self.away = False
        self.disabled: set[str] = set()
        self.places = dict(PLACES)
        self.versions_of_image = ['v2.16']
        self.tasks: dict[str, str] = {}
        self.images = [PUBLIC]
        self.networks = [NET]
        self.made: list[dict] = []
        self.spoiled: dict[str, dict] = {}
        """What is shown of a server instead, by its id."""
        self.asked: list[str] = []
        self.tokens: dict[str, str] = {}
        """That were shown, by path."""

        self.url = ''

    def answer(self, method, target, body, token):
        """(status, document, headers) of a request."""
        parts = urlsplit(target)
        path, query = unquote(parts.path), {k: v[0] for k, v in parse_qs(parts.query).items()}
        with self.lock:
            self.asked.append(f'{method} {target}')
            self.tokens[path] = token
            if path.startswith('/v3'):
                return self._keystone(method, path, body, token)
            if self.broken:
                return self.broken, {'error': {'message': 'broken'}}, {}
            trust = token.removeprefix('token-')
            access = OwnerAccess(project_id=self.cloud.trusts.get(trust, ''), trust_id=trust)
            return self._service(method, path, query, body, access)

    def _service(self, method, path, query, body, access):
        for wanted, pattern, handle in self._routes():
            found = re.fullmatch(pattern, path)
            if found and wanted == method:
                try:
                    return *handle(access, *found.groups(), query=query, body=body), {}
                except CloudRefused as error:
                    return 403, {'forbidden': {'code': 403, 'message': str(error)}}, {}
                except AccessLost as error:
                    return 401, {'error': {'code': 401, 'message': str(error)}}, {}
                except CloudAway:
                    return 503, {'error': {'message': 'down'}}, {}
                except CloudUnavailable as error:
                    return 500, {'computeFault': {'code': 500, 'message': str(error)}}, {}
        return 404, {'itemNotFound': {'code': 404, 'message': f'no {path}'}}, {}

    def _routes(self):
        compute = '/compute/v2.1'
        return (
            ('GET', f'{compute}/?', self._compute_version),
            ('GET', '/image/?', self._image_version),
            ('GET', f'{compute}/servers/detail', self._servers),
            ('GET', f'{compute}/servers/([^/]+)', self._server),
            ('POST', f'{compute}/servers', self._create),
            ('DELETE', f'{compute}/servers/([^/]+)', self._delete),
            ('POST', f'{compute}/servers/([^/]+)/action', self._act),
            ('GET', f'{compute}/flavors/detail', self._flavors),
            ('GET', f'{compute}/flavors/([^/]+)', self._flavor),
            ('GET', '/image/v2/images', self._images),
            ('GET', '/image/v2/images/([^/]+)', self._image),
            ('GET', '/network/v2.0/networks', self._networks),
        )

    def _keystone(self, method, path, body, token):
        if path.startswith('/v3/OS-TRUST/trusts/') and method == 'DELETE':
            return (204 if self.cloud.trusts.pop(path.rsplit('/', 1)[1], None) else 404), None, {}
        if path.startswith('/v3/OS-TRUST/trusts/') and method == 'GET':
            trust = path.rsplit('/', 1)[1]
            there = token == 'token' and trust in self.cloud.trusts
            return (200, {'trust': {'id': trust}}, {}) if there else (404, None, {})
        kind, _, name = path.removeprefix('/v3/').partition('/')
        if kind in PEOPLE:
            found = {'id': name, 'enabled': True, 'domain_id': 'default'}
            return 200, {kind.removesuffix('s'): found}, {}
        if kind == 'role_assignments':
            return 200, {kind: [{'role': {'id': 'r', 'name': 'member'}}]}, {}
        if method == 'GET':
            link = {'rel': 'self', 'href': f'{self.url}/v3'}
            return 200, {'version': {'id': 'v3.14', 'status': 'stable', 'links': [link]}}, {}
        message = 'The request you have made requires authentication.'
        refused = 401, {'error': {'code': 401, 'title': 'Unauthorized', 'message': message}}, {}
        if self.password != body['auth']['identity']['password']['user']['password']:
            return refused
        if 'scope' not in body['auth']:
            return (
                201,
                {'token': {'expires_at': '2999-01-01T00:00:00.000000Z'}},
                {'X-Subject-Token': 'token'},
            )
        # of the account itself, which asks what users may do; else of a trust
        own = 'project' in body['auth']['scope']
        trust = body['auth']['scope'].get('OS-TRUST:trust', {}).get('id', '')
        if trust in self.cloud.barred:
            message = 'User is disabled'
            return 403, {'error': {'code': 403, 'title': 'Forbidden', 'message': message}}, {}
        # as Keystone: not a 404, and the same when the project is disabled
        if not own and (trust not in self.cloud.trusts or trust in self.disabled):
            return refused
        catalog = [
            {
                'type': kind, 'name': kind, 'id': kind,
                'endpoints': [
                    {'id': kind, 'interface': 'public', 'region': 'one', 'region_id': 'one',
                     'url': self.url + place}
                ],
            }
            for kind, place in self.places.items()
        ]  # fmt: skip
        domain = {'id': 'default', 'name': 'Default'}
        found = {
            'catalog': catalog, 'expires_at': '2999-01-01T00:00:00.000000Z',
            'issued_at': '2020-01-01T00:00:00.000000Z', 'methods': ['password'],
            'user': {'id': 'owner', 'name': 'owner', 'domain': domain},
            'project': {'id': self.cloud.trusts.get(trust, 'service'), 'name': 'p', 'domain': domain},
            'roles': [{'id': 'r', 'name': 'member'}],
            'OS-TRUST:trust': {'id': trust, 'impersonation': True},
        }  # fmt: skip
        return 201, {'token': found}, {'X-Subject-Token': 'token' if own else f'token-{trust}'}

    def _compute_version(self, access, query, body):
        version = {
            'id': 'v2.1', 'status': 'CURRENT', 'version': '2.100', 'min_version': '2.1',
            'links': [{'rel': 'self', 'href': f'{self.url}/compute/v2.1/'}],
        }  # fmt: skip
        return 200, {'version': version}

    def _image_version(self, access, query, body):
        link = {'rel': 'self', 'href': f'{self.url}/image/v2/'}
        found = [
            {'id': name, 'status': 'CURRENT', 'links': [link]} for name in self.versions_of_image
        ]
        return 300, {'versions': found}

    def _servers(self, access, query, body):
        self.cloud.servers(access)
        own = [s for s, one in self.cloud.made.items() if one.project_id == access.project_id]
        shown = [self._shown(server_id) for server_id in sorted(own)]
        # nova/api/openstack/compute/servers.py: no placeholders where anything of paging is asked for
        away = [one for one in shown if one['status'] == 'UNKNOWN']
        shown = [one for one in shown if one['status'] != 'UNKNOWN']
        if 'marker' in query:
            shown = shown[[one['id'] for one in shown].index(query['marker']) + 1 :]
        page = {'servers': shown[:PAGE]}
        if len(shown) > PAGE:
            page['servers_links'] = [{'rel': 'next', 'href': 'http://next'}]
        if not {'limit', 'marker'} & query.keys() and not self.cloud.skips:
            page['servers'] += away
        return 200, page

    def _server(self, access, server_id, query, body):
        self.cloud.servers(access)
        one = self.cloud.made.get(server_id)
        if one is None or one.project_id != access.project_id:
            message = f'Instance {server_id} could not be found.'
            return 404, {'itemNotFound': {'code': 404, 'message': message}}
        return 200, {'server': self._shown(server_id)}

    def _shown(self, server_id):
        one = self.cloud.made[server_id]
        created = f'{datetime.fromtimestamp(one.created_at, UTC):%Y-%m-%dT%H:%M:%SZ}'
        if one.hidden:
            return {'id': server_id, 'status': 'UNKNOWN', 'created': created, 'tenant_id': 'p'}
        status, task = STATUS[one.state]
        launched = None if one.state in (ServerState.BUILDING, ServerState.FAILED) else created
        found = {
            'id': server_id, 'name': one.name, 'status': status, 'created': created,
            'metadata': dict(one.metadata), 'OS-EXT-STS:task_state': self.tasks.get(server_id, task),
            'OS-SRV-USG:launched_at': launched,
        }  # fmt: skip
        if one.state not in UNADDRESSED:
            floating = {'addr': '192.0.2.1', 'version': 4, 'OS-EXT-IPS:type': 'floating'}
            fixed = {'addr': one.address, 'version': 4, 'OS-EXT-IPS:type': 'fixed'}
            found['addresses'] = {'net': [floating, fixed]}
        if one.fault:
            found['fault'] = {'code': 500, 'message': one.fault}
        return found | self.spoiled.get(server_id, {})

    def _create(self, access, query, body):
        wanted = body['server']
        assert wanted['imageRef'] in {one['id'] for one in self.images}, wanted
        self.made.append(wanted)
        marks, keys = wanted['metadata'], self.cloud.marks
        made = self.cloud.create(
            access,
            NewServer(
                owner=marks[keys.owner],
                place=marks[keys.place],
                name=wanted['name'],
                flavor=wanted['flavorRef'],
                image=IMAGE['name'],
                user_data=base64.b64decode(wanted.get('user_data', '')).decode(),
            ),
        )
        return 202, {'server': {'id': made}}

    def _delete(self, access, server_id, query, body):
        if server_id not in self.cloud.made:
            return 404, {'itemNotFound': {'code': 404, 'message': 'gone'}}
        self.cloud.delete(access, server_id)
        return 204, None

    def _act(self, access, server_id, query, body):
        if server_id not in self.cloud.made:
            return 404, {'itemNotFound': {'code': 404, 'message': 'gone'}}
        actions = {name: getattr(self.cloud, name) for name in ACTIONS.values()}
        ((name, value),) = body.items()
        assert value is None, body
        actions[name](access, server_id)
        return 202, None

    def _flavor(self, access, name, query, body):
        self.cloud.flavor(access, name)
        found = [one for one in self._all_flavors() if one['id'] == name]
        if not found:
            return 404, {'itemNotFound': {'code': 404, 'message': f'Flavor {name} not found.'}}
        return 200, {'flavor': found[0]}

    def _flavors(self, access, query, body):
        return 200, {'flavors': self._all_flavors()}

    def _all_flavors(self):
        return [
            {'id': one.id, 'name': name, 'vcpus': one.vcpus, 'ram': one.memory_mib}
            for name, one in self.cloud.flavors.items()
        ]

    def _images(self, access, query, body):
        wanted = {key: query[key] for key in ('owner', 'visibility') if key in query}
        named = (one for one in self.images if query.get('name') in (None, f'in:"{one["name"]}"'))
        found = [one for one in named if wanted.items() <= one.items()]
        return 200, {'images': found[: int(query['limit'])]}

    def _image(self, access, name, query, body):
        found = next((one for one in self.images if one['id'] == name), None)
        return (200, found) if found else (404, {'message': 'no'})

    def _networks(self, access, query, body):
        wanted = {key: query[key] for key in ('id', 'name', 'project_id') if key in query}
        found = [one for one in self.networks if wanted.items() <= one.items()]
        if query.get('shared') == 'true':
            found = [one for one in found if one['shared']]
        return 200, {'networks': [{query['fields']: one[query['fields']]} for one in found]}


@contextmanager
def serving(fake: OwnerNova) -> Iterator[OwnerNova]:
    """The fake behind a port of 127.0.0.1; while it is away only Keystone answers."""

    def answer(method, path, body, token):
        if fake.away and not path.startswith('/v3'):
            return None
        return fake.answer(method, path, body, token)

    with listening(answer) as fake.url:
        yield fake
