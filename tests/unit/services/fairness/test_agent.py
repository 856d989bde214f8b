# SPDX-License-Identifier: Apache-2.0
"""The agent on hosts in memory: whole rounds, failures, and what it leaves behind."""

import logging

import numpy as np
import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.host import Demand, InMemoryHost, steady
from nova_market.adapters.state_file import JsonFile
from nova_market.adapters.transport.local import LocalHub, LocalTransport
from nova_market.core.fairness.round import FairnessSettings
from nova_market.errors import HostUnavailable
from nova_market.services.fairness.agent import Agent
from nova_market.services.fairness.originals import OriginalValues
from nova_market.services.fairness.status import render, status_document
from tests.support.exchange.exchanges import put_together
from tests.support.host_builders import MIB, guest, supply

BUSY = steady(Demand(cpu=1.0, rss_bytes=64 * MIB))
IDLE = steady(Demand(rss_bytes=64 * MIB))
CPU_ONLY = FairnessSettings(resources=('cpu',))


class World:
    """Some hosts with an agent each, on one clock and one hub."""

    def __init__(self, tmp_path, names=('a',), **agent):
        self.clock = ManualClock()
        self.hub = LocalHub()
        self.tmp_path = tmp_path
        others = agent.pop('others', None)
        self.hosts = {name: InMemoryHost(self.clock, supply(), others=others) for name in names}
        self.agents = {name: self.agent(name, **agent) for name in names}

    def agent(self, name, controls=('cpu',), settings=CPU_ONLY, **changes):
        host = self.hosts[name]
        exchange = changes.pop('exchange', None) or self.exchange(name, settings)
        return Agent(
            **(
                {
                    'host': name,
                    'driver': host,
                    'actuators': host.actuators(),
                    'controls': controls,
                    'exchange': exchange,
                    'settings': settings,
                    'originals': OriginalValues(
                        JsonFile(str(self.tmp_path / f'{name}.json')), 'boot'
                    ),
                    'clock': self.clock,
                }
                | changes
            )
        )

    def exchange(self, name, settings):
        made = put_together(
            'broadcast',
            host=name,
            metric=settings.metric_name,
            ttl=settings.totals_ttl,
            clock=self.clock,
            transport=LocalTransport(host=name, hub=self.hub),
            membership=self.hub,
        )
        made.start()
        return made

    def rounds(self, count, interval=10.0):
        records = []
        for _ in range(count):
            self.clock.advance(interval)
            records = [agent.round() for agent in self.agents.values()]
        return records


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def cpu_rates(host, clock, interval=100.0):
    before = {s.guest.name: s.counters.cpu_time_ns for s in host.sample().guests}
    clock.advance(interval)
    return {
        s.guest.name: (s.counters.cpu_time_ns - before[s.guest.name]) / 1e9 / interval
        for s in host.sample().guests
    }


def test_figure3_closed_loop(world):
    """Two busy VMs of d and one of e share one core: each user gets half of it."""
    host = world.hosts['a']
    for name, owner in (('d1', 'd'), ('d2', 'd'), ('e1', 'e')):
        host.add(guest(name, owner), BUSY)
    assert cpu_rates(host, world.clock)['e1'] == pytest.approx(1 / 3)
    world.agents['a'].start()
    world.rounds(60)
    assert cpu_rates(host, world.clock)['e1'] == pytest.approx(0.5, abs=0.01)


def test_figure3_beside_other_processes(tmp_path):
    """They take what the guests do not defend: each user still gets half of what guests get."""
    hog = steady(Demand(cpu=1.0, rss_bytes=3584 * MIB))
    world = World(tmp_path, others=hog)
    host = world.hosts['a']
    for name, owner in (('d1', 'd'), ('d2', 'd'), ('e1', 'e')):
        host.add(guest(name, owner), BUSY)
    record = world.rounds(60)[0]
    rates = cpu_rates(host, world.clock)
    # the hog weighs as much as one of three equal guests
    assert sum(rates.values()) == pytest.approx(0.75, abs=0.01)
    assert record.supply.cores == pytest.approx(0.75, abs=0.01)
    assert record.supply.memory_bytes == 512 * MIB
    assert rates['e1'] / sum(rates.values()) == pytest.approx(0.5, abs=0.01)
    shown = render(status_document(record, 'a', 10.0, 1), record.wall, alive=True)
    assert 'other processes take 0.25 of 1.00 cores and 3584 of 4096 MiB' in shown


def test_two_hosts_agree_through_the_exchange(tmp_path):
    """e runs on both hosts, so on host a the weight of d rises above e's."""
    world = World(tmp_path, names=('a', 'b'))
    world.hosts['a'].add(guest('d1', 'd'), BUSY)
    world.hosts['a'].add(guest('e1', 'e'), BUSY)
    world.hosts['b'].add(guest('e2', 'e'), BUSY)
    world.hosts['b'].add(guest('f1', 'f'), IDLE)
    record = world.rounds(60)[0]
    assert record.plan.totals.hosts == 2
    assert cpu_rates(world.hosts['a'], world.clock)['d1'] > 0.6


def test_an_empty_host_blocks_nobody(tmp_path):
    """In the 2016 service a host that became empty stopped the whole cloud."""
    world = World(tmp_path, names=('a', 'b'))
    world.hosts['a'].add(guest('d1', 'd'), BUSY)
    world.hosts['b'].add(guest('e1', 'e'), BUSY)
    world.rounds(3)
    world.hosts['b'].remove('e1')
    records = world.rounds(2)
    assert records[0].plan.totals.hosts == 2
    assert records[0].plan.totals.owners == ('d',)


def test_a_dead_host_is_forgotten(tmp_path):
    world = World(tmp_path, names=('a', 'b'))
    world.hosts['a'].add(guest('d1', 'd'), BUSY)
    world.hosts['b'].add(guest('e1', 'e'), BUSY)
    world.rounds(3)
    del world.agents['b']
    assert world.rounds(1)[0].plan.totals.hosts == 2
    assert world.rounds(4)[0].plan.totals.hosts == 1


def test_only_differences_are_written(world):
    host = world.hosts['a']
    for name, owner in (('d1', 'd'), ('d2', 'd'), ('e1', 'e')):
        host.add(guest(name, owner), BUSY)
    assert set(world.rounds(1)[0].written['cpu']) == {'d1', 'd2', 'e1'}
    world.rounds(60)
    assert world.rounds(1)[0].written['cpu'] == {}


def test_originals_come_back_on_a_clean_stop(world):
    host = world.hosts['a']
    host.add(guest('d1', 'd', base_shares=512), BUSY)
    host.add(guest('d2', 'd'), BUSY)
    host.add(guest('e1', 'e', fallback=True), BUSY, values={'cpu': 333})
    world.agents['a'].start()
    world.rounds(10)
    assert host.value('cpu', 'e1') not in (333, 1024)
    world.agents['a'].stop()
    assert [host.value('cpu', n) for n in ('d1', 'd2', 'e1')] == [512, 1024, 333]


def test_values_stay_after_a_crash_until_guests_are_measured(world):
    """The start and its first round write nothing: equal weights would be worse than the last ones."""
    host = world.hosts['a']
    for name, owner in (('d1', 'd'), ('d2', 'd'), ('e1', 'e')):
        host.add(guest(name, owner), BUSY)
    world.rounds(5)
    left = [host.value('cpu', n) for n in ('d1', 'd2', 'e1')]
    reborn = world.agents['a'] = world.agent('a')
    reborn.start()
    first = world.rounds(1)[0]
    assert not first.written['cpu']
    assert [host.value('cpu', n) for n in ('d1', 'd2', 'e1')] == left
    world.rounds(20)
    assert host.value('cpu', 'e1') > host.value('cpu', 'd1')
    reborn.stop()
    assert [host.value('cpu', n) for n in ('d1', 'd2', 'e1')] == [1024, 1024, 1024]


def test_a_guest_that_came_during_the_outage_is_not_held(world):
    host = world.hosts['a']
    for name, owner in (('d1', 'd'), ('d2', 'd'), ('e1', 'e')):
        host.add(guest(name, owner), BUSY)
    world.rounds(5)
    host.add(guest('d3', 'd'), BUSY)
    world.agents['a'] = world.agent('a')
    world.agents['a'].start()
    assert set(world.rounds(1)[0].written['cpu']) == {'d3'}


def test_a_control_that_is_not_used_any_more_is_put_back_after_a_crash(world):
    host = world.hosts['a']
    for name, owner in (('d1', 'd'), ('d2', 'd'), ('e1', 'e')):
        host.add(guest(name, owner), BUSY)
    world.agents['a'] = world.agent('a', controls=('cpu', 'disk'))
    world.rounds(5)
    left = host.value('cpu', 'e1')
    assert host.value('disk', 'e1') != 100
    reborn = world.agents['a'] = world.agent('a')
    reborn.start()
    assert [host.value('disk', n) for n in ('d1', 'd2', 'e1')] == [100, 100, 100]
    assert host.value('cpu', 'e1') == left
    (e1,) = (one.guest for one in host.sample().guests if one.guest.name == 'e1')
    host.set('disk', e1, 700)
    reborn.stop()
    assert host.value('cpu', 'e1') == 1024
    assert host.value('disk', 'e1') == 700, 'it is the operator who set it'


def test_a_restarted_guest_is_not_given_old_values(world):
    """After a hard reboot Nova's values are in force; the stored ones must not overwrite them."""
    host = world.hosts['a']
    host.add(guest('d1', 'd'), BUSY)
    host.add(guest('d2', 'd'), BUSY)
    host.add(guest('e1', 'e'), BUSY)
    world.rounds(5)
    host.restart('e1')
    reborn = world.agent('a')
    reborn.start()
    assert host.value('cpu', 'e1') == 1024
    world.agents['a'] = reborn
    world.rounds(2)
    assert host.value('cpu', 'e1') > 1024


def test_dry_run_writes_nothing(tmp_path, caplog):
    world = World(tmp_path, dry_run=True)
    host = world.hosts['a']
    for name, owner in (('d1', 'd'), ('d2', 'd'), ('e1', 'e')):
        host.add(guest(name, owner), BUSY)
    caplog.set_level(logging.DEBUG)
    record = world.rounds(5)[0]
    world.agents['a'].stop()
    assert record.plan.wanted['cpu'].max() > 1024
    assert record.written == {}
    assert [host.value('cpu', n) for n in ('d1', 'd2', 'e1')] == [1024, 1024, 1024]
    assert not (tmp_path / 'a.json').exists()
    assert '0 values written' in caplog.text


def test_unavailable_host_is_an_error_of_the_round_only(world):
    host = world.hosts['a']
    host.add(guest('d1', 'd'), BUSY)
    world.rounds(2)
    host.available = False
    world.clock.advance(10)
    with pytest.raises(HostUnavailable):
        world.agents['a'].round()
    host.available = True
    assert world.rounds(1)[0].plan.guests[0].name == 'd1'


def test_stop_without_the_host_leaves_it_to_the_next_stop(world, tmp_path):
    host = world.hosts['a']
    for name, owner in (('d1', 'd'), ('e1', 'e'), ('e2', 'e')):
        host.add(guest(name, owner), BUSY)
    world.rounds(3)
    host.available = False
    world.agents['a'].stop()
    host.available = True
    assert host.value('cpu', 'd1') != 1024
    reborn = world.agent('a')
    reborn.start()
    reborn.stop()
    assert host.value('cpu', 'd1') == 1024


def test_guest_that_vanishes_between_sample_and_apply(world):
    """A vanished guest is a value, not an error."""
    host = world.hosts['a']
    host.add(guest('d1', 'd'), BUSY)
    host.add(guest('e1', 'e'), BUSY)

    class Vanishing:
        def __getattr__(self, name):
            return getattr(host.actuators()[0], name)

        def write(self, values, guests):
            if 'e1' in [s.guest.id for s in host.sample().guests]:
                host.remove('e1')
            return host.actuators()[0].write(values, guests)

    host.add(guest('e2', 'e'), BUSY)
    agent = world.agent('a', actuators=[Vanishing()])
    world.clock.advance(10)
    record = agent.round()
    assert record.failed['cpu'] == {'e1': 'gone'}


def test_two_hundred_guests_at_once(world):
    host = world.hosts['a']
    host.add(guest('d1', 'd'), BUSY)
    world.rounds(3)
    for i in range(200):
        host.add(guest(f'x{i:03d}', f'o{i % 20}'), BUSY)
    record = world.rounds(1)[0]
    assert len(record.plan.guests) == 201
    assert np.isfinite(record.plan.weights).all()
    share = host.value('cpu', 'd1') / sum(host.value('cpu', g.id) for g in record.plan.guests)
    assert share == pytest.approx(record.plan.weights[0] / 201, rel=0.06)


def test_clock_that_jumps_changes_no_decision(world):
    """Decisions use the monotonic clock; the wall clock is for display."""
    host = world.hosts['a']
    for name, owner in (('d1', 'd'), ('d2', 'd'), ('e1', 'e')):
        host.add(guest(name, owner), BUSY)
    world.rounds(20)
    before = host.value('cpu', 'e1')
    world.clock.set_wall(0.0)
    world.rounds(1)
    world.clock.set_wall(4e9)
    world.rounds(1)
    assert host.value('cpu', 'e1') == before


def test_pinned_guests_are_left_alone(world):
    host = world.hosts['a']
    host.add(guest('d1', 'd', dedicated=True), BUSY)
    host.add(guest('e1', 'e'), BUSY)
    record = world.rounds(3)[0]
    assert 'd1' not in record.written['cpu']
    assert host.value('cpu', 'd1') == 1024


def test_quotas_are_passed_on(tmp_path):
    """A host that reads quotas announces them; the others use them without credentials."""
    world = World(tmp_path, names=('a', 'b'))
    for name, owner in (('a', 'd'), ('b', 'e')):
        world.hosts[name].add(guest(f'{owner}1', owner), BUSY)
    known = {'d': (30, 3000), 'e': (10, 1000)}
    world.agents['a'] = world.agent('a', quotas=lambda owners: known)
    record = world.rounds(3)[1]
    assert record.plan.totals.quotas == known
    assert record.plan.user_heaviness[0] > world.rounds(1)[0].plan.user_heaviness[0]


def test_status_names_numbers_and_reasons(world):
    host = world.hosts['a']
    host.add(guest('d1', 'd'), BUSY)
    host.add(guest('d2', 'd', dedicated=True), IDLE)
    host.add(guest('e1', 'e'), BUSY)
    record = world.rounds(12)[0]
    document = status_document(record, 'a', 10.0, 42)
    text = render(document, record.wall + 3, alive=True)
    assert 'a: enforcing; 1 cores' in text
    assert 'cpu: pinned or realtime' in text
    assert 'shares with 1 more of its owner, 1 of 2 busy' in text
    assert 'NOT running' in render(document, record.wall + 3, alive=False)
    assert 'WARNING: the last round was 60 s ago' in render(document, record.wall + 60, alive=True)
    e1 = next(g for g in document['guests'] if g['name'] == 'e1')
    assert e1['controls']['cpu']['wanted'] == pytest.approx(host.value('cpu', 'e1'), rel=0.06)
