# SPDX-License-Identifier: Apache-2.0
"""What every ports.UserRoles promises: kept in memory, and Keystone's role assignments over HTTP."""

import pytest

from nova_market.adapters.in_memory.user_roles import StaticUserRoles
from nova_market.adapters.openstack.user_roles import KeystoneUserRoles
from nova_market.errors import CloudAway, CloudUnavailable
from tests.support.market.api import ALICE, BOB, IMPLIED, OPERATOR
from tests.support.market.api_server import PEOPLE, session_of

pytestmark = pytest.mark.functional


def keystone(url, name='root'):
    """With the account of a person; root's is that of the services."""
    return KeystoneUserRoles(session_of(url, name), lambda: f'{url}/identity')


@pytest.fixture(params=['memory', 'keystone'])
def source(request, market_service):
    if request.param == 'memory':
        given = {
            (p.name, p.project_id): frozenset(IMPLIED[p.role].split(',')) for p in PEOPLE.values()
        }
        return StaticUserRoles(given)
    return keystone(market_service.url)


def test_roles_are_those_of_a_token_in_the_project(source):
    """With implied ones; none in a project of others, and none of a user who is gone."""
    assert source.roles('alice', ALICE) == {'member', 'reader'}
    assert source.roles('root', OPERATOR) == {'admin', 'manager', 'member', 'reader'}
    assert source.roles('alice', BOB) == source.roles('gone', ALICE) == frozenset()


@pytest.mark.parametrize('disabled', ['bob', BOB, 'people', 'default'])
def test_who_gets_no_token_has_no_roles(market_service, disabled):
    """Keystone lists the assignments of a disabled user, in a disabled project, and where a domain is."""
    source = keystone(market_service.url)
    assert source.roles('bob', BOB)
    market_service.disabled.add(disabled)
    assert source.roles('bob', BOB) == frozenset()


def test_a_domain_of_both_is_asked_for_once(market_service):
    """Four requests, five where user and project have domains of their own."""
    source = keystone(market_service.url)
    source.own()
    for name, project, requests in (('alice', ALICE, 4), ('bob', BOB, 5)):
        market_service.requests.clear()
        source.roles(name, project)
        assert len(market_service.requests) == requests


def test_whether_the_account_may_ask(market_service):
    """Everybody may read himself, which is not enough."""
    assert keystone(market_service.url).own() == {'admin', 'manager', 'member', 'reader'}
    with pytest.raises(CloudUnavailable, match='Forbidden'):
        keystone(market_service.url, 'alice').own()


def test_a_project_that_is_gone(market_service):
    assert keystone(market_service.url).roles('alice', 'f' * 32) == frozenset()


def test_a_name_is_no_path(market_service):
    """Whatever stands in an id, it is asked for as one."""
    keystone(market_service.url).roles('../projects/x?y', ALICE)
    assert market_service.requests[-1] == 'GET /identity/v3/users/../projects/x?y'


def test_a_keystone_that_does_not_tell(market_service):
    """Away, or not for this account: never taken for a user without roles."""
    memory = StaticUserRoles({})
    memory.available = False
    for away in (memory, keystone('http://127.0.0.1:1')):
        with pytest.raises(CloudAway):
            away.roles('alice', ALICE)
    with pytest.raises(CloudUnavailable):
        keystone(market_service.url, 'bob').roles('alice', ALICE)
