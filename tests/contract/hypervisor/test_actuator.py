# SPDX-License-Identifier: Apache-2.0
"""What ports.Actuator promises, of the host in memory and of real guests."""

from collections.abc import Callable

import pytest

from nova_market.core.host.sample import CONTROLS, Guest
from nova_market.errors import HostUnavailable
from tests.contract.hypervisor.conftest import REAL
from tests.support.hypervisor.worlds import World, uuid_of

CHANGED = {'cpu': 300, 'memory': 64 << 20, 'disk': 300, 'network': 300}


@pytest.fixture(params=['cpu', 'memory', 'disk'])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def guests(world: World) -> list[Guest]:
    return [item.guest for item in world.driver.sample().guests]


def test_names_and_limits(world: World):
    for name, actuator in world.actuators.items():
        assert actuator.name == name
        assert name in CONTROLS
        limits = actuator.limits
        assert limits.minimum <= limits.default <= limits.maximum


def test_a_new_guest_has_the_default_or_a_reason(world: World, name: str):
    world.start(1)
    actuator = world.actuators[name]
    (control,) = actuator.read(guests(world)).values()
    assert control.value == actuator.limits.default if control.controllable else control.reason


@pytest.mark.parametrize('name', ['cpu', 'memory'])
def test_what_is_written_is_read_and_can_be_taken_back(world: World, name: str):
    world.start(1)
    world.start(2)
    actuator, present = world.actuators[name], guests(world)
    default = actuator.limits.default
    assert actuator.write({uuid_of(1): CHANGED[name]}, present) == {uuid_of(1): ''}
    values = {guest: control.value for guest, control in actuator.read(present).items()}
    assert values == {uuid_of(1): CHANGED[name], uuid_of(2): default}
    assert actuator.write({uuid_of(1): default}, present) == {uuid_of(1): ''}
    assert actuator.read(present)[uuid_of(1)].value == default


@pytest.mark.parametrize('end', ['minimum', 'maximum'])
@pytest.mark.parametrize('name', ['cpu', 'memory'])
def test_both_ends_of_the_range_are_legal(world: World, name: str, end: str):
    world.start(1)
    actuator, present = world.actuators[name], guests(world)
    value = getattr(actuator.limits, end)
    assert actuator.write({uuid_of(1): value}, present) == {uuid_of(1): ''}
    assert actuator.read(present)[uuid_of(1)].value == value


@pytest.mark.parametrize('name', ['cpu', 'memory'])
def test_a_value_out_of_range_is_refused_by_name_and_changes_nothing(world: World, name: str):
    world.start(1)
    actuator, present = world.actuators[name], guests(world)
    before = actuator.read(present)
    for value in (actuator.limits.minimum - 1, actuator.limits.maximum + 1):
        assert str(value) in actuator.write({uuid_of(1): value}, present)[uuid_of(1)]
    assert actuator.read(present) == before


def test_a_guest_destroyed_between_sample_and_write_is_a_value(world: World, name: str):
    world.start(1)
    world.start(2)
    present = guests(world)
    world.destroy(1)
    actuator = world.actuators[name]
    written = actuator.write(dict.fromkeys((uuid_of(1), uuid_of(2)), CHANGED[name]), present)
    assert written[uuid_of(1)] == 'gone'
    assert written[uuid_of(2)] != 'gone'
    assert set(actuator.read(present)) == {uuid_of(2)}


@pytest.mark.parametrize('name', ['cpu', 'memory'])
def test_what_was_meant_for_an_earlier_incarnation_does_not_reach_the_next(world: World, name: str):
    world.start(1)
    actuator, present = world.actuators[name], guests(world)
    actuator.read(present)
    world.restart(1)
    assert actuator.write({uuid_of(1): CHANGED[name]}, present) == {uuid_of(1): 'gone'}
    assert actuator.read(guests(world))[uuid_of(1)].value == actuator.limits.default


def test_a_guest_nobody_knows_is_gone(world: World, name: str):
    assert world.actuators[name].write({uuid_of(9): CHANGED[name]}, []) == {uuid_of(9): 'gone'}
    assert world.actuators[name].read([]) == {}


@pytest.mark.parametrize('name', ['cpu', 'memory'])
def test_a_restarted_guest_has_its_default_again(world: World, name: str):
    world.start(1)
    actuator = world.actuators[name]
    actuator.write({uuid_of(1): CHANGED[name]}, guests(world))
    world.restart(1)
    assert actuator.read(guests(world))[uuid_of(1)].value == actuator.limits.default


@pytest.mark.parametrize(
    'world',
    ['memory', pytest.param('libvirt', marks=[*REAL, pytest.mark.alone, pytest.mark.measured])],
    indirect=True,
)
def test_weights_divide_a_core_that_two_guests_want(
    world: World, record_property: Callable[[str, object], None]
):
    for number in (1, 2):
        world.start(number, 'burn')
    world.let_pass(4.0)  # firmware
    present = guests(world)
    cpu = world.actuators['cpu']
    default = cpu.limits.default
    assert set(cpu.write({uuid_of(1): default, uuid_of(2): 3 * default}, present).values()) == {''}
    used = []
    before = world.driver.sample()
    world.let_pass(6.0)
    after = world.driver.sample()
    for old, new in zip(before.guests, after.guests, strict=True):
        used.append(new.counters.cpu_time_ns - old.counters.cpu_time_ns)
    record_property('share', used[1] / sum(used))
    assert used[1] / sum(used) == pytest.approx(0.75, abs=0.05)


def test_a_lost_hypervisor_is_unavailable_for_writes(world: World):
    world.start(1)
    present = guests(world)
    world.lose_hypervisor()
    with pytest.raises(HostUnavailable):
        world.actuators['cpu'].write({uuid_of(1): 300}, present)
    world.bring_back_hypervisor()
    assert world.actuators['cpu'].write({uuid_of(1): 300}, guests(world)) == {uuid_of(1): ''}
