# SPDX-License-Identifier: Apache-2.0
"""What peers, disks and hypervisors may do to an agent: it recovers, and forgets no original."""

import dataclasses
import errno

import numpy as np
import pytest

from nova_market.adapters.in_memory.host import Demand, InMemoryHost, steady
from nova_market.adapters.state_file import JsonFile
from nova_market.adapters.transport.local import LocalTransport
from nova_market.adapters.transport.wire_format import FORMATS
from nova_market.core.exchange.report_bounds import LISTED
from nova_market.core.fairness.heaviness import DominantResource, Greediness
from nova_market.core.fairness.round import FairnessSettings
from nova_market.services.fairness.originals import OriginalValues
from tests.support.host_builders import guest, report, supply
from tests.unit.services.fairness.test_agent import BUSY, CPU_ONLY, World


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    for name, owner in (('d1', 'd'), ('d2', 'd'), ('e1', 'e')):
        made.hosts['a'].add(guest(name, owner), BUSY)
    return made


@pytest.mark.parametrize(
    'lie',
    [
        {'supply': (1.0, 1.0, 5e-324, 0.0, 0.0, 0.0)},
        {'load': (1e24,) * 6, 'supply': (1e-300,) * 6},
        {'owners': {'d': (1e24,), 'e': (-1e24,)}},
        {'owners': {'d': (1.0, 2.0)}},
        {'virtual': (1e24,) * 6},
    ],
)
@pytest.mark.parametrize('metric', ['greediness', 'drf'])
def test_a_hostile_peer_is_forgotten_without_a_trace(tmp_path, lie, metric):
    """While it lies weights stay numbers within limits; afterwards they are what they were."""
    made = {'greediness': Greediness, 'drf': DominantResource}[metric]()
    settings = FairnessSettings(resources=('cpu', 'disk_read'), metric=made, metric_name=metric)
    world = World(tmp_path, settings=settings)
    for name, owner in (('d1', 'd'), ('d2', 'd'), ('e1', 'e')):
        world.hosts['a'].add(guest(name, owner), BUSY)
    before = world.rounds(60)[0]
    liar = LocalTransport(host='liar', hub=world.hub)
    liar.start(lambda sender, frame: None)
    word = dataclasses.replace(
        report('liar', supply=(1.0, 1.0, 0.0, 0.0, 0.0, 0.0), metric=metric), **lie
    )
    liar.broadcast(FORMATS['plain']().encode(word))
    poisoned = world.rounds(1)[0]
    assert poisoned.plan.totals.hosts == 2
    assert np.isfinite(poisoned.plan.weights).all()
    assert (poisoned.plan.wanted['cpu'] >= 2).all()
    after = world.rounds(60)[0]
    # two write thresholds: where a value comes to rest depends on where it came from
    np.testing.assert_allclose(after.plan.weights, before.plan.weights, rtol=0.1)


class Refusing:
    """A control of which one guest's state change lock cannot be had."""

    def __init__(self, actuator):
        self.actuator, self.name, self.refuses = actuator, actuator.name, False

    def __getattr__(self, name):
        return getattr(self.actuator, name)

    def write(self, values, guests):
        if not self.refuses:
            return self.actuator.write(values, guests)
        rest = {key: value for key, value in values.items() if key != 'e1'}
        return self.actuator.write(rest, guests) | {'e1': 'cannot acquire state change lock'}


def test_what_cannot_be_restored_is_kept_for_the_next_try(world):
    host = world.hosts['a']
    refusing = Refusing(host.actuators()[0])
    agent = world.agents['a'] = world.agent('a', actuators=[refusing])
    world.rounds(3)
    refusing.refuses = True
    assert agent.restore() == (2, 1)
    assert host.value('cpu', 'e1') != 1024
    refusing.refuses = False
    again = world.agent('a')
    assert again.restore() == (1, 0)
    assert host.value('cpu', 'e1') == 1024


def test_a_stop_tries_again_what_it_could_not_put_back(world):
    """A guest whose emulator answers another call would keep the least weight until the next start."""
    host = world.hosts['a']

    class Occupied(Refusing):
        """For two writes."""

        left = 2

        def write(self, values, guests):
            self.refuses, self.left = self.refuses and self.left > 0, self.left - 1
            return super().write(values, guests)

    occupied = Occupied(host.actuators()[0])
    agent = world.agents['a'] = world.agent('a', actuators=[occupied])
    world.rounds(3)
    assert host.value('cpu', 'e1') != 1024
    occupied.refuses, occupied.left = True, 2
    agent.stop()
    assert [host.value('cpu', name) for name in ('d1', 'd2', 'e1')] == [1024] * 3


def test_a_refused_write_is_not_counted_as_written(world):
    refusing = Refusing(world.hosts['a'].actuators()[0])
    refusing.refuses = True
    world.agents['a'] = world.agent('a', actuators=[refusing])
    record = world.rounds(1)[0]
    assert 'e1' in record.failed['cpu']
    assert 'e1' not in record.written['cpu']
    assert 'd1' in record.written['cpu']


class FullDisk(JsonFile):
    full = True

    def save(self, document):
        if self.full:
            raise OSError(errno.ENOSPC, 'No space left on device')
        super().save(document)


def test_nothing_is_written_before_originals_are_on_disk(world, tmp_path):
    """The disk is full at first: every round fails before a guest is touched, until it is not."""
    file = FullDisk(str(tmp_path / 'full.json'))
    host = world.hosts['a']
    world.agents['a'] = world.agent('a', originals=OriginalValues(file, 'boot'))
    for _ in range(2):
        with pytest.raises(OSError, match='No space left'):
            world.rounds(1)
        assert {host.value('cpu', name) for name in ('d1', 'd2', 'e1')} == {1024}
    file.full = False
    world.rounds(1)
    assert host.value('cpu', 'e1') != 1024
    assert len(OriginalValues(file, 'boot').entries) == 3


def test_a_peer_that_invents_owners_has_no_quotas_of_all_of_them_read(tmp_path):
    """Each is a request to Nova, and those of real owners would wait for them."""
    asked = []
    world = World(tmp_path, names=('a', 'b', 'c'))
    for name in 'abc':
        world.hosts[name].add(guest(f'of-{name}', f'own-{name}'), BUSY)
    world.agents['a'] = world.agent('a', quotas=lambda owners: asked.append(owners) or {})
    liar = LocalTransport(host='liar', hub=world.hub)
    liar.start(lambda sender, frame: None)
    invented = {f'0{number}': (0.0,) for number in range(5000)}
    liar.broadcast(FORMATS['plain']().encode(report('liar', owners=invented)))
    world.rounds(3)
    assert {'own-a', 'own-b', 'own-c'} < set(asked[-1])
    assert len(asked[-1]) == 3 + LISTED


def test_a_project_without_quota_runs_on(tmp_path):
    """Quota 0 freezes a project's growth; its guests then have little weight, not none."""
    settings = dataclasses.replace(CPU_ONLY, entitlement='quota')
    world = World(tmp_path, settings=settings)
    world.agents['a'] = world.agent('a', settings=settings, quotas=lambda owners: {'d': (0, 0)})
    world.hosts['a'].add(guest('d1', 'd'), BUSY)
    record = world.rounds(3)[0]
    assert record.plan.wanted['cpu'].tolist() == [1024]


def test_the_flavor_s_tier_weighs_the_same_without_cpu_control(tmp_path):
    """A flavor with quota:cpu_shares = 2048 counts double for the disk, whether CPU is controlled or not."""
    wanted = {}
    for controls in (('cpu', 'disk'), ('disk',)):
        world = World(tmp_path, controls=controls)
        world.hosts['a'].add(guest('d1', 'd', base_shares=2048), BUSY)
        world.hosts['a'].add(guest('e1', 'e'), BUSY)
        wanted[controls] = world.rounds(1)[0].plan.wanted['disk'].tolist()
    assert wanted[('cpu', 'disk')] == wanted[('disk',)]


def test_what_a_host_does_not_know_is_not_charged(tmp_path):
    """Only b knows its disk: on a, reading from the disk makes no guest heavier."""
    settings = FairnessSettings(resources=('cpu', 'disk_read'))
    heaviness = []
    for rate in (0.0, 1e8):
        world = World(tmp_path / str(rate), names=('a', 'b'), settings=settings)
        world.hosts['b'] = InMemoryHost(world.clock, supply(disk_read_bps=1e8))
        world.agents['b'] = world.agent('b', settings=settings)
        world.hosts['a'].add(guest('d1', 'd'), steady(Demand(cpu=1.0, disk_read_bps=rate)))
        world.hosts['b'].add(guest('e1', 'e'), BUSY)
        record = world.rounds(3)[0]
        assert record.plan.view.weights[2] == 0.5
        heaviness.append(record.plan.weighing.heaviness[0])
    assert heaviness[0] == heaviness[1]
