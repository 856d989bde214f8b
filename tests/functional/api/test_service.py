# SPDX-License-Identifier: Apache-2.0
"""The service as it is deployed: configuration file, keystonemiddleware, Nova, WSGI module, command."""

import os
import subprocess
import sys

import pytest
from flask import Flask
from werkzeug.test import Client

from nova_market.adapters.openstack.directory import ComputeDirectory
from nova_market.cmd import api as command
from nova_market.cmd import program
from nova_market.errors import CloudUnavailable, ConfigurationError
from nova_market.wiring.api import CONFIG_FILE
from tests.support.market.api import ALICE, DELETED, FLAVORS, OF_ALICE, OF_BOB
from tests.support.market.api_server import ASKING, PEOPLE, SERVICE
from tests.support.market.applications import TEMPLATE
from tests.support.market.deployed_api import configured

pytestmark = [pytest.mark.functional, pytest.mark.clock]


def call(client: Client, method: str, path: str, token: str = '', **more: object):
    headers = {'X-Auth-Token': token} if token else {}
    return client.open(path, method=method, headers=headers, **more)


def test_a_token_of_keystone_and_a_server_of_nova(file, market_service):
    """A tenant sets a bid for his server and not for another's; tokens are asked for once."""
    client = Client(command.build(configured(file)), Flask.response_class)
    alice = PEOPLE['alice'].token
    bid = {'cpu': 3, 'memory': 2}
    assert call(client, 'GET', '/v1/prices').status_code == 401
    assert call(client, 'GET', '/v1/prices', 'member@made-up').status_code == 401
    made = call(client, 'PUT', f'/v1/bids/{OF_ALICE}', alice, json=bid)
    assert made.status_code == 200, made.text
    assert made.json['bid']['project_id'] == ALICE
    for server in (OF_BOB, DELETED):
        assert call(client, 'PUT', f'/v1/bids/{server}', alice, json=bid).status_code == 404
    assert call(client, 'GET', '/').status_code == 200
    asked = market_service.requests.count('GET /identity/v3/auth/tokens')
    assert call(client, 'GET', '/v1/bids', alice).status_code == 200
    assert market_service.requests.count('GET /identity/v3/auth/tokens') == asked


def test_a_credential_with_access_rules_is_good_for_one_call(file):
    """O6: the middleware knows whose rules count here; no service token beside it changes that."""
    file.write_text(file.read_text() + 'service_token_roles_required = false\n')
    client = Client(command.build(configured(file)), Flask.response_class)
    token = {'X-Auth-Token': ASKING.token, 'OpenStack-API-Version': 'market latest'}
    asked = client.post('/v1/offers', json={'queue': 'q', 'time_limit': 60}, headers=token)
    assert asked.status_code == 403, 'the rules let it pass, and the policy wants `on_behalf`'
    beside = ('made up', PEOPLE['alice'].token, SERVICE.token)
    others = ({'X-Service-Token': one} for one in beside)
    for more in ({}, *others):
        for path in ('/v1/prices', '/v1/accounts', '/v1/offers'):
            assert client.get(path, headers=token | more).status_code == 401, (path, more)
        made = client.post('/v1/transfers', json={}, headers=token | more)
        assert made.status_code == 401, more
    assert made.json['errors'][0]['code'] == 'market.token.restricted'
    good = {'X-Auth-Token': PEOPLE['alice'].token, 'X-Service-Token': SERVICE.token}
    assert client.get('/v1/prices', headers=good).status_code == 200


def test_a_service_token_that_is_made_up_is_refused(file):
    """Also beside a good token: the middleware leaves that decision to the service."""
    client = Client(command.build(configured(file)), Flask.response_class)
    token = {'X-Auth-Token': PEOPLE['alice'].token}
    assert client.get('/v1/prices', headers=token).status_code == 200
    refused = client.get('/v1/prices', headers=token | {'X-Service-Token': 'made up'})
    assert refused.json['errors'][0]['code'] == 'market.token.missing'


def test_other_regions_are_asked_by_an_application_credential_alone(file):
    """O6: not with the account of the service, whose token a region could use for anything."""
    text = file.read_text()
    file.write_text(f'{text}[offers]\nregion = RegionOne\nchildren = RegionTwo\n')
    with pytest.raises(ConfigurationError, match='v3applicationcredential alone'):
        command.build(configured(file))
    account = text.partition('[openstack]')[2].partition('[')[0]
    file.write_text(f'{file.read_text()}[regions]{account}')
    with pytest.raises(ConfigurationError, match='auth_type = password'):
        command.build(configured(file))


def test_an_application_is_made_with_a_trust_of_keystone(file, market_service):
    """As the caller, whose roles it hands on; and reports pass the middleware without a token."""
    client = Client(command.build(configured(file)), Flask.response_class)
    newest = {'OpenStack-API-Version': 'market latest'}
    made = client.post(
        '/v1/apps', json=TEMPLATE, headers={**newest, 'X-Auth-Token': PEOPLE['alice'].token}
    )
    assert made.status_code == 201, made.text
    app = made.json['app']
    (trust,) = market_service.trusts.values()
    assert (trust['trustor_user_id'], trust['trustee_user_id']) == ('alice', 'root')
    assert trust['roles'] == [{'name': 'member'}], 'not all that she has'
    path = f'/v1/apps/{app["id"]}/reports'
    for credential, status in ((app['credential'], 204), ('x', 401)):
        headers = {**newest, 'X-App-Credential': credential}
        assert client.post(path, json={'metric': 1}, headers=headers).status_code == status
    few = {'policy': 'no-such'}
    wrong = client.post(
        '/v1/apps', json=TEMPLATE | few, headers={**newest, 'X-Auth-Token': PEOPLE['alice'].token}
    )
    assert 'full_deadline or horizontal or hybrid' in wrong.json['message']


def test_a_cache_of_tokens_whose_package_is_missing_is_reported_at_the_start(file, monkeypatch):
    """Not by each request."""
    file.write_text(
        file.read_text().replace('memcached_servers =', 'memcached_servers = 127.0.0.1:9')
    )
    for name in ('memcache', 'oslo_cache._memcache_pool'):
        monkeypatch.delitem(sys.modules, name, raising=False)
    # as where it is not installed
    monkeypatch.setitem(sys.modules, 'memcache', None)
    with pytest.raises(
        ConfigurationError, match=r'memcached_servers: .*memcache.*python-memcached'
    ):
        command.build(configured(file))


def test_owners_and_flavors_are_novas(file, market_service):
    """By id or name; what Nova does not know is None."""
    directory = ComputeDirectory.from_conf(configured(file))
    assert directory.server(OF_ALICE).project_id == ALICE
    assert directory.server(DELETED) is None
    assert directory.flavor('small') == directory.flavor('m1.small') == FLAVORS['small']
    assert directory.size('m1.small') == (*FLAVORS['small'], 3.5), 'disk, ephemeral disk and swap'
    assert directory.flavor('nothing') is directory.size('nothing') is None


def test_a_cloud_that_is_down_is_reported(file):
    """Nobody listens there: CloudUnavailable, not an empty answer."""
    lines = [
        'auth_url = http://127.0.0.1:9/v3' if line.startswith('auth_url') else line
        for line in file.read_text().splitlines()
    ]
    file.write_text('\n'.join(lines))
    directory = ComputeDirectory.from_conf(configured(file))
    with pytest.raises(CloudUnavailable):
        directory.server(OF_ALICE)
    with pytest.raises(CloudUnavailable):
        directory.flavor('small')


def test_a_keystone_that_is_down_is_no_invalid_token(file):
    """503, so that nobody asks for a new token again and again; public routes are served."""
    text = file.read_text()
    address = text.partition('auth_url = ')[2].partition('\n')[0]
    file.write_text(
        text.replace(address, 'http://127.0.0.1:9/v3').replace(
            '[keystone_authtoken]', '[keystone_authtoken]\nhttp_request_max_retries = 0'
        )
    )
    client = Client(command.build(configured(file)), Flask.response_class)
    answer = call(client, 'GET', '/v1/prices', PEOPLE['alice'].token)
    assert answer.status_code == 503
    assert answer.json['errors'][0]['code'] == 'market.identity.unavailable'
    assert answer.headers['X-Openstack-Request-Id']
    assert call(client, 'GET', '/v1/prices').status_code == 401
    assert call(client, 'GET', '/v1').status_code == 200


def test_metrics_without_a_token_are_refused_at_the_start(file):
    """Every balance would be open to everybody."""
    with pytest.raises(ConfigurationError, match='metrics_token'):
        command.build(configured(file, metrics_enabled=True))


def wsgi_module(file) -> subprocess.CompletedProcess[str]:
    """As uWSGI and gunicorn import it, with the configuration file that the environment names."""
    script = (
        'from nova_market.wsgi.api import application\n'
        'from werkzeug.test import Client\n'
        'print(Client(application).get("/").status)'
    )
    return subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', script], check=False, capture_output=True, text=True,
        timeout=120, env={**os.environ, CONFIG_FILE: str(file)},
    )  # fmt: skip


def test_the_wsgi_module_has_the_application(file):
    done = wsgi_module(file)
    assert done.stdout.splitlines()[-1] == '200 OK', done.stderr


def test_files_beside_the_file_are_read_after_it(file):
    """As nova_market.conf.d for nova_market.conf; here one takes the account away again."""
    beside = file.with_name(f'{file.name}.d')
    beside.mkdir()
    (beside / 'own.conf').write_text('[openstack]\nauth_type =\n')
    done = wsgi_module(file)
    assert '[openstack]auth_type is not set' in done.stdout, done.stderr


def test_the_command_says_in_one_line_what_is_missing(tmp_path, capsys):
    """No account: exit status 78, as for every service of ours."""
    empty = tmp_path / 'empty.conf'
    empty.write_text('')
    assert command.main(['--config-file', str(empty)]) == program.EXIT_CONFIGURATION
    assert '[openstack]auth_type is not set' in capsys.readouterr().err
