# SPDX-License-Identifier: Apache-2.0
"""W3: a host on its way down and up, whatever happens meanwhile and wherever it is interrupted."""

from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.power.host_step import (
    CHANGING,
    REASON,
    Action,
    HostSeen,
    HostState,
    Order,
    Phase,
    PowerState,
    StepSettings,
    host_steps,
)
from tests.support.power_world import EVENTS, SETTINGS, TICK, PowerWorld

LONG = int(1.5 * SETTINGS.drain / TICK)

# most ticks are quiet, so that whole sequences happen
events = st.one_of(st.just('nothing'), st.just('nothing'), st.sampled_from(EVENTS))
orders = st.one_of(st.just(Order.NONE), st.sampled_from(Order))
ticks = st.lists(st.tuples(events, orders, st.integers(1, 8)), max_size=40)


def lived(moments):
    """A world after these moments; the world itself asserts that nothing in use is switched off."""
    world = PowerWorld()
    for event, order, quiet in moments:
        world.tick(event, order)
        for _ in range(quiet - 1):
            world.tick('nothing', Order.NONE)
    return world


@given(ticks)
def test_nothing_in_use_and_nothing_of_others_is_touched(moments):
    """Never off with a server on it or on its way, never a host that somebody else disabled."""
    lived(moments)


@given(ticks)
def test_every_interrupted_sequence_comes_to_rest(moments):
    """Left alone, a host is off, in service, somebody else's, or has failed and is reported."""
    world = lived(moments)
    for _ in range(LONG):
        world.tick('nothing', Order.NONE)
    assert world.at_rest, world
    if world.stored.phase is Phase.FAILED:
        assert world.broken or not world.up


@given(ticks)
def test_what_was_stored_may_be_lost(moments):
    """A host that is disabled with our reason comes back, though nothing is known of it."""
    world = lived(moments)
    world.stored, world.broken = HostState(), False
    for _ in range(LONG):
        world.tick('nothing', Order.NONE)
    assert world.at_rest
    assert world.reason != REASON or world.stored.phase is Phase.FAILED


@given(ticks)
def test_a_host_does_not_flap(moments):
    """Between its return and its next way down there is `least_off`."""
    back = float('-inf')
    for now, _, why in lived([(e, Order.DOWN, n) for e, _, n in moments]).log:
        if why == 'disabled: it is to be powered down':
            assert now - back >= SETTINGS.least_off
        elif why == 'back in service' or why.startswith(('left alone', 'stays on')):
            back = now


@given(ticks)
def test_woken_hosts_serve_again(moments):
    """An order to wake that is repeated brings back every host that is ours and can boot."""
    world = lived(moments)
    world.tick('repaired', Order.WAKE)
    if world.stored.phase is Phase.FAILED or (not world.enabled and world.reason != REASON):
        return
    if world.on and not world.up and world.up_from == float('inf'):
        return  # it hangs in a boot that began while it was broken
    if world.stored.phase is Phase.SERVING and (not world.on or world.goes_off < float('inf')):
        return  # somebody disabled it while it was down, and enabled it as it was
    for _ in range(LONG):
        world.tick('nothing', Order.WAKE)
    assert world.stored.phase is Phase.SERVING and world.enabled and world.up


seen_hosts = st.builds(
    HostSeen,
    enabled=st.booleans(),
    reason=st.sampled_from(['', REASON, 'maintenance']),
    up=st.booleans(),
    servers=st.one_of(st.none(), st.integers(0, 2)),
    power=st.sampled_from(PowerState),
)
states = st.builds(
    HostState,
    phase=st.sampled_from(Phase),
    since=st.floats(0, 1e4),
    acted=st.floats(0, 1e4),
    empty=st.one_of(st.just(float('inf')), st.floats(0, 1e4)),
    held=st.booleans(),
)
worlds = st.dictionaries(st.sampled_from('abcdef'), st.tuples(states, seen_hosts))


@given(worlds, st.permutations('abcdef'), st.integers(1, 3), st.floats(1e4, 2e4))
def test_few_change_at_once_from_any_state(hosts, order, at_most, now):
    """However many are ordered down, no more begin than `at_most` leaves; any state has a next step."""
    stored = {name: one[0] for name, one in hosts.items()}
    seen = {name: one[1] for name, one in hosts.items()}
    chosen = StepSettings(at_most=at_most)
    found = host_steps(stored, seen, [(name, Order.DOWN) for name in order], now, chosen)
    assert set(found) == set(seen)
    began = [
        name for name, step in found.items()
        if stored[name].phase is Phase.SERVING and step.state.phase is Phase.LEAVING
    ]  # fmt: skip
    before = {name for name, state in stored.items() if state.phase in CHANGING}
    ended = {name for name in before if found[name].state.phase not in CHANGING}
    assert len(began) <= max(0, at_most - len(before) + len(ended))
    for name, step in found.items():
        if step.action in {Action.POWER_OFF, Action.FORCE_OFF}:
            assert seen[name].ours and seen[name].servers == 0
        if seen[name].others:
            assert step.action is Action.NOTHING
