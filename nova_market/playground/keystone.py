# SPDX-License-Identifier: Apache-2.0
"""As much of Keystone (Identity API v3) as clients of the market and its middleware ask for.

Version, tokens by password and by token with a catalog, projects, users, domains. An administrator may list
all projects and users, everybody else sees himself and his project.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from flask import Flask, Response, abort, jsonify, request
from werkzeug.exceptions import HTTPException, NotFound

from nova_market.playground.identity import UNAUTHENTICATED, Identity, Token
from nova_market.playground.people import DOMAIN, PEOPLE, Person, id_of

REGION = 'RegionOne'
SERVICES = {
    'identity': 'identity/v3',
    'compute': 'compute/v2.1',
    'image': 'image',
    'market': 'market',
}
"""Types of the catalog, and their paths."""

DOMAINS = {'id': DOMAIN, 'name': 'Default', 'enabled': True, 'description': ''}


def keystone(identity: Identity, url: Callable[[], str]) -> Flask:
    """url: of the playground, without a slash at its end"""
    app = Flask('nova_market.playground.keystone', static_folder=None)
    app.register_error_handler(HTTPException, _refused)
    _versions(app, url)
    _tokens(app, identity, url)
    _lists(app, identity)
    return app


def _versions(app: Flask, url: Callable[[], str]) -> None:
    def described() -> dict[str, Any]:
        links = [{'rel': 'self', 'href': f'{url()}/identity/v3/'}]
        types = [{'base': 'application/json', 'type': 'application/vnd.openstack.identity-v3+json'}]
        return {'id': 'v3.14', 'status': 'stable', 'links': links, 'media-types': types}

    @app.get('/')
    def versions() -> Any:
        return jsonify(versions={'values': [described()]}), 300

    @app.get('/v3')
    @app.get('/v3/')
    def version() -> Any:
        return jsonify(version=described())


def _tokens(app: Flask, identity: Identity, url: Callable[[], str]) -> None:
    @app.post('/v3/auth/tokens')
    def create() -> Any:
        asked = request.get_json(force=True)
        person = _authenticated(identity, asked)
        if person is None or not _may_be_in(person, asked):
            abort(401, UNAUTHENTICATED)
        methods = [str(one) for one in asked['auth']['identity']['methods']]
        token = identity.issue(person, methods)
        return _answer(token, url(), 201)

    @app.get('/v3/auth/tokens')
    def show() -> Any:
        if identity.token(request.headers.get('X-Auth-Token', '')) is None:
            abort(401, UNAUTHENTICATED)
        found = identity.token(request.headers.get('X-Subject-Token', ''))
        if found is None:
            abort(404, 'Could not find the token.')
        return _answer(found, url(), 200)

    @app.delete('/v3/auth/tokens')
    def revoke() -> Any:
        if identity.token(request.headers.get('X-Auth-Token', '')) is None:
            abort(401, UNAUTHENTICATED)
        identity.revoke(request.headers.get('X-Subject-Token', ''))
        return '', 204


def _authenticated(identity: Identity, asked: Any) -> Person | None:
    """Who the identity of a request is. Any body that is none of those is answered like a wrong password."""
    try:
        given = asked['auth']['identity']
        if 'password' in given['methods']:
            user = given['password']['user']
            name = user.get('name') or _name_of('user', user.get('id'))
            return identity.login(str(name), str(user['password']))
        if 'token' in given['methods']:
            found = identity.token(str(given['token']['id']))
            return found.person if found else None
    except (KeyError, TypeError, AttributeError):
        return None
    return None


def _may_be_in(person: Person, asked: Any) -> bool:
    """Everybody has one project: a request without a scope, and one for that project, are for it."""
    scope = asked['auth'].get('scope')
    if scope in (None, 'unscoped', {'unscoped': {}}):
        return True
    project = scope.get('project') if isinstance(scope, dict) else None
    if not isinstance(project, dict):
        return False
    given = project.get('id', person.project_id), project.get('name', person.project)
    return bool(given == (person.project_id, person.project))


def _name_of(kind: str, found: object) -> str:
    return next((name for name in PEOPLE if id_of(kind, name) == found), '')


def _answer(token: Token, url: str, status: int) -> Any:
    return jsonify(token=_shown(token, url)), status, {'X-Subject-Token': token.text}


def _shown(token: Token, url: str) -> Mapping[str, Any]:
    person, domain = token.person, {'id': DOMAIN, 'name': 'Default'}
    return {
        'methods': list(token.methods),
        'user': {
            'id': person.id, 'name': person.name, 'domain': domain, 'password_expires_at': None,
        },
        'project': {'id': person.project_id, 'name': person.project, 'domain': domain},
        'roles': [{'id': id_of('role', role), 'name': role} for role in person.roles],
        'issued_at': _time(token.issued_at),
        'expires_at': _time(token.expires_at),
        'audit_ids': [id_of('audit', token.text)[:22]],
        'is_domain': False,
        'catalog': [_service(kind, f'{url}/{path}') for kind, path in SERVICES.items()],
    }  # fmt: skip


def _service(kind: str, url: str) -> Mapping[str, Any]:
    endpoint = {'region': REGION, 'region_id': REGION, 'url': url}
    return {
        'id': id_of('service', kind),
        'type': kind,
        'name': kind,
        'endpoints': [
            {'id': id_of(f'{one} endpoint', kind), 'interface': one, **endpoint}
            for one in ('public', 'internal', 'admin')
        ],
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime('%Y-%m-%dT%H:%M:%S.%fZ')


def _lists(app: Flask, identity: Identity) -> None:
    def caller() -> Person | None:
        found = identity.token(request.headers.get('X-Auth-Token', ''))
        return found.person if found else None

    def refusal(*own: str) -> Response | None:
        """For whoever is neither the administrator nor one of these: names of people and projects."""
        asking = caller()
        if asking is None:
            abort(401, UNAUTHENTICATED)
        if 'admin' in asking.roles or {asking.id, asking.project_id, DOMAIN} & set(own):
            return None
        return _error(403, 'You are not authorized to perform the requested action.')

    @app.get('/v3/projects')
    def projects() -> Any:
        return refusal() or jsonify(projects=_chosen(_projects().values()), links={})

    @app.get('/v3/auth/projects')
    def own_projects() -> Any:
        asking = caller()
        if asking is None:
            abort(401, UNAUTHENTICATED)
        return jsonify(projects=[_projects()[asking.project_id]], links={})

    @app.get('/v3/users/<user_id>/projects')
    def projects_of(user_id: str) -> Any:
        found = [_projects()[one.project_id] for one in PEOPLE.values() if one.id == user_id]
        return refusal(user_id) or jsonify(projects=found, links={})

    @app.get('/v3/projects/<project_id>')
    def project(project_id: str) -> Any:
        return refusal(project_id) or _one('project', _projects().get(project_id))

    @app.get('/v3/users')
    def users() -> Any:
        return refusal() or jsonify(users=_chosen(_users().values()), links={})

    @app.get('/v3/users/<user_id>')
    def user(user_id: str) -> Any:
        return refusal(user_id) or _one('user', _users().get(user_id))

    @app.get('/v3/domains')
    def domains() -> Any:
        return refusal(DOMAIN) or jsonify(domains=_chosen([DOMAINS]), links={})

    @app.get('/v3/domains/<domain_id>')
    def domain(domain_id: str) -> Any:
        return refusal(DOMAIN) or _one('domain', DOMAINS if domain_id == DOMAIN else None)


def _projects() -> dict[str, dict[str, Any]]:
    return {
        one.project_id: {
            'id': one.project_id, 'name': one.project, 'domain_id': DOMAIN, 'parent_id': DOMAIN,
            'enabled': True, 'is_domain': False, 'description': '', 'tags': [], 'options': {},
        }
        for one in PEOPLE.values()
    }  # fmt: skip


def _users() -> dict[str, dict[str, Any]]:
    return {
        one.id: {
            'id': one.id, 'name': one.name, 'domain_id': DOMAIN, 'enabled': True,
            'default_project_id': one.project_id, 'password_expires_at': None, 'options': {},
        }
        for one in PEOPLE.values()
    }  # fmt: skip


def _chosen(found: Any) -> list[Any]:
    """Those that the query of the request names."""
    wanted = {name: request.args[name] for name in ('name', 'domain_id') if name in request.args}
    return [one for one in found if wanted.items() <= one.items()]


def _one(kind: str, found: Any) -> Any:
    return jsonify({kind: found}) if found else _error(404, f'Could not find the {kind}.')


def _refused(error: HTTPException) -> Response:
    return _error(error.code or 500, error.description or NotFound.description)


def _error(status: int, message: str) -> Response:
    """As Keystone has it."""
    answer: Response = jsonify(error={'code': status, 'message': message, 'title': 'Refused'})
    answer.status_code = status
    return answer
