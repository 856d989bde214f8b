# SPDX-License-Identifier: Apache-2.0
"""The plug-in under Tempest itself, on the real API beside a small Keystone and Nova."""

import re
from pathlib import Path

import pytest
from oslo_config import cfg
from tempest.lib import auth, exceptions
from tempest.test_discover import plugins

from nova_market.tempest_plugin.config import AVAILABLE, GROUPS
from nova_market.tempest_plugin.market_client import MarketClient
from nova_market.tempest_plugin.plugin import NovaMarketTempestPlugin
from tests.support.market.api import ALICE, OF_ALICE
from tests.support.market.api_server import PASSWORD, PEOPLE, MarketService
from tests.support.market.rounds import add_round
from tests.support.tempest_run import run_tempest

pytestmark = [pytest.mark.functional, pytest.mark.clock]


def client(service: MarketService, name: str) -> MarketClient:
    """The plug-in's client with a token that Tempest has got for a person."""
    person = PEOPLE[name]
    credentials = auth.KeystoneV3Credentials(
        username=person.name,
        password=PASSWORD,
        project_name=person.project,
        user_domain_id=person.domain,
        project_domain_name='Default',
    )
    provider = auth.KeystoneV3AuthProvider(credentials, f'{service.url}/identity/v3')
    return MarketClient(provider, 'market', 'RegionOne')


def test_bids(market_service):
    """What is set is shown to its owner alone; what is deleted is not found."""
    alice, bob = client(market_service, 'alice'), client(market_service, 'bob')
    assert alice.set_bid(OF_ALICE, cpu=3, memory=2)['cpu'] == 3
    assert alice.show_bid(OF_ALICE)['memory'] == 2
    with pytest.raises(exceptions.NotFound):
        bob.show_bid(OF_ALICE)
    with pytest.raises(exceptions.BadRequest):
        alice.set_bid(OF_ALICE, cpu=-1, memory=0)
    alice.delete_bid(OF_ALICE)
    with pytest.raises(exceptions.NotFound):
        alice.show_bid(OF_ALICE)


def test_what_a_round_has_left(market_service):
    """Prices, allocations, heaviness and hosts; before the first round they are empty."""
    alice, root = client(market_service, 'alice'), client(market_service, 'root')
    assert (alice.list_prices(), alice.list_heaviness(), root.list_hosts()) == ([], [], [])
    add_round(market_service.market)
    assert {one['resource'] for one in alice.list_prices()} == {'cpu', 'memory'}
    assert [one['server_id'] for one in alice.list_server_allocations(OF_ALICE)] == [OF_ALICE]
    assert [one['project_id'] for one in alice.list_heaviness()] == [ALICE]
    assert {'name', 'answering', 'capacity'} <= root.list_hosts()[0].keys()
    with pytest.raises(exceptions.Forbidden):
        alice.list_hosts()


def under_tempest(service: MarketService, directory: Path, *, available: bool) -> dict[str, int]:
    """On a cloud that has Keystone and, if it is available, the market."""
    accounts = [
        {
            'username': person.name,
            'password': PASSWORD,
            'project_name': person.project,
            'user_domain_name': person.domain.capitalize(),
            'project_domain_name': 'Default',
            'roles': [person.role],
        }
        for person in PEOPLE.values()
    ]
    options = {
        'identity': {'uri_v3': f'{service.url}/identity/v3'},
        'service_available': {'nova_market': available},
    }
    return run_tempest(directory, accounts, options)


def test_tempest_finds_configures_and_runs_it(market_service, tmp_path):
    """By the entry point. What the cloud does not have is skipped, by the options that say so."""
    counts = under_tempest(market_service, tmp_path, available=True)
    assert counts == {'Passed': 1, 'Skipped': 4, 'Failed': 0}
    assert 'GET /market/v1/prices' in market_service.requests


def test_a_cloud_without_a_market_is_left_alone(market_service, tmp_path):
    """Tempest loads every plug-in that is installed; without the option none of its tests runs."""
    counts = under_tempest(market_service, tmp_path, available=False)
    assert counts == {'Passed': 0, 'Skipped': 5, 'Failed': 0}
    assert market_service.requests == []


def test_options_are_registered_and_listed():
    """For tempest.conf and for its sample; every test has an id of its own."""
    plugin = NovaMarketTempestPlugin()
    conf = cfg.ConfigOpts()
    conf.register_group(cfg.OptGroup('service_available'))
    plugin.register_opts(conf)
    conf([], default_config_files=[])
    assert conf.service_available.nova_market is False
    assert conf.market.catalog_type == 'market'
    assert conf['market-feature-enabled'].rounds is False
    listed = dict(plugin.get_opt_lists())
    assert listed == {'service_available': [AVAILABLE], **{g.name: o for g, o in GROUPS}}
    directory, top = plugin.load_tests()
    ids = [
        one
        for path in Path(directory).glob('test_*.py')
        for one in re.findall(r"idempotent_id\('([0-9a-f-]{36})'\)", path.read_text())
    ]
    assert len(ids) == len(set(ids)) == 6
    assert Path(top, 'nova_market/tempest_plugin/plugin.py').exists()


def test_tempest_has_the_entry_point():
    """As installed, so `tempest list-plugins` names it."""
    manager = plugins.TempestTestPluginManager()
    assert 'nova_market' in {one.name for one in manager.ext_plugins}
