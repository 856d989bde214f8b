# SPDX-License-Identifier: Apache-2.0
"""What every ports.Projects promises: written down, and Keystone over HTTP."""

import pytest

from nova_market.adapters.in_memory.directory import StaticDirectory
from nova_market.adapters.openstack.projects import KeystoneProjects
from nova_market.errors import CloudUnavailable
from tests.support.market.api import ALICE, DOMAIN, PROJECTS
from tests.support.market.api_server import session_of

pytestmark = pytest.mark.functional


def keystone(url, name='root'):
    """With the account of a person; root's is that of the services."""
    return KeystoneProjects(session_of(url, name), lambda: f'{url}/identity')


@pytest.fixture(params=['memory', 'keystone'])
def source(request, market_service):
    if request.param == 'memory':
        return StaticDirectory({}, {}, projects=dict(PROJECTS))
    return keystone(market_service.url)


def test_a_project_is_found_by_its_id_or_its_name(source):
    """What nobody has is nothing; a name may have what an address may not."""
    assert source.project(ALICE, '') == source.project('astronomy', DOMAIN) == ALICE
    assert source.project('astronmy', DOMAIN) is None
    assert source.project('the dome, east/west?', DOMAIN) is None


@pytest.mark.parametrize('domain', ['', 'people'])
def test_a_name_counts_in_the_domain_that_is_meant(source, domain):
    """Not in another one, and not without one; an id counts everywhere."""
    assert source.project('astronomy', domain) is None
    assert source.project(ALICE, domain) == ALICE


def test_a_domain_is_no_project(source):
    """Keystone shows it as one, by its id."""
    assert source.project('default', DOMAIN) is None


def test_who_may_not_read_projects_learns_nothing(market_service):
    """A refusal of Keystone is no missing project."""
    with pytest.raises(CloudUnavailable):
        keystone(market_service.url, 'alice').project('biology', DOMAIN)


def test_a_keystone_that_is_down_is_no_missing_project():
    """Nobody listens there."""
    with pytest.raises(CloudUnavailable):
        keystone('http://127.0.0.1:9').project(ALICE, DOMAIN)
