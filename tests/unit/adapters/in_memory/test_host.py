# SPDX-License-Identifier: Apache-2.0
"""How the host in memory divides what its guests want; ports' promises are in tests/contract."""

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.host import BYTES_PER_OPERATION, Demand, InMemoryHost, steady
from nova_market.core.host.sample import HostSupply
from tests.support.host_builders import guest, supply

BUSY = steady(Demand(cpu=8.0))


def used_cpu(host: InMemoryHost) -> dict[str, float]:
    return {item.guest.id: item.counters.cpu_time_ns / 1e9 for item in host.sample().guests}


def make(clock: ManualClock | None = None, **changes) -> tuple[InMemoryHost, ManualClock]:
    clock = clock or ManualClock()
    return InMemoryHost(clock, supply(**changes)), clock


def test_equal_weights_share_equally_and_no_guest_gets_more_than_its_vcpus():
    host, clock = make(cores=4.0)
    host.add(guest('a', 'dora', vcpus=1), BUSY)
    host.add(guest('b', 'emil', vcpus=8), BUSY)
    clock.advance(10)
    assert used_cpu(host) == {'a': 10, 'b': 30}


def test_what_one_guest_leaves_the_others_get():
    host, clock = make(cores=1.0)
    host.add(guest('a', 'dora'), steady(Demand(cpu=0.1)))
    host.add(guest('b', 'emil'), BUSY, values={'cpu': 2})
    clock.advance(10)
    assert used_cpu(host) == pytest.approx({'a': 1, 'b': 9})


def test_a_weight_counts_from_the_moment_it_is_written():
    host, clock = make(cores=1.0)
    a, b = host.add(guest('a', 'dora'), BUSY), host.add(guest('b', 'emil'), BUSY)
    clock.advance(10)
    host.actuators()[0].write({a.id: 3072}, [a, b])
    clock.advance(10)
    assert used_cpu(host) == pytest.approx({'a': 5 + 7.5, 'b': 5 + 2.5})


def test_novas_shares_are_where_a_guest_begins():
    host, _ = make()
    one = host.add(guest('a', 'dora', base_shares=512), BUSY)
    assert host.value('cpu', one.id) == 512


def test_demand_follows_its_script():
    host, clock = make(cores=1.0)
    host.add(guest('a', 'dora'), lambda now: Demand(cpu=1.0 if now >= 180 else 0.0))
    clock.advance(180)
    assert used_cpu(host) == {'a': 0}
    clock.advance(20)
    assert used_cpu(host) == {'a': 20}


def test_guests_that_come_later_have_used_nothing_before():
    host, clock = make(cores=1.0)
    host.add(guest('a', 'dora'), BUSY)
    clock.advance(10)
    host.add(guest('b', 'emil'), BUSY)
    clock.advance(10)
    assert used_cpu(host) == {'a': 15, 'b': 5}


def test_disk_and_network_are_divided_by_their_own_weights():
    host, clock = make(disk_read_bps=4096.0 * 100, net_tx_bps=1000.0)
    want = steady(Demand(disk_read_bps=1e9, net_tx_bps=1e9, net_rx_bps=5.0, rss_bytes=1 << 40))
    a = host.add(guest('a', 'dora'), want, values={'disk': 300})
    host.add(guest('b', 'emil'), want, values={'network': 300})
    clock.advance(10)
    first, second = (item.counters for item in host.sample().guests)
    assert first.disk_read_bytes == 3 * second.disk_read_bytes == 750 * BYTES_PER_OPERATION
    assert first.disk_read_ops == 750
    assert (first.net_tx_bytes, second.net_tx_bytes) == (2500, 7500)
    # an unknown supply is no bottleneck
    assert first.net_rx_bytes == second.net_rx_bytes == 50
    assert first.rss_bytes == a.memory_bytes


def test_hosts_share_a_clock():
    clock = ManualClock()
    hosts = [make(clock, cores=1.0)[0] for _ in range(2)]
    for host in hosts:
        host.add(guest('a', 'dora'), BUSY)
    clock.advance(5)
    assert [used_cpu(host) for host in hosts] == [{'a': 5}, {'a': 5}]


def test_controls_can_refuse_and_be_out_of_reach():
    clock = ManualClock()
    host = InMemoryHost(
        clock, HostSupply(cores=1, memory_bytes=1), uncontrollable={'disk': 'no weights here'}
    )
    pinned = host.add(guest('a', 'dora', dedicated=True, hugepages=True), BUSY)
    cpu, memory, disk, network = host.actuators()
    assert cpu.read([pinned])['a'].reason == 'pinned or realtime'
    assert memory.read([pinned])['a'].reason == 'backed by huge pages'
    assert disk.read([pinned])['a'].reason == 'no weights here'
    host.refusals['network'] = 'out of order'
    assert network.write({pinned.id: 200}, [pinned]) == {'a': 'out of order'}
    assert network.read([pinned])['a'].value == 100


def test_a_guest_runs_once():
    host, _ = make()
    host.add(guest('a', 'dora'), BUSY)
    with pytest.raises(ValueError, match='runs already'):
        host.add(guest('a', 'dora'), BUSY)
    host.remove('a')
    with pytest.raises(KeyError):
        host.remove('a')
