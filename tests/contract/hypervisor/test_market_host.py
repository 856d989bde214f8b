# SPDX-License-Identifier: Apache-2.0
"""An agent that follows the market does on real guests what it does in memory."""

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.state_file import JsonFile
from nova_market.adapters.transport.local import LocalHub, LocalTransport
from nova_market.core.exchange.received_allocations import EffectiveAllocations
from nova_market.core.fairness.round import FairnessSettings
from nova_market.core.market.inventory import Allocation
from nova_market.services.fairness.agent import Agent
from nova_market.services.fairness.originals import OriginalValues
from tests.support.exchange.exchanges import Roll, put_together
from tests.support.hypervisor.worlds import MIB, World, uuid_of


class Grants:
    """ports.Allocations that a test writes."""

    def __init__(self):
        self.granted = EffectiveAllocations()
        self.confirmed = ()

    def grant(self, period, **cores):
        self.granted = EffectiveAllocations(
            engine='engine1',
            period=period,
            strength=1.0,
            allocations={
                uuid_of(int(number.removeprefix('n'))): Allocation(
                    server_id=uuid_of(int(number.removeprefix('n'))), cores=n, memory_mib=100.0
                )
                for number, n in cores.items()
            },
        )

    def look(self):
        return self.granted

    def confirm(self, granted, servers, heaviness, enforced=None, use=None):
        self.confirmed, self.enforced = tuple(servers), enforced


@pytest.fixture
def grants():
    return Grants()


@pytest.fixture
def agent(world: World, grants: Grants, tmp_path):
    clock = ManualClock()
    exchange = put_together(
        'broadcast',
        host='a',
        metric='greediness',
        ttl=30.0,
        clock=clock,
        transport=LocalTransport(host='a', hub=LocalHub()),
        membership=Roll('a'),
    )
    made = Agent(
        host='a',
        driver=world.driver,
        actuators=list(world.actuators.values()),
        controls=('cpu', 'memory'),
        exchange=exchange,
        settings=FairnessSettings(resources=('cpu',), policy='market'),
        originals=OriginalValues(JsonFile(str(tmp_path / 'originals.json')), 'boot'),
        clock=clock,
        market=grants,
    )
    made.start()
    yield made
    made.stop()


def cpu(world):
    guests = [item.guest for item in world.driver.sample().guests]
    found = world.actuators['cpu'].read(guests)
    unit = world.actuators['cpu'].limits.default
    return [found[guest.id].value / unit for guest in guests]


def test_cores_become_weights_and_are_confirmed(world: World, grants: Grants, agent: Agent):
    world.start(1), world.start(2)
    grants.grant(1, n1=0.75, n2=0.25)
    agent.round()
    assert cpu(world) == pytest.approx([0.75, 0.25], abs=0.01)
    assert set(grants.confirmed) == {uuid_of(1), uuid_of(2)}


def test_memory_is_spared_as_far_as_it_is_allocated(world: World, grants: Grants, agent: Agent):
    """Where memory cannot be controlled the reason is shown, and the CPU counts."""
    world.start(1)
    grants.grant(1, n1=0.5)
    record = agent.round()
    guests = [item.guest for item in world.driver.sample().guests]
    control = world.actuators['memory'].read(guests)[uuid_of(1)]
    if control.controllable:
        assert control.value == 100 * MIB
    else:
        assert record.found['memory'][uuid_of(1)].reason
    assert grants.confirmed == (uuid_of(1),)


def test_a_guest_that_has_gone_is_not_confirmed(world: World, grants: Grants, agent: Agent):
    world.start(1), world.start(2)
    grants.grant(1, n1=0.5, n2=0.5)
    world.destroy(2)
    agent.round()
    assert grants.confirmed == (uuid_of(1),)


def test_a_guest_that_is_started_anew(world: World, grants: Grants, agent: Agent):
    """A hard reboot brings Nova's weight back; the next round sets what is allocated."""
    world.start(1)
    grants.grant(1, n1=0.5)
    agent.round()
    world.restart(1)
    assert cpu(world) == [1.0]
    agent.round()
    assert cpu(world) == pytest.approx([0.5], abs=0.01)


def test_nothing_allocated_is_the_least_weight(world: World, grants: Grants, agent: Agent):
    world.start(1)
    grants.grant(1, n1=0.0)
    agent.round()
    limits = world.actuators['cpu'].limits
    assert cpu(world) == [limits.minimum / limits.default]
    assert grants.confirmed == (uuid_of(1),)


def test_originals_come_back(world: World, grants: Grants, agent: Agent):
    world.start(1)
    grants.grant(1, n1=0.5)
    agent.round()
    agent.restore()
    assert cpu(world) == [1.0]


def test_a_host_states_what_it_enforces(world: World, grants: Grants, agent: Agent):
    """B5: also when nobody is on it; memory only where its control acts."""
    grants.grant(1)
    agent.round()
    assert (grants.confirmed, grants.enforced) == ((), ('cpu', 'memory'))
    world.start(1)
    grants.grant(2, n1=0.5)
    agent.round()
    guests = [item.guest for item in world.driver.sample().guests]
    memory = world.actuators['memory'].read(guests)[uuid_of(1)].controllable
    assert grants.confirmed == (uuid_of(1),)
    assert grants.enforced == (('cpu', 'memory') if memory else ('cpu',))
