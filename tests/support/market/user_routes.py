# SPDX-License-Identifier: Apache-2.0
"""Identity API v3 of users, domains and role assignments, a part of the Keystone beside the market's API.

As Keystone's policies are by default: the administrator may read all, everybody himself and the domain of
his project, and nobody else role assignments.
"""

from collections.abc import Collection, Mapping
from typing import Any

from flask import Flask, abort, jsonify, request

from tests.support.market.api import IMPLIED


def user_routes(app: Flask, people: Mapping[str, Any], disabled: Collection[str]) -> None:
    """people: by id, `root` is the administrator; disabled: users and domains by id"""

    def shown(name: str, **more: str) -> Mapping[str, Any]:
        """That the domain of a user is disabled does not show."""
        return {'id': name, 'name': name, 'enabled': name not in disabled, **more}

    def only_for(*names: str) -> None:
        asking = request.headers.get('X-Auth-Token')
        if asking not in [one.token for one in people.values() if one.name in names]:
            abort(403)

    @app.get('/v3/users')
    def users() -> Any:
        """And those as whom the market of the tests knows its callers, by role."""
        only_for('root')
        by_role = [{'id': f'{one.role}-user', 'name': one.role} for one in people.values()]
        return jsonify(users=[*map(shown, people), *by_role], links={})

    @app.get('/v3/users/<user_id>')
    def user(user_id: str) -> Any:
        only_for('root', user_id)
        if user_id not in people:
            abort(404)
        return jsonify(user=shown(user_id, domain_id=people[user_id].domain))

    @app.get('/v3/domains/<domain_id>')
    def domain(domain_id: str) -> Any:
        only_for('root', *(people if domain_id == 'default' else ()))
        return jsonify(domain=shown(domain_id))

    @app.get('/v3/role_assignments')
    def role_assignments() -> Any:
        """Of users who are disabled, too; implied roles and names only where they are asked for."""
        only_for('root')
        person, where = people[request.args['user.id']], request.args['scope.project.id']
        roles = IMPLIED[person.role].split(',') if _asked_for('effective') else [person.role]
        given = {'scope': {'project': {'id': where}}, 'user': {'id': person.name}, 'links': {}}
        named = _asked_for('include_names')
        found = [
            {**given, 'role': {'id': one, 'name': one} if named else {'id': one}} for one in roles
        ]
        here = where == person.project_id
        return jsonify(role_assignments=found if here else [], links={})


def _asked_for(name: str) -> bool:
    """A parameter of a query that needs no value, as Keystone takes it."""
    return request.args.get(name, '0') != '0'
