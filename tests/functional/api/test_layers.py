# SPDX-License-Identifier: Apache-2.0
"""What stands around the handlers: policy file, proxies, other origins, long bodies, checks of responses."""

import io
import logging

import pytest
from flask import Request
from oslo_config import cfg
from werkzeug.test import EnvironBuilder, run_wsgi_app

from nova_market.api.contract import gives
from nova_market.api.dispatch import CHECKED_EVERY, Dispatcher
from nova_market.api.policies import FRESH, make_enforcer
from nova_market.api.routes import Route
from nova_market.api.stores import Settings
from nova_market.core.json_schema import record
from tests.support.market.api import ALICE, make_market

pytestmark = pytest.mark.functional

READER = f'reader@{ALICE}'


def test_a_changed_policy_file_counts_within_a_second(tmp_path):
    """It is not looked for at each question."""
    now = [0.0]
    path = tmp_path / 'policy.yaml'
    path.write_text('')
    conf = cfg.ConfigOpts()
    conf([], project='nova_market', default_config_files=[])
    enforcer = make_enforcer(conf, lambda: now[0])
    conf.set_override('policy_file', str(path), 'oslo_policy')
    enforcer.policy_file = str(path)

    def allowed():
        creds = {'roles': ['reader'], 'project_id': ALICE}
        return bool(enforcer.enforce('market:prices:show', {'project_id': ALICE}, creds))

    assert allowed()
    path.write_text('"market:prices:show": "!"\n')
    now[0] = FRESH / 2
    assert allowed()
    now[0] = FRESH
    assert not allowed()


@pytest.mark.parametrize('behind', [False, True])
def test_links_are_as_the_client_sees_the_service_behind_a_proxy_that_is_trusted(
    database, tmp_path, behind
):
    """Only where the operator says that there is one."""
    path = tmp_path / 'x.conf'
    path.write_text(f'[oslo_middleware]\nenable_proxy_headers_parsing = {behind}\n')
    market = make_market(database, config_files=[str(path)])
    headers = {'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'cloud.example'}
    (link,) = market.call('GET', '/', headers=headers).json['versions'][0]['links']
    assert link['href'] == ('https://cloud.example/v1/' if behind else 'http://localhost/v1/')


@pytest.mark.parametrize('allowed', ['', 'https://board.example'])
def test_other_origins_are_served_where_they_are_configured(database, tmp_path, allowed):
    """A dashboard of another origin gets the header that its browser wants."""
    path = tmp_path / 'x.conf'
    path.write_text(f'[cors]\nallowed_origin = {allowed}\n' if allowed else '')
    market = make_market(database, config_files=[str(path)])
    answer = market.call('GET', '/v1/prices', READER, headers={'Origin': 'https://board.example'})
    assert answer.status_code == 200
    assert answer.headers.get('Access-Control-Allow-Origin', '') == allowed


def test_a_body_whose_length_is_not_known_before_is_bounded(market):
    """Chunks are read up to the limit of all bodies."""
    environ = EnvironBuilder('/v1/offers', method='POST').get_environ()
    environ |= {
        'wsgi.input': io.BytesIO(b' ' * 200_000),
        'wsgi.input_terminated': True,
        'HTTP_TRANSFER_ENCODING': 'chunked',
        'HTTP_X_AUTH_TOKEN': f'member@{ALICE}',
        'HTTP_OPENSTACK_API_VERSION': 'market latest',
    }
    environ.pop('CONTENT_LENGTH', None)
    _, status, _ = run_wsgi_app(market.application, environ)
    assert status.startswith('413')


class Cut:
    """The rest of a body, after which the connection is lost."""

    def __init__(self, sent):
        self._sent = io.BytesIO(sent)

    def read(self, *size):
        found = self._sent.read(*size)
        if not found:
            raise ConnectionResetError('by peer')
        return found


@pytest.mark.parametrize('body', [io.BytesIO, Cut], ids=['ended', 'reset'])
def test_a_body_that_is_cut_off_is_the_fault_of_its_sender(market, caplog, body):
    """400 for whoever still reads it, and nothing in the log of the service."""
    environ = EnvironBuilder('/v1/transfers', method='POST').get_environ()
    environ |= {
        'CONTENT_LENGTH': '1000',
        'CONTENT_TYPE': 'application/json',
        'wsgi.input': body(b'{"from": '),
        'HTTP_X_AUTH_TOKEN': f'member@{ALICE}',
    }
    answer, status, _ = run_wsgi_app(market.application, environ)
    assert status.startswith('400') and b'market.request.malformed' in b''.join(answer)
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


@pytest.mark.parametrize(
    ('how', 'logged', 'status'), [('warn', 2, 200), ('error', 20, 500), ('ignore', 0, 200)]
)
def test_responses_are_checked_by_their_schema(market, caplog, how, logged, status):
    """With `warn` the first one of a route, and then one in ten."""

    @gives(200, record({'name': {'type': 'string'}}))
    def handler(call):
        return {'nam': 'x'}

    route = Route('GET', '/wrong', handler, public=True)
    settings = Settings(period=60.0, response_validation=how)
    view = Dispatcher(market.stores, settings, None).view(route)
    caplog.set_level(logging.WARNING, 'nova_market.api.dispatch')
    for _ in range(2 * CHECKED_EVERY):
        environ = EnvironBuilder('/wrong').get_environ()
        environ['openstack.request_id'] = 'req'
        assert view(Request(environ), {}).status_code == status
    assert len([one for one in caplog.records if 'response of' in one.getMessage()]) == logged


def test_a_number_that_is_none_becomes_null(market):
    """JSON has no NaN."""

    @gives(200, record({'late': {'type': ['number', 'null']}}))
    def handler(call):
        return {'late': float('inf')}

    view = Dispatcher(market.stores, Settings(period=60.0), None).view(
        Route('GET', '/late', handler, public=True)
    )
    environ = {**EnvironBuilder('/late').get_environ(), 'openstack.request_id': 'req'}
    assert view(Request(environ), {}).get_data() == b'{"late":null}'
