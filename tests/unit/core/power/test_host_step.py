# SPDX-License-Identifier: Apache-2.0
"""W3: the steps of one host, by example."""

from itertools import groupby

import pytest

from nova_market.core.power.host_step import (
    POWER,
    REASON,
    Action,
    HostSeen,
    HostState,
    Order,
    Phase,
    PowerState,
    StepSettings,
    host_step,
    host_steps,
)
from nova_market.errors import BadPower
from tests.support.power_world import PowerWorld

READY = HostSeen(enabled=True, reason='', up=True, servers=0, power=PowerState.ON)


def done(world):
    """The actions that were done, one that was done again counted once."""
    acted = [action.value for _, action, _ in world.log if action is not Action.NOTHING]
    return [action for action, _ in groupby(acted)]


def run(world, ticks, event='nothing', order=Order.NONE):
    for _ in range(ticks):
        world.tick(event, order)
    return world


def test_down_and_up_again():
    """Disabled, empty for a minute, off; on, enabled when its compute service is up."""
    world = run(PowerWorld(), 1, order=Order.DOWN)
    assert world.stored.phase is Phase.LEAVING and world.reason == REASON
    run(world, 10)
    assert world.stored.phase is Phase.OFF and not world.on
    assert done(world) == ['disable', 'power_off']
    run(world, 1, order=Order.WAKE)
    run(world, 10)
    assert world.stored.phase is Phase.SERVING and world.enabled and world.up
    assert done(world) == ['disable', 'power_off', 'power_on', 'enable']


def test_a_server_that_comes_late_keeps_it_on():
    """It was scheduled before the host was disabled; the host is enabled again after `drain`."""
    world = PowerWorld(arriving=False)
    run(world, 1, 'late server', Order.DOWN)
    run(world, 100)
    assert world.on and world.servers == 1 and world.stored.phase is Phase.LEAVING
    run(world, 30)
    assert world.stored.phase is Phase.SERVING and done(world) == ['disable', 'enable']


def test_a_host_that_ignores_its_shutdown_is_forced():
    """After `off_within`; not before."""
    world = run(PowerWorld(), 1, 'ignores shutdown', Order.DOWN)
    run(world, 9)
    assert 'force_off' not in done(world)
    run(world, 15)
    assert world.stored.phase is Phase.OFF and 'force_off' in done(world)


def test_a_host_that_does_not_wake_is_reported_and_planned_around():
    """Ordered on again and again until `wake_within`, then FAILED; it serves when it comes after all."""
    world = run(PowerWorld(), 1, 'breaks', Order.DOWN)
    run(world, 10)
    run(world, 1, order=Order.WAKE)
    run(world, 40)
    assert world.stored.phase is Phase.FAILED
    (why,) = [why for _, _, why in world.log if 'has not woken' in why]
    assert 'Look at its console' in why
    world.up_from = world.now
    run(world, 2)
    assert world.stored.phase is Phase.SERVING and world.enabled


def test_a_host_called_back_while_it_goes_down_takes_no_server_before_it_was_off():
    """Its order to shut down may still take effect."""
    world = run(PowerWorld(), 5, order=Order.DOWN)
    assert world.stored.phase is Phase.STOPPING and world.on
    run(world, 1, order=Order.WAKE)
    assert world.stored.phase is Phase.WAKING and not world.enabled
    run(world, 12)
    assert done(world)[-2:] == ['power_on', 'enable'] and world.stored.phase is Phase.SERVING


def test_a_host_that_is_off_is_woken_for_a_server_on_it():
    """Somebody has forced it there, or evacuated it to this host: it must not wait for other needs."""
    world = run(PowerWorld(), 10, order=Order.DOWN)
    assert world.stored.phase is Phase.OFF
    world.servers = 1
    run(world, 1)
    assert world.stored.phase is Phase.WAKING and world.log[-1][2] == 'woken: 1 servers are there'
    run(world, 10)
    assert world.stored.phase is Phase.SERVING and world.enabled


@pytest.mark.parametrize('phase', list(Phase))
def test_a_host_that_somebody_else_disabled_is_left_alone(phase):
    """Whatever was under way; this is reported once."""
    seen = HostSeen(
        enabled=False, reason='memory is replaced', up=True, servers=0, power=PowerState.ON
    )
    step = host_step(HostState(phase=phase), seen, Order.DOWN, 1e6, StepSettings())
    assert step.action is Action.NOTHING and step.state.phase is Phase.SERVING
    assert bool(step.why) == (phase is not Phase.SERVING)


@pytest.mark.parametrize(
    'changed',
    [{'servers': 1}, {'servers': None}, {'up': False}, {'power': PowerState.UNKNOWN}],
    ids=str,
)
def test_a_host_that_is_not_ready_stays(changed):
    """It has a server, or something of it is not known."""
    seen = {'enabled': True, 'reason': '', 'up': True, 'servers': 0, 'power': PowerState.ON}
    step = host_step(HostState(), HostSeen(**(seen | changed)), Order.DOWN, 1e6, StepSettings())
    assert (step.action, step.state) == (Action.NOTHING, HostState())


def test_no_more_than_so_many_at_once():
    """The first in the order of the plan; hosts that are not seen have no step."""
    seen = dict.fromkeys('abc', READY)
    orders = [('c', Order.DOWN), ('a', Order.DOWN), ('b', Order.DOWN), ('z', Order.DOWN)]
    found = host_steps({}, seen, orders, 1e6, StepSettings(at_most=2))
    assert [name for name, one in found.items() if one.action is Action.DISABLE] == ['c', 'a']
    assert sorted(found) == ['a', 'b', 'c']


def test_every_phase_is_a_state_of_the_plan():
    assert set(POWER) == set(Phase)


@pytest.mark.parametrize(
    ('name', 'value', 'why'),
    [
        ('settle', -1, 'settle is -1 s: give 0 or more'),
        ('drain', float('nan'), 'drain is nan s'),
        ('at_most', 0, 'give 1 or more'),
        ('wake_within', 600, 'more than twice off_within'),
    ],
)
def test_settings_out_of_their_limits(name, value, why):
    """The value and what to give."""
    with pytest.raises(BadPower, match=why):
        StepSettings(**{name: value})
