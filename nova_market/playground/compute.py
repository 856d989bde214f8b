# SPDX-License-Identifier: Apache-2.0
"""As much of Nova and Glance as clients of the market ask for: names of servers, flavors and images.

Compute API v2.1 and Image API v2. A tenant sees, changes and deletes his servers, an administrator sees all.
Servers are not made here: tenants make them by applications and queues, and the cloud does by itself.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from flask import Flask, Response, abort, jsonify, request
from werkzeug.exceptions import HTTPException

from nova_market.core.market.inventory import CloudServer
from nova_market.playground.identity import UNAUTHENTICATED, Identity
from nova_market.playground.people import Person, id_of
from nova_market.playground.world import FLAVORS, IMAGES, World

VERSION = {'id': 'v2.1', 'status': 'CURRENT', 'version': '2.96', 'min_version': '2.1'}

SIZES = {id_of('flavor', name): name for name in FLAVORS}
"""Names of the flavors by their ids."""


def compute(world: World, identity: Identity, url: Callable[[], str]) -> Flask:
    """url: of the playground, without a slash at its end"""
    app = Flask('nova_market.playground.compute', static_folder=None)
    app.register_error_handler(
        HTTPException, lambda error: _error(error.code or 500, error.description or error.name)
    )
    asking = _Asking(world, identity)

    @app.get('/v2.1')
    @app.get('/v2.1/')
    def version() -> Any:
        links = [{'rel': 'self', 'href': f'{url()}/compute/v2.1/'}]
        return jsonify(version={**VERSION, 'links': links})

    _flavors(app, asking)
    _servers(app, asking, world)
    return app


class _Asking:
    """Who calls, and what he sees."""

    def __init__(self, world: World, identity: Identity) -> None:
        self._world = world
        self._identity = identity

    def person(self) -> Person:
        found = self._identity.token(request.headers.get('X-Auth-Token', ''))
        if found is None:
            abort(401, UNAUTHENTICATED)
        return found.person

    def servers(self) -> dict[str, CloudServer]:
        """An administrator sees those of all projects where he asks for them."""
        person = self.person()
        admin = 'admin' in person.roles
        every = admin and request.args.get('all_tenants', '').lower() in ('1', 'true')
        wanted = re.compile(re.escape(request.args.get('name', '')).replace(r'\^', '^'))
        return {
            name: one
            for name, one in sorted(self._world.seen.items())
            if (every or one.project_id == person.project_id) and wanted.search(one.name)
        }

    def server(self, server_id: str, *, change: bool = False) -> CloudServer:
        person = self.person()
        found = self._world.seen.get(server_id)
        sees = 'admin' in person.roles and not change
        if found is None or not (sees or found.project_id == person.project_id):
            abort(404, f'Instance {server_id:.64} could not be found.')
        return found


def _flavors(app: Flask, asking: _Asking) -> None:
    @app.get('/v2.1/flavors')
    @app.get('/v2.1/flavors/detail')
    def flavors() -> Any:
        asking.person()
        return jsonify(flavors=[_flavor(name) for name in FLAVORS])

    @app.get('/v2.1/flavors/<flavor_id>')
    def flavor(flavor_id: str) -> Any:
        asking.person()
        if flavor_id not in SIZES:
            abort(404, f'Flavor {flavor_id:.64} could not be found.')
        return jsonify(flavor=_flavor(SIZES[flavor_id]))

    @app.get('/v2.1/flavors/<flavor_id>/os-extra_specs')
    def extra_specs(flavor_id: str) -> Any:
        asking.person()
        return jsonify(extra_specs={})


def _servers(app: Flask, asking: _Asking, world: World) -> None:
    @app.get('/v2.1/servers')
    @app.get('/v2.1/servers/detail')
    def servers() -> Any:
        after, found = request.args.get('marker', ''), asking.servers()
        return jsonify(servers=[_server(world, one) for key, one in found.items() if key > after])

    @app.get('/v2.1/servers/<server_id>')
    def server(server_id: str) -> Any:
        return jsonify(server=_server(world, asking.server(server_id)))

    @app.delete('/v2.1/servers/<server_id>')
    def delete(server_id: str) -> Any:
        with world.lock:
            world.remove(asking.server(server_id, change=True).id)
            world.look()
        return '', 204

    @app.post('/v2.1/servers/<server_id>/metadata')
    def metadata(server_id: str) -> Any:
        given = request.get_json(force=True)
        values = given.get('metadata') if isinstance(given, dict) else None
        if not isinstance(values, dict) or not all(
            isinstance(one, str) and len(one) <= 255 for pair in values.items() for one in pair
        ):
            abort(400, 'metadata: give texts of at most 255 characters by name')
        with world.lock:
            found = asking.server(server_id, change=True)
            world.change(found.id, values)
            world.look()
        return jsonify(metadata={**found.metadata, **values})


def image(identity: Identity, url: Callable[[], str]) -> Flask:
    """Names of images. url: as in compute"""
    app = Flask('nova_market.playground.image', static_folder=None)

    @app.get('/')
    @app.get('/v2/')
    @app.get('/v2')
    def versions() -> Any:
        links = [{'rel': 'self', 'href': f'{url()}/image/v2/'}]
        return jsonify(versions=[{'id': 'v2.9', 'status': 'CURRENT', 'links': links}])

    @app.get('/v2/images')
    def images() -> Any:
        if identity.token(request.headers.get('X-Auth-Token', '')) is None:
            return _error(401, UNAUTHENTICATED)
        wanted = request.args.get('name')
        return jsonify(images=[_image(name) for name in IMAGES if wanted in (None, name)])

    return app


def _image(name: str) -> Mapping[str, Any]:
    return {'id': id_of('image', name), 'name': name, 'status': 'active', 'visibility': 'public'}


def _flavor(name: str) -> Mapping[str, Any]:
    cores, mib, disk = FLAVORS[name]
    return {
        'id': id_of('flavor', name), 'name': name, 'vcpus': cores, 'ram': mib, 'disk': disk,
        'OS-FLV-EXT-DATA:ephemeral': 0, 'swap': 0, 'rxtx_factor': 1.0, 'os-flavor-access:is_public': True,
        'OS-FLV-DISABLED:disabled': False, 'description': None, 'extra_specs': {}, 'links': [],
    }  # fmt: skip


def _server(world: World, one: CloudServer) -> Mapping[str, Any]:
    created = datetime.fromtimestamp(world.created.get(one.id, 0.0), UTC)
    made = {**world.apps.made, **world.workers.made}.get(one.id)
    if made is not None:
        created = datetime.fromtimestamp(made.created_at, UTC)
    return {
        'id': one.id,
        'name': one.name,
        'status': one.status,
        'tenant_id': one.project_id,
        'metadata': dict(one.metadata),
        'flavor': {
            'original_name': SIZES.get(one.flavor, one.flavor), 'vcpus': one.vcpus,
            'ram': one.memory_mib, 'disk': 0, 'ephemeral': 0, 'swap': 0, 'extra_specs': {},
        },
        'image': {'id': id_of('image', 'debian-13')},
        'addresses': {},
        'created': created.strftime('%Y-%m-%dT%H:%M:%SZ'),
        'OS-EXT-SRV-ATTR:host': one.host,
        'OS-EXT-AZ:availability_zone': 'nova',
        'OS-EXT-STS:vm_state': one.status.lower(),
        'OS-EXT-STS:power_state': 1,
        'links': [],
    }  # fmt: skip


def _error(status: int, message: str) -> Response:
    """As Nova has it."""
    answer: Response = jsonify(refused={'code': status, 'message': message})
    answer.status_code = status
    return answer
