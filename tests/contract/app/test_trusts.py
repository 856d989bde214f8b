# SPDX-License-Identifier: Apache-2.0
"""What every ports.Trusts promises: kept in memory, and Keystone's OS-TRUST over HTTP."""

import pytest
from keystoneauth1 import loading
from oslo_config import cfg

from nova_market.adapters.in_memory.trusts import StaticTrusts
from nova_market.adapters.openstack.trusts import KeystoneTrusts
from nova_market.cmd import api as command
from nova_market.errors import CloudUnavailable, ConfigurationError, TrustRefused
from tests.support.market.api import ALICE
from tests.support.market.api_server import PASSWORD, PEOPLE

pytestmark = pytest.mark.functional

TOKEN = PEOPLE['alice'].token


def keystone_trusts(url):
    """With the account that acts, which is root's here."""
    conf = cfg.ConfigOpts()
    command.register_opts(conf)
    conf([], project='nova_market', default_config_files=[])
    given = {
        'auth_type': 'password', 'auth_url': f'{url}/identity/v3', 'username': 'root',
        'password': PASSWORD, 'project_name': 'operations', 'user_domain_name': 'Default',
        'project_domain_name': 'Default',
    }  # fmt: skip
    conf.register_opts(loading.get_auth_plugin_conf_options('password'), group='openstack')
    for name, value in given.items():
        conf.set_override(name, value, 'openstack')
    return KeystoneTrusts.from_conf(conf)


@pytest.fixture(params=['memory', 'keystone'])
def trusts(request, market_service):
    if request.param == 'memory':
        return StaticTrusts({('alice', ALICE): {'member', 'reader'}})
    return keystone_trusts(market_service.url)


def test_a_trust_is_made_and_ended(trusts):
    """Each has its own id; to end one that is gone is no error."""
    made = [trusts.create(TOKEN, 'alice', ALICE, ['member', 'reader']) for _ in range(2)]
    assert len(set(made)) == 2 and all(made)
    for one in (*made, made[0]):
        trusts.delete(TOKEN, one)


@pytest.mark.parametrize(
    ('token', 'user', 'roles'),
    [(TOKEN, 'alice', ['admin']), (TOKEN, 'bob', ['member']), ('', 'alice', ['member'])],
    ids=['a role one lacks', "another's", 'no token'],
)
def test_nobody_hands_on_what_he_has_not(trusts, token, user, roles):
    """Refused, and nothing is made."""
    with pytest.raises(TrustRefused):
        trusts.create(token, user, ALICE, roles)


def test_it_acts_as_the_owner_and_no_longer_than_asked(market_service):
    """The trustee is the market's account; the roles are by name; only the owner ends it."""
    trusts = keystone_trusts(market_service.url)
    made = trusts.create(TOKEN, 'alice', ALICE, ['member'])
    kept = market_service.trusts[made]
    assert (kept['trustor_user_id'], kept['trustee_user_id']) == ('alice', 'root')
    assert (kept['impersonation'], kept['roles']) == (True, [{'name': 'member'}])
    with pytest.raises(TrustRefused):
        trusts.delete(PEOPLE['bob'].token, made)
    trusts.delete(TOKEN, made)
    assert market_service.trusts == {}


def test_a_keystone_that_is_away():
    """Said as such, by either."""
    memory = StaticTrusts({})
    memory.available = False
    for trusts in (memory, keystone_trusts('http://127.0.0.1:1')):
        with pytest.raises(CloudUnavailable):
            trusts.create(TOKEN, 'alice', ALICE, ['member'])
        with pytest.raises(CloudUnavailable):
            trusts.delete(TOKEN, 'x')


def test_an_account_is_needed():
    """The option is named."""
    conf = cfg.ConfigOpts()
    command.register_opts(conf)
    conf([], project='nova_market', default_config_files=[])
    with pytest.raises(ConfigurationError, match=r'\[openstack\]auth_type is not set'):
        KeystoneTrusts.from_conf(conf)
