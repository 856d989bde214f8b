# SPDX-License-Identifier: Apache-2.0
"""What our plug-ins add to Nova's filters and weighers, and how well servers are placed with them.

Cost as a ratio: Nova's default filters and weighers on the same hosts in the same run are 1. Ours are run by
themselves through the same loops of Nova, less what the loops cost without any: the difference of two runs a
hundred times as long would be noise. Measured in turns, in CPU time, so that a busy machine is busy for all.
"""

import time

import numpy as np
import pytest
from nova.conf import CONF
from nova.scheduler import host_manager
from nova.scheduler.filters import HostFilterHandler
from nova.scheduler.weights import HostWeightHandler
from oslo_utils import timeutils

import nova_market.scheduler
from nova_market.core.scheduler.snapshot import LEVELS, SchedulerSnapshot
from nova_market.scheduler import market_feed
from tests.nova import placing
from tests.nova.hosts import spec, state
from tests.nova.plugged import feed_of
from tests.support.scheduler_builders import held

pytestmark = pytest.mark.benchmark

SIZES = (100, 1_000, 10_000)
TURNS = 7
AIM = 0.10

ALL = ('bid_load', 'allocation_error', 'heaviness', 'power', 'packing')


def full_snapshot(hosts, projects=1000):
    """Everything that can be published, of a busy cloud."""
    rng = np.random.default_rng(1)
    demand = rng.uniform(10, 100, (1, 2, hosts)) * np.array(LEVELS)[:, None, None]
    return SchedulerSnapshot(
        period=1,
        age=0.0,
        price=np.array([1000.0, 1.0]),
        bid_price=np.array([1000.0, 1.0]),
        hosts={f'host{row}': row for row in range(hosts)},
        capacity=np.full((2, hosts), 64.0),
        bids=rng.uniform(0, 64_000, (2, hosts)),
        demand=demand,
        vcpus=np.full(hosts, 32.0),
        projects={'red': 0} | {f'p{n}': n for n in range(1, projects)},
        available=np.full(projects, 1e12),
        due=np.zeros(projects),
        used=np.zeros((2, projects)),
        share=np.ones(projects),
        heaviness=rng.uniform(-1, 1, projects),
        host_heaviness=rng.uniform(-1, 1, hosts),
        reserved=reserved(hosts),
        watts=rng.uniform(1, 100, (2, hosts)),
    )


def reserved(hosts):
    """On each second host a lease of a part of it, tomorrow."""
    size, tomorrow = (4.0, 8192.0, 0.0), time.time() + 80_000.0
    leases = [
        (f'L{row}', 'red', tomorrow, tomorrow + 3600.0, {f'host{row}': size})
        for row in range(0, hosts, 2)
    ]
    return held(*leases, at=1e12)


def busy_hosts(count):
    """HostStates as Nova builds them, up and enabled, with different loads."""
    rng = np.random.default_rng(2)
    service = host_manager.ReadOnlyDict(
        {
            'disabled': False,
            'last_seen_up': timeutils.utcnow(),
            'updated_at': timeutils.utcnow(),
            'forced_down': False,
        }
    )
    made = []
    for number in range(count):
        used = int(rng.integers(64))
        made.append(
            state(
                f'host{number}', instances=used, service=service, free_ram_mb=(128 - used) * 1024,
                total_usable_ram_mb=131072, free_disk_mb=10**6, vcpus_total=64, vcpus_used=used,
                hypervisor_type='QEMU', hypervisor_version=8002002, cpu_allocation_ratio=4.0,
                ram_allocation_ratio=1.0, disk_allocation_ratio=1.0,
            )
        )  # fmt: skip
    return made


class Pipeline:
    """Filters and weighers as HostManager runs them."""

    def __init__(self, filters, weighers):
        self.filters = [cls() for cls in filters]
        self.weighers = [cls() for cls in weighers]

    def place(self, hosts, request):
        left = HostFilterHandler().get_filtered_objects(self.filters, hosts, request)
        return HostWeightHandler().get_weighed_objects(self.weighers, left, request)

    def seconds(self, hosts, request):
        began = time.thread_time()
        self.place(hosts, request)
        return time.thread_time() - began


def costing():
    """Pipelines of (Nova's defaults, ours, nothing at all)."""
    nova, _ = pipelines()
    ours = nova_market.scheduler
    return nova, Pipeline(ours.all_filters(), ours.all_weighers()), Pipeline([], [])


def pipelines():
    """(Nova's defaults, the same with ours)."""
    handler = HostFilterHandler()
    names = CONF.filter_scheduler.enabled_filters
    every = handler.get_matching_classes(['nova.scheduler.filters.all_filters'])
    filters = [cls for cls in every if cls.__name__ in names]
    weighers = HostWeightHandler().get_matching_classes(['nova.scheduler.weights.all_weighers'])
    ours = nova_market.scheduler
    return Pipeline(filters, weighers), Pipeline(
        filters + ours.all_filters(), weighers + ours.all_weighers()
    )


@pytest.fixture
def multipliers():
    """Sets all multipliers of [nova_market]; names that are not given are 0."""

    def change(**values):
        for name in ALL:
            value = values.get(name, 0.0)
            CONF.set_override(f'{name}_weight_multiplier', value, group='nova_market')

    yield change
    for name in ALL:
        CONF.clear_override(f'{name}_weight_multiplier', group='nova_market')


SETTINGS = {
    'no market': ({'bid_load': 1.0, 'allocation_error': 1.0, 'heaviness': 1.0}, False),
    'a round as published': ({'bid_load': 1.0, 'allocation_error': 1.0, 'heaviness': 1.0}, True),
    'all five weighers': (dict.fromkeys(ALL, 1.0), True),
}


def measured(hosts, request, all_three):
    """(seconds of Nova, seconds that ours add): the least of several turns."""
    turns = [tuple(one.seconds(hosts, request) for one in all_three) for _ in range(TURNS)]
    nova, ours, empty = (min(one) for one in zip(*turns, strict=True))
    return nova, ours - empty


def test_what_it_costs(multipliers):
    """Our three filters and five weighers beside Nova's defaults."""
    print(f'\n{"hosts":>7} {"":24} {"Nova ms":>9} {"ours ms":>9} {"ours/Nova":>10}')
    worst = 0.0
    request = spec(extra_specs={'market:affordable_periods': '10'}, hints={})
    before = market_feed.use(feed_of(None))
    # the hosts were up when the benchmark began
    CONF.set_override('service_down_time', 3600)
    for size in SIZES:
        hosts = busy_hosts(size)
        snapshot = full_snapshot(size)
        for name, (values, there) in SETTINGS.items():
            found = snapshot
            if name == 'a round as published':
                found = placing.only_published(snapshot)
            market_feed.use(feed_of(found if there else None))
            multipliers(**values)
            nova, ours = measured(hosts, request, costing())
            print(f'{size:7} {name:24} {nova * 1e3:9.2f} {ours * 1e3:9.2f} {ours / nova:10.1%}')
            if size == max(SIZES):
                worst = max(worst, ours / nova)
    market_feed.use(before)
    print(f'aim at 10,000 hosts: under {AIM:.0%}; found {worst:.1%}')
    # the aim is for a quiet machine; twice of it is a fault of ours on any
    assert worst < 2 * AIM


def test_what_it_is_good_for(multipliers):
    """One stream of boots, placed by Nova's weighers alone and with some of ours."""
    alone, together = pipelines()
    cases = {
        'Nova alone': (alone, {}),
        'bid load': (together, {'bid_load': 10.0}),
        'allocation error': (together, {'allocation_error': 100.0}),
        'both': (together, {'bid_load': 10.0, 'allocation_error': 100.0}),
        'packing': (together, {'packing': 100.0}),
        'power': (together, {'power': 100.0}),
    }
    print(
        f'\n{"":18} {"largest error":>14} {"mean error":>11} {"bid load sd":>12} {"hosts":>6} {"kW":>6}'
    )
    found = {}
    before = market_feed.use(feed_of(None))
    for name, (pipeline, values) in cases.items():
        multipliers(**values)
        found[name] = one = placing.stream(pipeline)
        print(
            f'{name:18} {one.largest_error:14.3f} {one.mean_error:11.4f} {one.load_spread:12.3f} '
            f'{one.hosts_in_use:6d} {one.kilowatts:6.2f}'
        )
    market_feed.use(before)
    base = found['Nova alone']
    assert found['bid load'].load_spread < base.load_spread
    assert found['both'].mean_error < base.mean_error
    assert found['packing'].hosts_in_use < base.hosts_in_use
    assert found['power'].kilowatts < base.kilowatts
