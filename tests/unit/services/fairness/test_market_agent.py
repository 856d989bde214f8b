# SPDX-License-Identifier: Apache-2.0
"""The agent that follows the market: what guests get, what is confirmed, and what happens in silence."""

import pytest
from prometheus_client import generate_latest

from nova_market.adapters.state_file import JsonFile
from nova_market.adapters.transport.local import LocalTransport
from nova_market.adapters.transport.wire_format import PlainFormat
from nova_market.core.fairness.priority import PrioritySettings
from nova_market.core.fairness.round import FairnessSettings
from nova_market.core.market.inventory import Allocation
from nova_market.services.exchange.allocation_receiver import AllocationReceiver
from nova_market.services.exchange.allocation_sender import AllocationSender
from nova_market.services.fairness.log_weights import LogWeights
from nova_market.services.fairness.metrics import FairnessCollector
from nova_market.services.fairness.status import render, status_document
from tests.support.exchange.exchanges import Roll, put_together
from tests.support.host_builders import MIB, guest
from tests.unit.services.fairness.test_agent import BUSY, IDLE, World, cpu_rates

ENGINE = 'engine1'
LIFE = 180.0
MARKET = FairnessSettings(resources=('cpu',), policy='market')
COMBINED = FairnessSettings(resources=('cpu',), policy='combined')


class Market(World):
    """Hosts that hear an engine, beside what they say to each other."""

    def __init__(self, tmp_path, names=('a',), settings=MARKET, **agent):
        self.lines, self.used = {}, []
        super().__init__(tmp_path, names, settings=settings, **agent)
        self.engine = AllocationSender(
            name=ENGINE,
            transport=LocalTransport(host=ENGINE, hub=self.hub),
            wire=PlainFormat(),
            clock=self.clock,
            membership=Roll(),
            used=lambda host, use: self.used.append((host, use)),
        )
        self.engine.start()

    def agent(self, name, settings=MARKET, **changes):
        exchange = self.exchange(name, settings)
        parts = {'exchange': exchange, 'market': self.lines[name]} | changes
        return super().agent(name, settings=settings, **parts)

    def exchange(self, name, settings):
        self.lines[name] = AllocationReceiver(
            host=name,
            transport=LocalTransport(host=name, hub=self.hub),
            wire=PlainFormat(),
            clock=self.clock,
            engines=[ENGINE],
            record=JsonFile(str(self.tmp_path / f'{name}-allocations.json')),
        )
        made = put_together(
            'broadcast',
            host=name,
            metric=settings.metric_name,
            ttl=settings.totals_ttl,
            clock=self.clock,
            transport=self.lines[name],
            membership=self.hub,
        )
        made.start()
        return made

    def allocate(self, period, memory_mib=64.0, host='a', **cores):
        given = [Allocation(server_id=s, cores=n, memory_mib=memory_mib) for s, n in cores.items()]
        self.engine.send(period, self.clock.wall() + LIFE, {host: given})

    def confirmed(self, period):
        return set(self.engine.confirmed(period))

    def busy(self, *names, host='a'):
        for name in names:
            self.hosts[host].add(guest(name, f'owner of {name}'), BUSY)


@pytest.fixture
def world(tmp_path):
    return Market(tmp_path)


def values(world, *names):
    return [world.hosts['a'].value('cpu', name) for name in names]


def test_guests_get_what_is_allocated(world):
    """In the first round after the message, and it is confirmed then."""
    world.busy('s1', 's2', 's3')
    world.allocate(7, s1=3 / 6, s2=2 / 6, s3=1 / 6)
    assert world.confirmed(7) == set()
    record = world.rounds(1)[0]
    assert values(world, 's1', 's2', 's3') == [512, 341, 171]
    assert world.confirmed(7) == {'s1', 's2', 's3'}
    assert record.applied == ('s1', 's2', 's3')
    rates = cpu_rates(world.hosts['a'], world.clock)
    assert [rates[name] for name in ('s1', 's2', 's3')] == pytest.approx(
        [3 / 6, 2 / 6, 1 / 6], rel=0.01
    )


def test_what_guests_used_is_sent_once_a_minute(world):
    """U1: with the first confirmation after the minute; 17 rounds of 10 s end two of them."""
    world.busy('s1', 's2')
    for period in (7, 8):
        world.allocate(period, s1=0.5, s2=0.5)
        world.rounds(9)
    ends = {int(world.clock.wall() // 60) * 60 - 60 * n for n in (1, 2, 3)}
    assert {host for host, _ in world.used} == {'a'}
    assert [use.at for _, use in world.used] == sorted(ends)[-len(world.used) :]
    assert len(world.used) >= 2
    last = world.used[-1][1].servers
    assert set(last) == {'s1', 's2'}
    assert last['s1'].seconds == 60
    assert last['s1'].cores + last['s2'].cores == pytest.approx(1.0, rel=0.01)


def test_a_small_change_is_written_too(world):
    """Under fairness 5 % is noise; here somebody pays for it."""
    world.busy('s1', 's2')
    world.allocate(7, s1=0.5, s2=0.5)
    world.rounds(1)
    world.allocate(8, s1=0.51, s2=0.49)
    assert world.rounds(1)[0].written['cpu'] == {'s1': 522, 's2': 502}


def test_what_is_there_already_is_confirmed(world):
    """Nothing is written in the next periods, and all of them are confirmed."""
    world.busy('s1')
    for period in (7, 8):
        world.allocate(period, s1=0.5)
        record = world.rounds(1)[0]
        assert world.confirmed(period) == {'s1'}
    assert record.written['cpu'] == {}


def test_what_is_refused_is_not_confirmed(world):
    """Nor what is pinned, has gone, or was never here."""
    host = world.hosts['a']
    world.busy('s1')
    host.add(guest('pinned', 'd', dedicated=True), BUSY)
    host.refusals['cpu'] = 'device busy'
    world.allocate(7, s1=0.5, pinned=1.0, elsewhere=1.0)
    record = world.rounds(1)[0]
    assert world.confirmed(7) == set()
    assert record.applied == ()
    del host.refusals['cpu']
    world.rounds(1)
    assert world.confirmed(7) == {'s1'}


def test_a_dry_run_confirms_nothing(tmp_path):
    world = Market(tmp_path, dry_run=True)
    world.busy('s1', 's2')
    world.allocate(7, s1=0.75, s2=0.25)
    record = world.rounds(1)[0]
    assert record.plan.wanted['cpu'].tolist() == [768, 256]
    assert world.confirmed(7) == set()
    assert values(world, 's1', 's2') == [1024, 1024]
    assert world.engine.enforced(['a']) == {'a': frozenset()}


def test_confirmations_that_are_lost_are_sent_again(world):
    world.busy('s1')
    world.allocate(7, s1=0.5)
    world.engine.stop()
    world.rounds(1)
    world.engine.start()
    assert world.confirmed(7) == set()
    world.rounds(1)
    assert world.confirmed(7) == {'s1'}


def test_a_silent_market_fades_to_the_base_values(world, caplog):
    """Half way in each round; logged once; nothing is confirmed; the next message counts at once."""
    world.busy('s1', 's2')
    world.allocate(7, s1=0.25, s2=0.75)
    world.rounds(17)
    assert values(world, 's1', 's2') == [256, 768]
    world.rounds(1)
    assert values(world, 's1', 's2') == [640, 896]
    record = world.rounds(1)[0]
    assert values(world, 's1', 's2') == [832, 960]
    assert record.applied == ()
    assert '75% of the way back' in status_document(record, 'a', 10.0, 1)['guests'][0]['why']
    world.rounds(8)
    assert values(world, 's1', 's2') == [1024, 1024]
    assert caplog.text.count('weights go back to their base values') == 1
    world.allocate(30, s1=0.25, s2=0.75)
    world.rounds(1)
    assert values(world, 's1', 's2') == [256, 768]


def test_a_restart_forgets_nothing(world, tmp_path, caplog):
    """What counted before counts after, until it expires; a damaged record is as none."""
    world.busy('s1', 's2')
    world.allocate(7, s1=0.25, s2=0.75)
    world.rounds(1)
    world.agents['a'] = world.agent('a')
    world.agents['a'].start()
    assert values(world, 's1', 's2') == [256, 768]
    record = world.rounds(1)[0]
    assert not record.written['cpu']
    assert values(world, 's1', 's2') == [256, 768]
    assert record.applied == ('s1', 's2')
    world.clock.advance(LIFE)
    world.agents['a'] = world.agent('a')
    assert world.rounds(1)[0].plan.granted.strength == 0.0
    (tmp_path / 'a-allocations.json').write_text('{"kind": "market.allocate"}')
    world.agents['a'] = world.agent('a')
    world.rounds(1)
    assert 'The record of allocations is damaged' in caplog.text


def test_allocations_that_came_before_a_crash_are_written_after_it(world):
    """What is paid for does not wait until guests are measured, as weights of fairness do."""
    world.busy('s1', 's2')
    world.allocate(7, s1=0.25, s2=0.75)
    world.rounds(1)
    world.allocate(8, s1=0.5, s2=0.5)
    world.agents['a'] = world.agent('a')
    world.agents['a'].start()
    world.rounds(1)
    assert values(world, 's1', 's2') == [512, 512]


def test_without_a_market_so_far(world):
    """Guests have what their flavors give them."""
    host = world.hosts['a']
    host.add(guest('s1', 'd', vcpus=2), BUSY)
    host.add(guest('s2', 'e', base_shares=300), BUSY)
    world.rounds(2)
    assert values(world, 's1', 's2') == [2048, 300]


def test_nothing_allocated_is_the_least_weight(world):
    """A server that bids nothing runs on, in what others leave; its emulator has a hundredth of a core."""
    world.busy('s1', 's2')
    world.allocate(7, s1=1.0, s2=0.0)
    world.rounds(1)
    assert values(world, 's1', 's2') == [1024, 10]
    assert world.confirmed(7) == {'s1', 's2'}


def test_originals_come_back(world):
    """A clean stop leaves what Nova had set."""
    world.busy('s1', 's2')
    world.allocate(7, s1=0.9, s2=0.1)
    world.rounds(1)
    world.agents['a'].stop()
    assert values(world, 's1', 's2') == [1024, 1024]


def test_combined_moves_the_market_by_heaviness(tmp_path):
    """Allocations are equal; the owner who uses more elsewhere gets less here, within the span."""
    span = 4.0
    settings = FairnessSettings(
        resources=('cpu',), policy='combined', priority=PrioritySettings(span=span)
    )
    world = Market(tmp_path, names=('a', 'b'), settings=settings)
    world.busy('d1')
    world.hosts['a'].add(guest('e1', 'e'), BUSY)
    world.hosts['b'].add(guest('e2', 'e'), BUSY)
    world.hosts['b'].add(guest('f1', 'f'), IDLE)
    for period in range(60):
        world.allocate(period, d1=0.5, e1=0.5)
        world.rounds(1)
        assert world.confirmed(period) >= {'d1', 'e1'}
    light, heavy = values(world, 'd1', 'e1')
    assert 1.1 < light / heavy <= span * 1.06
    assert light + heavy == pytest.approx(1024, rel=0.06)


def test_combined_goes_on_after_a_crash_where_it_was(tmp_path):
    """Allocations count at once and are tempered by the log-weights of before, not by none."""
    kept = LogWeights(JsonFile(str(tmp_path / 'x.json')), 'boot')
    world = Market(tmp_path, names=('a', 'b'), settings=COMBINED)
    world.agents['a'] = world.agent('a', settings=COMBINED, log_weights=kept)
    world.busy('d1')
    world.hosts['a'].add(guest('e1', 'e'), BUSY)
    world.hosts['b'].add(guest('e2', 'e'), BUSY)
    for period in range(30):
        world.allocate(period, d1=0.5, e1=0.5)
        world.rounds(1)
    before = values(world, 'd1', 'e1')
    assert before[0] / before[1] > 1.2
    world.agents['a'] = world.agent('a', settings=COMBINED, log_weights=kept)
    world.agents['a'].start()
    world.rounds(1)
    # guests that are not measured yet weigh as if they used their endowment: one step away from before
    assert values(world, 'd1', 'e1') == pytest.approx(before, rel=0.2)


def test_memory_is_spared_up_to_the_allocation(tmp_path):
    """The memory control takes part when it is on: what it refuses is not confirmed."""
    world = Market(tmp_path, controls=('cpu', 'memory'))
    world.hosts['a'].add(guest('s1', 'd', memory_bytes=256 * MIB), BUSY)
    world.hosts['a'].add(guest('s2', 'e', memory_bytes=256 * MIB), BUSY)
    world.allocate(7, memory_mib=128.0, s1=0.5, s2=0.5)
    world.rounds(1)
    assert world.hosts['a'].value('memory', 's1') == 128 * MIB
    assert world.confirmed(7) == {'s1', 's2'}
    world.hosts['a'].refusals['memory'] = 'the kernel ignores it'
    world.allocate(8, memory_mib=200.0, s1=0.5, s2=0.5)
    world.rounds(1)
    assert world.confirmed(8) == set()


def test_a_host_states_what_its_controls_do(tmp_path):
    """B5: CPU alone by default, memory where it is controlled, and not where the kernel ignores it."""
    (tmp_path / 'both').mkdir()
    plain, both = Market(tmp_path), Market(tmp_path / 'both', controls=('cpu', 'memory'))
    for world in (plain, both):
        world.allocate(7)
        world.rounds(1)
        world.busy('s1', 's2')
        world.allocate(8, s1=0.5, s2=0.5)
    assert plain.engine.enforced(['a', 'b']) == {'a': {'cpu'}}
    # nobody is there who could prove it
    assert both.engine.enforced(['a']) == {'a': {'cpu', 'memory'}}
    both.hosts['a'].refusals['memory'] = 'the kernel ignores it'
    both.rounds(1)
    assert both.engine.enforced(['a']) == {'a': {'cpu'}}
    del both.hosts['a'].refusals['memory']
    both.rounds(1)
    assert both.engine.enforced(['a']) == {'a': {'cpu', 'memory'}}


def test_other_hosts_are_heard_beside_the_engine(tmp_path):
    """One transport carries both; neither loses anything."""
    world = Market(tmp_path, names=('a', 'b'), settings=COMBINED)
    world.busy('s1')
    world.busy('s2', host='b')
    world.allocate(7, s1=0.5)
    world.allocate(8, s2=0.5, host='b')
    record = world.rounds(3)[0]
    assert record.plan.totals.hosts == 2
    assert world.confirmed(7) == {'s1'} and world.confirmed(8) == {'s2'}
    assert all(line.dropped == {} for line in world.lines.values())
    assert world.engine.dropped == {}


def test_status_and_metrics_show_the_allocations(world):
    world.busy('s1', 'new')
    before = world.rounds(1)[0]
    assert 'NO ALLOCATIONS' in render(status_document(before, 'a', 10.0, 1), before.wall, True)
    world.allocate(7, s1=0.5)
    record = world.rounds(1)[0]
    document = status_document(record, 'a', 10.0, 1)
    text = render(document, record.wall, alive=True)
    assert 'policy market: allocations of period 7 by engine1 count; 1 of 1 confirmed' in text
    assert '0.50c 64M' in text
    assert 'allocated 0.5 of 1 cores and 64 MiB in period 7' in text
    assert 'not in the allocations of period 7: average per vCPU' in text
    assert document['guests'][1]['allocation'] == {
        'cores': 0.5,
        'memory_mib': 64.0,
        'in_force': True,
    }
    collector = FairnessCollector('a')
    collector.observe(record)
    shown = generate_latest(collector.registry()).decode()
    assert 'nova_fairness_allocations_strength{host="a"} 1.0' in shown
    assert (
        'nova_fairness_guest_cores{host="a",instance_uuid="s1",project="owner of s1"} 0.5' in shown
    )
