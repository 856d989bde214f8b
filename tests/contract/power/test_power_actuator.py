# SPDX-License-Identifier: Apache-2.0
"""What every ports.PowerActuator promises: a real program, the emulator of sushy-tools, Ironic over HTTP."""

import threading

import pytest

from nova_market.core.power.host_step import PowerState
from nova_market.errors import PowerRefused

pytestmark = [pytest.mark.functional, pytest.mark.clock]

HOST = 'compute-1'


def becomes(actuator, host, wanted, tries=100):
    """Orders take effect after a while; a host that is on its way is UNKNOWN, or still what it was."""
    pause = threading.Event()
    for _ in range(tries):
        if actuator.state(host) is wanted:
            return True
        pause.wait(0.1)
    return False


@pytest.mark.parametrize('force', [False, True], ids=['gracefully', 'by force'])
def test_a_host_goes_off_and_on(actuator, force):
    """What was ordered is seen; an actuator that does not act sees nothing."""
    expected = (PowerState.OFF, PowerState.ON) if actuator.acts else (PowerState.UNKNOWN,) * 2
    actuator.power_off(HOST, force=force)
    assert becomes(actuator, HOST, expected[0])
    actuator.power_on(HOST)
    assert becomes(actuator, HOST, expected[1])


def test_an_order_that_is_given_again_changes_nothing(actuator):
    """As after a restart of the service in between."""
    for _ in range(2):
        actuator.power_on(HOST)
    assert becomes(actuator, HOST, PowerState.ON if actuator.acts else PowerState.UNKNOWN)
    actuator.power_off(HOST)
    assert becomes(actuator, HOST, PowerState.OFF if actuator.acts else PowerState.UNKNOWN)
    actuator.power_off(HOST)
    actuator.power_off(HOST, force=True)
    assert becomes(actuator, HOST, PowerState.OFF if actuator.acts else PowerState.UNKNOWN)
    actuator.power_on(HOST)
    assert becomes(actuator, HOST, PowerState.ON if actuator.acts else PowerState.UNKNOWN)


def test_other_hosts_stay_as_they_are(actuator):
    """An order is for one host."""
    before = actuator.state('compute-2')
    actuator.power_off(HOST)
    assert becomes(actuator, HOST, PowerState.OFF if actuator.acts else PowerState.UNKNOWN)
    assert actuator.state('compute-2') is before
    actuator.power_on(HOST)
    assert becomes(actuator, HOST, PowerState.ON if actuator.acts else PowerState.UNKNOWN)


def test_a_host_that_is_not_known_is_refused(actuator):
    """Whatever is asked of it; the message names it."""
    if not actuator.acts:
        pytest.xfail('none knows no hosts')
    for ask in (actuator.state, actuator.power_on, actuator.power_off):
        with pytest.raises(PowerRefused, match='compute-9'):
            ask('compute-9')
