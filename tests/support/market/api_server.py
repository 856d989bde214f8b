# SPDX-License-Identifier: Apache-2.0
"""The market's API over HTTP on 127.0.0.1, beside as much of Keystone and Nova as its clients ask.

The API is the real application on a real SQLite database. Keystone and Nova are small servers that keep
to their published interface (Identity API v3, Compute API v2.1) where keystoneauth, openstacksdk and
openstackclient touch it: version documents, password tokens with a catalog, projects, trusts, servers and
flavors by id and by name. What they leave out is answered with 404.

    alice   member of project astronomy
    bob     member of project biology
    root    administrator, in project operations
"""

import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, Response, jsonify, request
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import WSGIRequestHandler, make_server

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import account
from nova_market.db.database import Database
from tests.support.market.api import (
    ALICE,
    BOB,
    FLAVORS,
    IMPLIED,
    OF_ALICE,
    OF_BOB,
    OPERATOR,
    SERVERS,
    Market,
    make_market,
)
from tests.support.market.user_routes import user_routes
from tests.support.servers.databases import NO_WAIT

PASSWORD = 'a password'
SERVICES = (('identity', 'identity/v3'), ('compute', 'compute/v2.1'), ('market', 'market'))


def session_of(url: str, name: str = 'root') -> Session:
    """With the account of a person; root's is that of the services. url: of the MarketService"""
    person = PEOPLE[name]
    auth = Password(
        auth_url=f'{url}/identity/v3', username=person.name, password=PASSWORD,
        project_name=person.project, user_domain_name='Default', project_domain_name='Default',
    )  # fmt: skip
    return Session(auth=auth)


@dataclass(frozen=True)
class Person:
    """A user in one project. domain: the id of his; that of all projects is `default`"""

    name: str
    project: str
    project_id: str
    role: str
    domain: str = 'default'

    @property
    def token(self) -> str:
        return f'{self.role}@{self.project_id}'


PEOPLE = {
    person.name: person
    for person in (
        Person('alice', 'astronomy', ALICE, 'member'),
        Person('bob', 'biology', BOB, 'member', 'people'),
        Person('root', 'operations', OPERATOR, 'admin'),
    )
}
MANAGERS = tuple(replace(PEOPLE[name], role='manager') for name in ('alice', 'bob'))
"""Alice and Bob with the role that may pay to another project."""

SERVICE = Person('market', 'services', 'e' * 32, 'service')
"""The account of the service itself; it has no account in the market."""

ASKING = Person('asking', 'services', 'e' * 32, 'region')
"""The account that asks other regions, by an application credential."""

OFFERS_ONLY = ({'method': 'POST', 'path': '/v1/offers', 'service': 'market'},)

LOGINS = {**PEOPLE, SERVICE.name: SERVICE, ASKING.name: ASKING}
BY_TOKEN = {person.token: person for person in (*LOGINS.values(), *MANAGERS)}
NAMES = {OF_ALICE: 'web-1', OF_BOB: 'seq-1'}


@dataclass
class MarketService:
    """A running service: where it is, and the market behind it.

    requests: `METHOD PATH` of all that arrived. before: called with one of them before it is answered.
    access_rules: of the application credential that asks other regions
    disabled: users, projects and domains by id, as Keystone has them
    regions: URLs of markets of other regions, by name; RegionOne: in place of this one
    """

    url: str
    market: Market
    database: Database
    requests: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda _asked: None
    trusts: dict[str, dict[str, Any]] = field(default_factory=dict)
    regions: dict[str, str] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)
    access_rules: tuple[Mapping[str, str], ...] = OFFERS_ONLY

    def cloud(self, name: str) -> dict[str, Any]:
        """How a person logs in, as clouds.yaml has it."""
        person = PEOPLE[name]
        return {
            'auth_type': 'password',
            'auth': {
                'auth_url': f'{self.url}/identity/v3',
                'username': person.name,
                'password': PASSWORD,
                'project_name': person.project,
                'user_domain_id': person.domain,
                'project_domain_name': 'Default',
            },
            'region_name': 'RegionOne',
            'identity_api_version': '3',
        }

    def project(self, name: str) -> str:
        """The account of a person's project."""
        return account('project', PEOPLE[name].project_id)


class _Quiet(WSGIRequestHandler):
    def log(self, *arguments: object) -> None:
        """Requests are not printed."""


@pytest.fixture
def market_service(tmp_path: Path, empty_tables: Path) -> Iterator[MarketService]:
    """The service with an account for each project, and nothing in them."""
    copy = shutil.copy(empty_tables, tmp_path / 'market.sqlite')
    database = Database({'connection': f'sqlite:///{copy}', **NO_WAIT})
    yield from serving_market(make_market(database, max_limit=5), database)
    database.close()


def serving_market(market: Market, database: Database) -> Iterator[MarketService]:
    """A market over HTTP, with an account for each person's project."""
    market.stores.accounts.open(
        [
            Account(id=account('project', p.project_id), project_id=p.project_id, name=p.project)
            for p in PEOPLE.values()
        ]
    )
    service = MarketService(url='', market=market, database=database)
    whole = DispatcherMiddleware(
        Flask('nothing'),
        {'/identity': keystone(service), '/compute': nova(), '/market': market.application},
    )

    def seen(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        asked = f'{environ["REQUEST_METHOD"]} {environ["PATH_INFO"]}'
        service.requests.append(asked)
        service.before(asked)
        return whole(environ, start)

    server = make_server('127.0.0.1', 0, seen, threaded=True, request_handler=_Quiet)
    service.url = f'http://127.0.0.1:{server.server_port}'
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield service
    server.shutdown()
    thread.join()
    server.server_close()


def keystone(service: MarketService) -> Flask:
    """Identity API v3: version, tokens by password, projects, trusts."""
    app = Flask('keystone')

    @app.get('/v3')
    @app.get('/v3/')
    def version() -> Any:
        links = [{'rel': 'self', 'href': f'{service.url}/identity/v3/'}]
        return jsonify(version={'id': 'v3.14', 'status': 'stable', 'links': links})

    @app.post('/v3/auth/tokens')
    def tokens() -> Any:
        identity = request.get_json()['auth']['identity']
        if 'application_credential' in identity:
            given = identity['application_credential']
            wanted = {'name': given['id'], 'password': given['secret']}
        else:
            wanted = identity['password']['user']
        person = LOGINS.get(wanted['name'])
        if person is None or wanted['password'] != PASSWORD:
            return _missing(401)
        return jsonify(token=_token(service, person)), 201, {'X-Subject-Token': person.token}

    @app.get('/v3/auth/tokens')
    def validated() -> Any:
        """What keystonemiddleware asks, with a token of its own."""
        asked = BY_TOKEN.get(request.headers.get('X-Subject-Token', ''))
        if request.headers.get('X-Auth-Token') not in BY_TOKEN:
            return _missing(401)
        if asked is None:
            return _missing(404)
        return jsonify(token=_token(service, asked)), 200, {'X-Subject-Token': asked.token}

    @app.get('/v3/projects')
    def projects() -> Any:
        caller = request.headers.get('X-Auth-Token')
        if caller != PEOPLE['root'].token:
            return _missing(403)
        wanted = {key: request.args[key] for key in ('name', 'domain_id') if key in request.args}
        found = [one for one in map(_project, PEOPLE.values()) if wanted.items() <= one.items()]
        return jsonify(projects=found, links={})

    @app.get('/v3/projects/<project_id>')
    def project(project_id: str) -> Any:
        caller = request.headers.get('X-Auth-Token')
        if project_id == 'default' and caller == PEOPLE['root'].token:
            return jsonify(project={'id': project_id, 'name': 'Default', 'is_domain': True})
        for person in PEOPLE.values():
            if person.project_id == project_id:
                enabled = project_id not in service.disabled
                return jsonify(project={**_project(person), 'enabled': enabled})
        return _missing(404 if caller == PEOPLE['root'].token else 403)

    user_routes(app, PEOPLE, service.disabled)

    _trust_routes(app, service)
    return app


def _trust_routes(app: Flask, service: MarketService) -> None:
    @app.post('/v3/OS-TRUST/trusts')
    def trust() -> Any:
        wanted = request.get_json()['trust']
        caller = _caller()
        if caller is None:
            return _missing(401)
        if (wanted['trustor_user_id'], wanted['project_id']) != (caller.name, caller.project_id):
            return _missing(403)
        if not {one['name'] for one in wanted['roles']} <= set(IMPLIED[caller.role].split(',')):
            return _missing(404)
        made = {'id': f'{len(service.trusts):032x}', **wanted}
        service.trusts[made['id']] = made
        return jsonify(trust=made), 201

    @app.delete('/v3/OS-TRUST/trusts/<trust_id>')
    def untrust(trust_id: str) -> Any:
        caller, found = _caller(), service.trusts.get(trust_id)
        if caller is None or found is None:
            return _missing(404 if caller else 401)
        if found['trustor_user_id'] != caller.name:
            return _missing(403)
        del service.trusts[trust_id]
        return '', 204


def _caller() -> Person | None:
    return BY_TOKEN.get(request.headers.get('X-Auth-Token', ''))


def _project(person: Person) -> Mapping[str, Any]:
    return {
        'id': person.project_id, 'name': person.project, 'domain_id': 'default', 'is_domain': False,
    }  # fmt: skip


def _token(service: MarketService, person: Person) -> Mapping[str, Any]:
    domain = {'id': 'default', 'name': 'Default'}
    home = {'id': person.domain, 'name': person.domain.capitalize()}
    others = dict(service.regions)
    here = {'market': others.pop('RegionOne')} if 'RegionOne' in others else {}
    catalog = [
        {
            'id': kind,
            'type': kind,
            'name': kind,
            'endpoints': [
                {
                    'id': f'{kind}-public',
                    'interface': 'public',
                    'region': 'RegionOne',
                    'region_id': 'RegionOne',
                    'url': here.get(kind, f'{service.url}/{path}'),
                },
                *(_elsewhere(name, url) for name, url in others.items() if kind == 'market'),
            ],
        }
        for kind, path in SERVICES
    ]
    by_credential = {
        'application_credential': {
            'id': person.name, 'name': 'offers', 'restricted': True,
            'access_rules': list(service.access_rules),
        },
    }  # fmt: skip
    return {
        **(by_credential if person is ASKING else {}),
        'methods': ['password'],
        'user': {'id': person.name, 'name': person.name.title(), 'domain': home},
        'project': {'id': person.project_id, 'name': person.project, 'domain': domain},
        'roles': [{'id': role, 'name': role} for role in IMPLIED[person.role].split(',')],
        'issued_at': '2026-11-21T00:00:00.000000Z',
        'expires_at': '2096-11-21T00:00:00.000000Z',
        'audit_ids': ['none'],
        'is_domain': False,
        'catalog': catalog,
    }


def _elsewhere(region: str, url: str) -> Mapping[str, Any]:
    """The market of another region, as the catalog has it."""
    return {
        'id': f'market-{region}',
        'interface': 'public',
        'region': region,
        'region_id': region,
        'url': url,
    }


def nova() -> Flask:
    """Compute API v2.1: version, servers, flavors by id and name. A tenant sees his servers, root all."""
    app = Flask('nova')

    @app.get('/v2.1')
    @app.get('/v2.1/')
    def version() -> Any:
        links = [{'rel': 'self', 'href': request.base_url}]
        return jsonify(
            version={
                'id': 'v2.1',
                'status': 'CURRENT',
                'version': '2.96',
                'min_version': '2.1',
                'links': links,
            }
        )

    @app.get('/v2.1/servers/<server_id>')
    def server(server_id: str) -> Any:
        mine = _own_servers()
        return jsonify(server=mine[server_id]) if server_id in mine else _missing(404)

    @app.get('/v2.1/servers/detail')
    @app.get('/v2.1/servers')
    def servers() -> Any:
        name = request.args.get('name')
        every = _own_servers().values()
        return jsonify(servers=[one for one in every if name in (None, one['name'])])

    @app.get('/v2.1/flavors/<flavor_id>')
    def flavor(flavor_id: str) -> Any:
        found = {one['id']: one for one in _own_flavors()}
        return jsonify(flavor=found[flavor_id]) if flavor_id in found else _missing(404)

    @app.get('/v2.1/flavors/detail')
    @app.get('/v2.1/flavors')
    def flavors() -> Any:
        return jsonify(flavors=_own_flavors())

    return app


def _own_servers() -> dict[str, dict[str, Any]]:
    caller = request.headers.get('X-Auth-Token')
    return {
        key: {'id': key, 'name': name, 'status': 'ACTIVE', 'tenant_id': SERVERS[key]}
        for key, name in NAMES.items()
        if caller in {PEOPLE['root'].token, f'member@{SERVERS[key]}'}
    }


def _own_flavors() -> list[dict[str, Any]]:
    """Public ones, and for Alice the private one of her project."""
    public = [_flavor(key, *size) for key, size in FLAVORS.items()]
    if request.headers.get('X-Auth-Token') != PEOPLE['alice'].token:
        return public
    return [*public, _flavor('own', 2.0, 512.0) | {'os-flavor-access:is_public': False}]


DISKS = {'disk': 1, 'OS-FLV-EXT-DATA:ephemeral': 2, 'swap': 512}
"""Of every flavor: GiB, GiB and MiB."""


def _flavor(key: str, vcpus: float, memory_mib: float) -> dict[str, Any]:
    return {'id': key, 'name': f'm1.{key}', 'vcpus': vcpus, 'ram': memory_mib} | DISKS


def _missing(status: int) -> Response:
    answer = jsonify(error={'code': status, 'message': 'no'})
    answer.status_code = status
    return answer
