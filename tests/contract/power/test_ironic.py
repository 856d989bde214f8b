# SPDX-License-Identifier: Apache-2.0
"""The actuator `ironic`: nodes by name, maintenance, locks and an Ironic that is away."""

import pytest

from nova_market.core.power.host_step import PowerState
from nova_market.errors import ConfigurationError, PowerRefused, PowerUnavailable
from nova_market.wiring.power import power_actuator

pytestmark = pytest.mark.functional

HOST = 'compute-1.example.org'


@pytest.fixture
def actuator(ironic, configured, account):
    return power_actuator(account(configured(actuator='ironic', ironic_node='{short}'), ironic.url))


def test_a_host_is_shut_down_and_forced_off(actuator, ironic):
    """By the order that Ironic has for each; the node is found by the short name."""
    actuator.power_off(HOST)
    actuator.power_on(HOST)
    actuator.power_off(HOST, force=True)
    orders = ['soft power off', 'power on', 'power off']
    assert ironic.orders == [('compute-1', one) for one in orders]


def test_a_node_on_its_way_is_unknown(actuator, ironic):
    """Until Ironic has done what was ordered, and where it knows no state."""
    actuator.power_off(HOST)
    ironic.nodes['compute-1']['target_power_state'] = 'power off'
    assert actuator.state(HOST) is PowerState.UNKNOWN
    assert actuator.state(HOST) is PowerState.OFF
    for state in (None, 'error'):
        ironic.nodes['compute-1']['power_state'] = state
        assert actuator.state(HOST) is PowerState.UNKNOWN


def test_a_node_in_maintenance_is_not_switched(actuator, ironic):
    """Somebody works on it; its state is seen all the same."""
    ironic.nodes['compute-1']['maintenance'] = True
    assert actuator.state(HOST) is PowerState.ON
    with pytest.raises(PowerRefused, match=r'compute-1 is in maintenance; .*maintenance unset'):
        actuator.power_off(HOST, force=True)
    assert ironic.orders == []


@pytest.mark.parametrize(
    ('status', 'kind', 'why'),
    [
        (409, PowerUnavailable, 'is locked by another order'),
        (503, PowerUnavailable, 'compute-1.example.org: node compute-1 of Ironic'),
        (500, PowerUnavailable, 'broken'),
        (403, PowerRefused, 'compute-1'),
        (404, PowerRefused, r'there is none; check \[power\]ironic_node = {short}'),
    ],
)
def test_an_ironic_that_refuses_or_is_away(actuator, ironic, status, kind, why):
    """Asked once: openstacksdk's own tries would hold up the other hosts."""
    ironic.broken = status
    with pytest.raises(kind, match=why):
        actuator.power_on(HOST)
    assert ironic.asked == 1


def test_a_name_that_is_the_same_for_all_hosts(configured, account):
    """It would switch one node for all of them."""
    conf = account(configured(actuator='ironic', ironic_node='node-1'), 'http://127.0.0.1:1')
    with pytest.raises(ConfigurationError, match='node-1: give the name of a node with'):
        power_actuator(conf)


def test_an_account_is_needed(configured):
    """The option is named."""
    with pytest.raises(ConfigurationError, match=r'\[openstack\]auth_type is not set'):
        power_actuator(configured(actuator='ironic'))


def test_nobody_answers(configured, account):
    """Unavailable; the host is named."""
    conf = account(configured(actuator='ironic'), 'http://127.0.0.1:1')
    with pytest.raises(PowerUnavailable, match='compute-1'):
        power_actuator(conf).state('compute-1')


def test_an_actuator_that_is_none(configured):
    """The option, the value, and what there is."""
    with pytest.raises(
        ConfigurationError, match=r'ipmi: no such plug-in .*ironic, none, redfish, scri'
    ):
        power_actuator(configured(actuator='ipmi'))
