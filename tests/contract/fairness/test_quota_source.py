# SPDX-License-Identifier: Apache-2.0
"""What every ports.QuotaSource promises, on written-down quotas and on Nova's API at the HTTP boundary."""

import json
import re

import pytest
import requests
from keystoneauth1 import loading
from oslo_config import cfg
from requests_mock import ANY

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.quotas import StaticQuotas
from nova_market.adapters.openstack.quotas import READING_SECONDS, OpenStackQuotas
from nova_market.adapters.openstack.session import connector
from nova_market.conf import opts
from nova_market.errors import ConfigurationError, QuotaUnavailable

# openstacksdk warns of what it does itself
pytestmark = pytest.mark.filterwarnings('ignore::openstack.warnings.RemovedInSDK50Warning')

KEYSTONE = 'http://keystone.test/v3'
NOVA = 'http://nova.test/v2.1'
QUOTAS = {'d': (10, 20480), 'e': (-1, -1)}


class Cloud:
    """Keystone and Nova as far as reading quotas asks them."""

    def __init__(self, requests_mock):
        self.quotas = dict(QUOTAS)
        self.asked = []
        self.before = lambda owner: None
        self.http = requests_mock
        catalog = [
            {
                'type': 'compute',
                'name': 'nova',
                'id': 'c',
                'endpoints': [
                    {
                        'id': 'p',
                        'interface': 'public',
                        'region': 'one',
                        'region_id': 'one',
                        'url': NOVA,
                    }
                ],
            }
        ]
        token = {
            'token': {
                'catalog': catalog,
                'expires_at': '2999-01-01T00:00:00.000000Z',
                'issued_at': '2020-01-01T00:00:00.000000Z',
                'methods': ['password'],
                'user': {'id': 'u', 'name': 'reader', 'domain': {'id': 'default', 'name': 'D'}},
                'project': {'id': 's', 'name': 'service', 'domain': {'id': 'default', 'name': 'D'}},
                'roles': [{'id': 'r', 'name': 'reader'}],
            }
        }
        version = {'id': 'v3.14', 'status': 'stable', 'links': [{'rel': 'self', 'href': KEYSTONE}]}
        self.http.get(KEYSTONE, json={'version': version})
        self.http.post(
            KEYSTONE + '/auth/tokens', json=token, headers={'X-Subject-Token': 'secret-token'}
        )
        compute = {
            'id': 'v2.1',
            'status': 'CURRENT',
            'version': '2.100',
            'min_version': '2.1',
            'links': [{'rel': 'self', 'href': NOVA + '/'}],
        }
        self.http.get(re.compile(NOVA + '/?$'), json={'version': compute})
        self.http.get(re.compile(NOVA + '/os-quota-sets/'), text=self._answer)

    def answer(self, **response):
        """Let Nova answer this to every question for a quota."""
        self.http.get(re.compile(NOVA + '/os-quota-sets/'), **response)

    def drop(self):
        """No service of the cloud answers."""
        self.http.register_uri(ANY, re.compile('.*'), exc=requests.exceptions.ConnectTimeout)

    def _answer(self, request, context):
        owner = request.path.rsplit('/', 1)[1]
        self.asked.append(owner)
        self.before(owner)
        if owner not in self.quotas:
            context.status_code = 400
            return json.dumps({'badRequest': {'code': 400, 'message': f'{owner} is no project'}})
        cores, ram = self.quotas[owner]
        return json.dumps({'quota_set': {'id': owner, 'cores': cores, 'ram': ram, 'instances': 5}})


def options(**account):
    conf = cfg.ConfigOpts()
    opts.register_opts(conf)
    conf([], default_config_files=[])
    values = {
        'auth_type': 'password',
        'auth_url': KEYSTONE,
        'username': 'reader',
        'password': 'geheim',
        'project_name': 'service',
        'user_domain_id': 'default',
        'project_domain_id': 'default',
    } | account
    plugin = loading.get_auth_plugin_conf_options('password')
    conf.register_opts(plugin, group='openstack')
    for name, value in values.items():
        conf.set_override(name, value, group='openstack')
    return conf


@pytest.fixture
def cloud(requests_mock):
    return Cloud(requests_mock)


@pytest.fixture(params=['static', 'openstack'])
def world(request):
    """A source, and a way to take its cloud down."""
    if request.param == 'static':
        static = StaticQuotas(QUOTAS)
        return static, lambda: setattr(static, 'available', False)
    cloud = request.getfixturevalue('cloud')
    return OpenStackQuotas.from_conf(options()), cloud.drop


def test_quotas_of_the_owners_asked_for(world):
    """-1 means unlimited and is kept; owners that are no project are left out."""
    source, _ = world
    assert source.quotas(['d', 'e', 'nobody']) == QUOTAS
    assert source.quotas(['e']) == {'e': (-1, -1)}
    assert source.quotas([]) == {}


def test_a_cloud_that_does_not_answer(world):
    """It is said by one error that the caller knows, and nothing else."""
    source, drop = world
    drop()
    with pytest.raises(QuotaUnavailable):
        source.quotas(['d'])


def reader(clock, refresh=300.0):
    return OpenStackQuotas(connector(options(), 'a test'), refresh, clock)


def test_a_quota_is_read_again_after_the_refresh_time_only(cloud):
    """One request per project and refresh; a new owner costs one request."""
    clock = ManualClock()
    source = reader(clock)
    source.quotas(['d', 'nobody'])
    clock.advance(299.0)
    cloud.quotas['d'] = (99, 1)
    assert source.quotas(['d', 'e', 'nobody']) == QUOTAS
    assert cloud.asked == ['d', 'nobody', 'e']
    clock.advance(1.0)
    assert source.quotas(['d', 'e'])['d'] == (99, 1)
    assert cloud.asked == ['d', 'nobody', 'e', 'd']


def test_a_slow_cloud_is_read_in_parts(cloud):
    """A reading ends in bounded time; the next one goes on where it stopped."""
    clock = ManualClock()
    cloud.quotas = {f'p{n}': (n, n) for n in range(10)}
    cloud.before = lambda owner: clock.advance(READING_SECONDS / 4)
    source = reader(clock)
    with pytest.raises(QuotaUnavailable, match='5 of 10'):
        source.quotas(list(cloud.quotas))
    assert source.quotas(list(cloud.quotas)) == cloud.quotas
    assert len(cloud.asked) == 10


@pytest.mark.parametrize('status', [401, 403, 500, 503])
def test_refusals_and_failures_of_nova(cloud, status):
    """They never look like 'no such project', and no secret is told."""
    cloud.answer(status_code=status, json={'error': {'message': 'no'}})
    with pytest.raises(QuotaUnavailable) as caught:
        reader(ManualClock()).quotas(['d'])
    assert 'geheim' not in str(caught.value) and 'secret-token' not in str(caught.value)


@pytest.mark.parametrize(
    'answer',
    [
        {'json': {'quota_set': {'id': 'd'}}},
        {'json': {'quota_set': {'id': 'd', 'cores': -7, 'ram': 1}}},
        {'json': {'quota_set': {'id': 'd', 'cores': 2**60, 'ram': 1}}},
    ],
)
def test_an_answer_without_sense_is_left_out(cloud, answer):
    cloud.answer(**answer)
    assert reader(ManualClock()).quotas(['d']) == {}


@pytest.mark.parametrize(
    'owner', ['../servers', 'd/detail', 'd?x=1', '', 'a' * 65, 'd\n', '\u0663']
)
def test_an_owner_that_is_no_id_never_gets_into_a_url(cloud, owner):
    """Owners come from guests' metadata."""
    assert reader(ManualClock()).quotas([owner]) == {}
    assert cloud.asked == []


def test_an_account_without_type_is_a_clear_error():
    with pytest.raises(ConfigurationError, match=r'\[openstack\]auth_type is not set'):
        OpenStackQuotas.from_conf(options(auth_type=None))


def test_an_account_without_url_is_a_clear_error():
    with pytest.raises(ConfigurationError, match='auth_url'):
        OpenStackQuotas.from_conf(options(auth_url=None))


def test_no_request_waits_for_ever(cloud):
    """Without [openstack]timeout a limit of ours applies."""
    reader(ManualClock()).quotas(['d'])
    assert all(request.timeout is not None for request in cloud.http.request_history)
