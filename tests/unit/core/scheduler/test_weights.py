# SPDX-License-Identifier: Apache-2.0
"""Which host is best: bid load, allocation error, heaviness, watts, number of servers."""

import dataclasses

import numpy as np
import pytest

from nova_market.core.market.round import allocation_errors, decide
from nova_market.core.scheduler import weights
from nova_market.core.scheduler.filters import UNKNOWN
from nova_market.core.scheduler.host_demand import levels_after, newcomers_since
from tests.support.scheduler_builders import ask, nobody, published, quiet, world

BOTH = np.array([0, 1])


def test_the_host_with_fewer_bids_for_its_size_is_better():
    """Twice the bids on twice the cores are the same load."""
    bids = np.array([[4000.0, 8000.0, 4000.0], [0.0, 0.0, 0.0]])
    snapshot = quiet(3, bids=bids, capacity=np.array([[8.0, 16.0, 16.0], [8192.0] * 3]))
    loads = weights.by_bid_load(snapshot, ask(bid=(0, 0)), np.arange(3), nobody(3))
    assert loads[0] == pytest.approx(loads[1])
    assert loads[2] > loads[1]


def test_the_own_bid_counts():
    """On a small host the same bid weighs more."""
    snapshot = quiet(capacity=np.array([[4.0, 16.0], [8192.0, 8192.0]]))
    small, large = weights.by_bid_load(snapshot, ask(), BOTH, nobody(2))
    assert large > small


def test_a_load_of_one_is_what_the_cloud_bids():
    """Capacity times bid price, on every host, is load 1."""
    snapshot = quiet(bids=np.array([[8000.0, 0.0], [0.0, 0.0]]))
    assert weights.by_bid_load(snapshot, ask(bid=(0, 0)), BOTH, nobody(2)).tolist() == [
        -1.0,
        0.0,
    ]


def test_a_host_without_shared_cores_blinds_nobody():
    """It is last, and the others differ as much as they do without it."""
    bids = np.array([[8000 * 0.2, 8000 * 3.0, 0.0], [0.0, 0.0, 0.0]])
    snapshot = quiet(3, bids=bids, capacity=np.array([[8.0, 8.0, 0.0], [8192.0] * 3]))
    loads = weights.by_bid_load(snapshot, ask(bid=(0, 0)), np.arange(3), nobody(3))
    assert loads.tolist() == pytest.approx([-0.2, -3.0, -6.0])
    none = quiet(capacity=np.zeros((2, 2)))
    assert weights.by_bid_load(none, ask(), BOTH, nobody(2)).tolist() == [-2.0, -2.0]


def test_nobody_bids_nobody_is_preferred():
    """Without any price there is nothing to compare."""
    assert weights.by_bid_load(quiet(bid_price=np.zeros(2)), ask(), BOTH, nobody(2)) is None


def exact_error(snapshot, request, host):
    """Largest error on a host, from a round with the server on it at the same prices."""
    market, outcome = snapshot
    own = outcome.price * np.array(request.limit)
    joined = dataclasses.replace(
        market,
        host=np.append(market.host, host),
        payer=np.append(market.payer, 0),
        bids=np.column_stack([market.bids, own.astype(np.int64)]),
        caps=np.column_stack([market.caps, np.array(request.limit)]),
        last=np.column_stack([market.last, np.zeros(2)]),
    )
    after = decide(joined)
    ideal = np.minimum(joined.caps, joined.bids / outcome.price[:, None])
    return allocation_errors(ideal, after.actual)[joined.host == host].max(initial=0.0)


@pytest.mark.parametrize('cap', [8.0, 4.0])
def test_the_error_is_that_of_the_round_with_the_server_on_the_host(cap):
    """Where all or none are full, what the few numbers tell is what a whole round finds."""
    servers = [(0, 8000, 10, cap, 512.0), (0, 8000, 10, cap, 512.0), (1, 2000, 10, 2.0, 512.0)]
    known = world(servers)
    request = ask(8.0, 512.0)
    found = -weights.by_allocation_error(published(*known), request, BOTH, nobody(2))
    wanted = [exact_error(known, request, host) for host in (0, 1)]
    assert found == pytest.approx(wanted, abs=1e-6)
    assert found[1] < found[0]


def test_between_the_points_the_error_is_close():
    """With some full and some not, straight lines between levels are at most a little too kind."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        servers = [
            (
                int(rng.integers(4)),
                int(rng.integers(100, 5000)),
                10,
                float(rng.integers(1, 9)),
                64.0,
            )
            for _ in range(60)
        ]
        known = world(servers, hosts=4, reserve=(10.0, 0.001))
        request = ask(4.0, 64.0)
        found = -weights.by_allocation_error(published(*known), request, np.arange(4), nobody(4))
        wanted = np.array([exact_error(known, request, host) for host in range(4)])
        assert (found <= wanted + 1e-4).all()
        assert (found >= wanted - 0.05).all()


def test_a_host_with_room_has_no_error():
    """Everybody gets what the bid buys: weight 0, the best there is."""
    assert weights.by_allocation_error(quiet(), ask(), BOTH, nobody(2)).tolist() == [0.0, 0.0]


def test_levels_fall_as_servers_ask_for_more():
    """The level is monotone in what is asked for and stays within [0, 1]."""
    snapshot = published(*world([(0, 8000, 8000, 8.0, 8192.0), (1, 100, 100, 8.0, 8192.0)]))
    levels = [levels_after(snapshot, ask(v, 512.0 * v), BOTH) for v in (0.5, 1.0, 2.0, 8.0, 64.0)]
    for more, less in zip(levels[1:], levels, strict=False):
        assert (more <= less + 1e-12).all()
    assert all(((level >= 0) & (level <= 1)).all() for level in levels)


def test_at_price_zero_a_full_host_is_worse():
    """Without a reserve price nothing costs anything; hosts still fill up."""
    snapshot = published(*world([(0, 100, 100, 8.0, 8192.0)], reserve=(0.0, 0.0)))
    assert snapshot.price.tolist() == [0.0, 0.0]
    full, empty = weights.by_allocation_error(snapshot, ask(), BOTH, nobody(2))
    assert full < empty == 0.0


def test_heavy_goes_to_heavy_and_light_to_light():
    """A project is best where the others are like it; an empty host harms nobody."""
    snapshot = quiet(3, heaviness=np.array([3.0, 0.0]), host_heaviness=np.array([3.0, 0.0, np.nan]))
    heavy = weights.by_heaviness(snapshot, ask(), np.arange(3))
    light = weights.by_heaviness(snapshot, ask(project_id='blue'), np.arange(3))
    assert heavy.tolist() == [0.0, -0.75, 0.0]
    assert light.tolist() == [-0.75, 0.0, 0.0]


def test_no_opinion_without_heaviness():
    """Neither where it is not published, nor for a project or hosts that nobody knows."""
    known = quiet(heaviness=np.array([np.nan, 0.0]), host_heaviness=np.zeros(2))
    assert weights.by_heaviness(quiet(), ask(), BOTH) is None
    assert weights.by_heaviness(known, ask(), BOTH) is None
    assert weights.by_heaviness(known, ask(project_id='x'), BOTH) is None


def test_the_order_of_the_greedy_example():
    """CloudAlloc, section 2: n2 before n1 before n3 by (base + peak * cores) / cores."""
    snapshot = quiet(
        3,
        capacity=np.array([[8.0, 8.0, 8.0], [1.0, 1.0, 1.0]]),
        watts=np.array([[1.38, 1.33, 1.74], [0.1, 0.1, 0.1]]),
    )
    found = weights.by_watts(snapshot, np.arange(3))
    assert (-found).tolist() == pytest.approx([0.2725, 0.26625, 0.3175])
    assert weights.by_watts(quiet(), BOTH) is None


def test_an_unknown_host_is_as_good_as_the_mean():
    """New hosts are neither a magnet nor shunned."""
    snapshot = quiet(bids=np.array([[8000.0, 0.0], [0.0, 0.0]]))
    rows = np.array([0, UNKNOWN, 1])
    found = weights.by_bid_load(snapshot, ask(bid=(0, 0)), rows, nobody(3))
    assert found.tolist() == [-1.0, -0.5, 0.0]
    assert weights.by_bid_load(snapshot, ask(), np.array([UNKNOWN]), nobody(1)) is None


def test_who_came_since_the_round_counts():
    """Between rounds requests do not all choose the same host: what Nova counts since then is added."""
    snapshot = quiet(bids=np.array([[1000.0, 0.0], [0.0, 0.0]]), vcpus=np.array([4.0, 4.0]))
    come = newcomers_since(snapshot, ask(2.0), BOTH, np.array([4.0, 10.0]))
    assert come.tolist() == [0.0, 3.0]
    before = weights.by_bid_load(snapshot, ask(), BOTH, nobody(2))
    after = weights.by_bid_load(snapshot, ask(), BOTH, come)
    assert before[1] > before[0]
    assert after[0] > after[1]
    errors = weights.by_allocation_error(snapshot, ask(2.0), BOTH, 2 * come)
    assert errors.tolist() == [0.0, 8 / 14 - 1]


def test_fewer_than_at_the_round_are_nobody():
    """Servers that left, unknown hosts, and a cloud without hosts add nothing."""
    snapshot = quiet(vcpus=np.array([4.0, 4.0]))
    rows = np.array([0, UNKNOWN])
    assert newcomers_since(snapshot, ask(), rows, np.array([0.0, 9.0])).tolist() == [0.0, 0.0]
    none = np.array([UNKNOWN])
    assert newcomers_since(quiet(0), ask(), none, np.array([5.0])).tolist() == [0.0]


def test_what_a_host_does_not_sell_weighs_nothing():
    """B5: its servers have all the memory they can use, so neither load nor error comes of it."""
    sold = np.array([[True, True], [True, False]])
    bids = np.array([[0.0, 0.0], [8192.0, 0.0]])
    demand = np.zeros((4, 2, 2))
    demand[:, 1, 0] = 8192.0 * np.array([0.25, 0.5, 0.75, 1.0])
    capacity = np.array([[8.0, 8.0], [8192.0, 0.0]])
    snapshot = quiet(bids=bids, demand=demand, capacity=capacity, sold=sold)
    loads = weights.by_bid_load(snapshot, ask(), BOTH, nobody(2))
    assert loads[1] > loads[0]
    errors = weights.by_allocation_error(snapshot, ask(), BOTH, nobody(2))
    assert errors[0] < 0 and errors[1] == 0.0
    # a host that sells memory and has none is no place for it
    full = dataclasses.replace(snapshot, sold=None)
    assert weights.by_allocation_error(full, ask(), BOTH, nobody(2))[1] == -1.0
