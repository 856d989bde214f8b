# SPDX-License-Identifier: Apache-2.0
"""Who logs in to a playground sees his own, and an administrator sees all."""

from typing import Any

import pytest

from nova_market.playground.people import ALICE, BOB, OPERATOR, SERVICE, Person
from nova_market.playground.playground import Playground
from tests.functional.playground.conftest import Send

pytestmark = pytest.mark.functional


def password(user: Any, secret: str, scope: Any = None) -> dict[str, Any]:
    body: dict[str, Any] = {
        'identity': {'methods': ['password'], 'password': {'user': {**user, 'password': secret}}}
    }
    if scope is not None:
        body['scope'] = scope
    return {'auth': body}


def login(played: Playground, send: Send, person: Person) -> str:
    secret = played.folder.passwords()[person.name]
    status, _, headers = send(
        'POST', '/identity/v3/auth/tokens', body=password({'name': person.name}, secret)
    )
    assert status == 201
    return str(headers['X-Subject-Token'])


def test_a_tenant_sees_his_own(played: Playground, send: Send) -> None:
    """Jobs, accounts and servers of his project, and no others."""
    token = login(played, send, BOB)
    jobs = send('GET', '/market/v1/jobs', token)[1]['jobs']
    assert jobs and {one['project_id'] for one in jobs} == {BOB.project_id}
    assert send('GET', f'/market/v1/accounts/project:{ALICE.project_id}', token)[0] == 404
    assert send('GET', '/market/v1/jobs?all_projects=true', token)[0] == 403
    servers = send('GET', '/compute/v2.1/servers/detail?all_tenants=1', token)[1]['servers']
    assert servers and {one['tenant_id'] for one in servers} == {BOB.project_id}
    theirs = next(k for k, one in played.world.seen.items() if one.project_id == ALICE.project_id)
    assert send('GET', f'/compute/v2.1/servers/{theirs}', token)[0] == 404
    assert send('DELETE', f'/compute/v2.1/servers/{theirs}', token)[0] == 404
    assert (
        send('POST', f'/compute/v2.1/servers/{theirs}/metadata', token, {'metadata': {}})[0] == 404
    )
    assert theirs in played.world.seen
    assert send('GET', '/identity/v3/users', token)[0] == 403
    assert send('GET', f'/identity/v3/projects/{ALICE.project_id}', token)[0] == 403
    assert send('GET', f'/identity/v3/projects/{BOB.project_id}', token)[0] == 200


def test_an_operator_sees_all(played: Playground, send: Send) -> None:
    """And where he does not ask for all, what his project has."""
    token = login(played, send, OPERATOR)
    servers = send('GET', '/compute/v2.1/servers?all_tenants=true', token)[1]['servers']
    assert {one['id'] for one in servers} == set(played.world.seen)
    assert send('GET', '/compute/v2.1/servers', token)[1]['servers'] == []
    names = {one['name'] for one in send('GET', '/identity/v3/projects', token)[1]['projects']}
    assert {'astronomy', 'biology', 'operations'} <= names
    named = send('GET', '/identity/v3/projects?name=biology', token)[1]['projects']
    assert [one['id'] for one in named] == [BOB.project_id]
    assert send('GET', f'/market/v1/accounts/project:{ALICE.project_id}', token)[0] == 200


def test_metadata_of_an_own_server_is_a_bid(played: Playground, send: Send) -> None:
    """The next round counts it; what is no text is refused."""
    token = login(played, send, ALICE)
    mine = next(k for k, one in played.world.seen.items() if one.name == 'astronomy-1')
    path = f'/compute/v2.1/servers/{mine}/metadata'
    assert send('POST', path, token, {'metadata': {'market:bid_cpu': 3}})[0] == 400
    assert send('POST', path, token, {'metadata': {'market:bid_cpu': '3'}})[0] == 200
    assert played.world.seen[mine].metadata['market:bid_cpu'] == '3'


@pytest.mark.parametrize(
    'body',
    [
        {},
        [],
        {'auth': None},
        {'auth': {'identity': {'methods': 'password'}}},
        {'auth': {'identity': {'methods': ['password'], 'password': {'user': None}}}},
        {'auth': {'identity': {'methods': ['token'], 'token': {'id': 'no token'}}}},
        {'auth': {'identity': {'methods': ['totp']}}},
        password({'name': 'alice'}, 'wrong'),
        password({'name': 'alice'}, ''),
        password({'name': 'nobody'}, ''),
        password({'name': 'web-robot'}, ''),
        password({'id': 'nobody'}, ''),
    ],
)
def test_whoever_cannot_prove_who_he_is_gets_no_token(send: Send, body: Any) -> None:
    """Whatever he sends; users without a password have no login."""
    status, document, headers = send('POST', '/identity/v3/auth/tokens', body=body)
    assert status == 401 and document['error']['code'] == 401
    assert headers['X-Subject-Token'] is None


@pytest.mark.parametrize(
    ('scope', 'status'),
    [
        ({'project': {'name': 'astronomy', 'domain': {'id': 'default'}}}, 201),
        ({'project': {'id': ALICE.project_id}}, 201),
        ('unscoped', 201),
        ({'project': {'name': 'biology', 'domain': {'id': 'default'}}}, 401),
        ({'project': {'id': BOB.project_id}}, 401),
        ({'system': {'all': True}}, 401),
        ({'domain': {'id': 'default'}}, 401),
        ([], 401),
    ],
)
def test_a_token_is_for_the_own_project_only(
    played: Playground, send: Send, scope: Any, status: int
) -> None:
    """By password and by another token."""
    secret = played.folder.passwords()['alice']
    given = password({'id': ALICE.id}, secret, scope)
    assert send('POST', '/identity/v3/auth/tokens', body=given)[0] == status
    token = login(played, send, ALICE)
    again = {'auth': {'identity': {'methods': ['token'], 'token': {'id': token}}, 'scope': scope}}
    assert send('POST', '/identity/v3/auth/tokens', body=again)[0] == status


def test_a_token_that_is_revoked_is_worth_nothing(played: Playground, send: Send) -> None:
    """At Keystone; and a token is validated only for somebody who has one."""
    token = login(played, send, ALICE)
    subject = {'X-Subject-Token': token}
    path = '/identity/v3/auth/tokens'
    assert send('GET', path, token, **subject)[1]['token']['user']['name'] == 'alice'
    assert send('GET', path, 'no token', **subject)[0] == 401
    assert send('DELETE', path, token, **subject)[0] == 204
    assert send('GET', '/identity/v3/auth/projects', token)[0] == 401
    other = login(played, send, BOB)
    assert send('GET', path, other, **subject)[0] == 404


def test_the_services_account_gets_no_login_file(played: Playground) -> None:
    """Its password is for the services alone."""
    secret = played.folder.passwords()[SERVICE.name]
    path = played.folder.path
    assert secret not in (path / 'clouds.yaml').read_text(encoding='utf-8')
    assert secret in (path / 'nova_market.conf').read_text(encoding='utf-8')
