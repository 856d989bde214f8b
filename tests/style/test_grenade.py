# SPDX-License-Identifier: Apache-2.0
"""The plug-in of Grenade keeps Grenade's contract, with its functions recorded instead of run."""

import pytest

from tests.support.devstack.node import named
from tests.support.devstack.upgrade import Upgrade
from tests.support.documentation.sessions import ROOT

pytestmark = pytest.mark.clock

MARKET = (
    'nova-market-api',
    'nova-market-engine',
    'nova-market-controller',
    'nova-market-jobs',
    'nova-market-leases',
    'nova-market-notices',
)
SIDES = Upgrade(services=' '.join(('mysql', 'n-api', 'n-cpu', *MARKET)))
CONF = '/etc/nova_market/nova_market.conf'


def test_both_sides_have_the_market() -> None:
    """The project and its database are registered; both sides get the plug-in and its services."""
    calls = SIDES.settings()
    assert ('register_project_for_upgrade', 'nova-market') in calls
    assert ('register_db_to_save', 'nova_market') in calls
    url = 'https://example.org/nova-market.git'
    for side in ('base', 'target'):
        own = [call[2:] for call in named(calls, 'devstack_localrc') if call[1] == side]
        assert ('enable_plugin', 'nova-market', url, 'main') in own
        assert ('NOVA_FAIRNESS_POLICY=combined',) in own
        assert {*MARKET} == {*next(words for words in own if words[0] == 'enable_service')[1:]}


def test_shutdown_stops_everything_and_waits() -> None:
    """Every service that the plug-in starts."""
    calls = SIDES.run('shutdown.sh')
    everything = {*MARKET, 'nova-fairness'}
    assert {call[1] for call in named(calls, 'stop_process')} == everything
    assert calls[-1][0] == 'ensure_services_stopped'
    assert {*calls[-1][1:]} == everything


def test_upgrade_migrates_before_it_starts() -> None:
    """New package, steps of the release, tables, check, services; the old configuration is saved and kept.

    The package is the tree that Grenade has fetched: nobody else fetches one for the new side. What stack.sh
    alone defines is not defined.
    """
    calls = SIDES.run('upgrade.sh')
    assert named(calls, 'setup_develop')[0][1] == str(ROOT)
    assert ('wait_for_service', '60', 'http://192.0.2.1/market') in calls
    places = [
        next(place for place, call in enumerate(calls) if call[: len(words)] == words)
        for words in (
            ('setup_develop',),
            ('upgrade_project', 'nova-market'),
            ('nova-market-manage', '--config-file', CONF, 'db', 'sync'),
            ('nova-market-status', '--config-file', CONF, 'upgrade', 'check'),
            ('run_process', 'nova-fairness'),
            ('run_process', 'nova-market-api'),
            ('wait_for_service',),
            ('ensure_services_started', *MARKET),
        )
    ]
    assert places == sorted(places)
    assert not named(calls, 'recreate_database')
    assert not named(calls, 'iniset')
