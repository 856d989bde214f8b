# SPDX-License-Identifier: Apache-2.0
"""Where servers go: only where they fit, all of a request or none, by the plug-ins' weights."""

import numpy as np
import pytest

from nova_market.sim.cloud.hosts import HostKind, SimulatedHosts
from nova_market.sim.cloud.scheduler import PlacingSetting, Weights, places
from tests.support.scheduler_builders import CREDIT, ask, published, quiet, world

SPREAD = PlacingSetting()


def empty(hosts=2, cores=8.0, mib=8192.0, **more):
    return SimulatedHosts([HostKind(count=hosts, cores=cores, memory_mib=mib)], **more)


def rng():
    return np.random.default_rng(1)


def only(**weights):
    return PlacingSetting(weights=Weights(**{**dict.fromkeys(Weights.__slots__, 0.0), **weights}))


def test_room_is_what_placement_counts():
    """(8 - 1) cores * 2, 8192 - 1024 MiB; the market divides seven real cores."""
    cloud = empty(1, reserve=(1.0, 1024.0), ratios=(2.0, 1.0))
    assert cloud.capacity[:, 0].tolist() == [7.0, 7168.0]
    assert cloud.room[:, 0].tolist() == [14.0, 7168.0]


def test_all_servers_of_a_request_or_none():
    """Nine of two vCPUs do not fit on sixteen cores, and then nothing is taken."""
    cloud = empty()
    assert places(cloud, quiet(), ask(count=9), SPREAD, rng()) is None
    assert cloud.used.sum() == 0 and cloud.servers.sum() == 0
    found = places(cloud, quiet(), ask(count=8), SPREAD, rng())
    assert sorted(found.tolist()) == [0] * 4 + [1] * 4 and cloud.used[0].tolist() == [8.0, 8.0]


def test_what_is_released_is_free_again():
    """To the last MiB, whatever the rounding."""
    cloud = empty()
    size = np.array([0.1, 1000.3])
    for _ in range(7):
        cloud.take(np.array([0, 0, 1]), size)
        cloud.release(np.array([0, 0, 1]), size)
    assert not cloud.used.any() and cloud.with_room(np.array([8.0, 8192.0])).tolist() == [0, 1]


def test_servers_spread_or_pack():
    """Nova's weighers spread; the packing weigher fills a host first."""
    assert sorted(places(empty(), quiet(), ask(count=2), SPREAD, rng()).tolist()) == [0, 1]
    assert places(empty(), quiet(), ask(count=2), only(packing=1.0), rng()).tolist() == [0, 0]


@pytest.mark.parametrize('weight', ['bid_load', 'allocation_error'])
def test_servers_avoid_hosts_with_many_bids(weight):
    """The first host is full of servers that bid: the newcomer goes to the second."""
    snapshot = published(*world([(0, CREDIT, 1000, 8.0, 1024.0)] * 3, mib=65536.0))
    cloud = empty(mib=65536.0, ratios=(8.0, 1.0))
    found = places(cloud, snapshot, ask(vcpus=4.0), only(**{weight: 1.0}), rng())
    assert found.tolist() == [1]


def test_who_cannot_pay_is_not_placed():
    """The affordable filter, when it counts."""
    poor = ask(project_id='blue', periods=None)
    choosy = PlacingSetting(periods=10)
    assert places(empty(), quiet(), poor, SPREAD, rng()) is not None
    assert places(empty(), quiet(), poor, choosy, rng()) is None
    assert places(empty(), quiet(), ask(), choosy, rng()) is not None


def test_only_so_many_candidates_are_looked_at():
    """From anywhere on, by the generator: the same generator, the same host."""
    setting = PlacingSetting(candidates=3)
    chosen = [
        places(empty(50), quiet(50), ask(), setting, np.random.default_rng(seed)).tolist()
        for seed in (1, 1, 2, 3, 4)
    ]
    assert chosen[0] == chosen[1] and len({tuple(one) for one in chosen}) > 1
