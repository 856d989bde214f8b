# SPDX-License-Identifier: Apache-2.0
"""Rebalancing: Algorithm 1, what it may not do (A2, A3), and plans that can be carried out."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.market.round import decide
from nova_market.core.rebalancing.layout import LayoutState, host_errors
from nova_market.core.rebalancing.move_order import (
    NO_GAIN,
    NO_WAY,
    NOT_WORTH,
    MigrationSettings,
    copy_cost,
    ordered_moves,
)
from nova_market.core.rebalancing.tabu_search import BalancePlan, BalanceSettings, balanced
from tests.support.layouts import unconstrained
from tests.support.market_builders import random_cloud, snapshot

PRICE = np.array([1e6, 1.0])
EXACT = BalanceSettings(tolerated_error=0.0)


def placement_of(world):
    outcome = decide(world)
    return unconstrained(
        world.host, outcome.bids.astype(float), world.caps, outcome.ideal, world.capacity
    )


def crowded(hosts=2, servers=4, **changes):
    """All servers on host 0, each host could give `servers / hosts` of them all they want."""
    each = servers // hosts
    world = snapshot([(each, each)] * hosts, [(0, 100, 100, 1.0, 1.0)] * servers)
    return replace(placement_of(world), **changes)


def test_spreads_what_is_crowded():
    plan = balanced(crowded(), EXACT)
    assert plan.before == pytest.approx(0.5)
    assert plan.after == 0.0
    assert sorted(plan.host.tolist()) == [0, 0, 1, 1]
    assert len(plan.moved) == 2


def test_a_balanced_cloud_is_left_alone():
    plan = balanced(crowded(hosts=1), EXACT)
    assert len(plan.moved) == 0
    assert plan.iterations == 0


def test_tolerated_error_stops_the_search():
    assert not len(balanced(crowded(), BalanceSettings(tolerated_error=0.6)).moved)


@pytest.mark.parametrize('limit', [0, 1, 3, 5])
def test_net_migrations_are_limited(limit):
    placement = placement_of(random_cloud(6, 40, wanted=1.2))
    plan = balanced(placement, replace(EXACT, migrations=limit))
    assert len(plan.moved) <= limit
    assert np.count_nonzero(plan.host != placement.host) == len(plan.moved)
    assert plan.after <= plan.before


def test_inflow_of_a_host_is_limited():
    plan = balanced(crowded(servers=8), replace(EXACT, inflow=1))
    assert np.count_nonzero(plan.host == 1) == 1


def test_pinned_servers_stay():
    plan = balanced(crowded(movable=np.array([False, False, False, True])), EXACT)
    assert plan.moved.tolist() == [3]


def test_disabled_hosts_receive_nothing():
    assert not len(balanced(crowded(open=np.array([True, False])), EXACT).moved)


def test_servers_stay_in_their_zone():
    zones = {'zone': np.array([0, 0, 0, -1]), 'host_zone': np.array([0, 1])}
    assert balanced(crowded(**zones), EXACT).moved.tolist() == [3]


def test_anti_affinity_is_kept():
    """Servers 0 and 2 may not share host 1: one of them at most goes there."""
    world = snapshot(
        [(2.0, 2.0)] * 3, [(0, 9, 9, 1.0, 1.0), (0, 9, 9, 1.0, 1.0), (0, 9, 9, 1.0, 1.0)]
    )
    apart = replace(placement_of(world), apart=np.array([0, -1, 0]))
    plan = balanced(apart, EXACT)
    assert plan.after == 0.0
    assert plan.host[0] != plan.host[2]


def test_ram_that_does_not_fit_forbids_the_move():
    size, room = np.array([[4.0, 1.0, 4.0, 4.0]]), np.array([[16.0, 3.0]])
    assert balanced(crowded(size=size, room=room), EXACT).moved.tolist() == [1]


def test_swaps_where_no_single_move_helps():
    """Hosts of 4 with 3 + 3 and 1 + 1: one move leaves 5 and 3 or worse, a swap 4 and 4."""
    servers = [(0, 300, 9, 3.0, 0.0)] * 2 + [(1, 100, 9, 1.0, 0.0)] * 2
    plan = balanced(placement_of(snapshot([(4.0, 9.0)] * 2, servers)), EXACT)
    assert plan.after == 0.0
    assert len(plan.moved) == 2


def test_same_input_same_plan():
    placement = placement_of(random_cloud(8, 60, wanted=1.2))
    one, two = balanced(placement), balanced(placement)
    assert one.host.tolist() == two.host.tolist()
    assert one.moved.tolist() == two.moved.tolist()


def test_errors_of_touched_hosts_are_those_computed_anew():
    """Incremental equals full, after any moves."""
    placement = placement_of(random_cloud(7, 50, wanted=1.3))
    layout, rng = LayoutState(placement), np.random.default_rng(5)
    for _ in range(40):
        layout.move(int(rng.integers(50)), int(rng.integers(7)))
    members = [np.flatnonzero(layout.host == h) for h in range(7)]
    np.testing.assert_allclose(layout.errors, host_errors(placement, np.arange(7), members))
    assert layout.net == np.count_nonzero(layout.host != placement.host)
    wanted = [np.bincount(layout.host, row, 7) for row in placement.ideal]
    np.testing.assert_allclose(layout.wanted, wanted, atol=1e-9)


def full_swap(third_room):
    """Two hosts whose RAM is full, and a third: the ends of the swap can't both wait at home."""
    servers = [(0, 300, 9, 3.0, 0.0)] * 2 + [(1, 100, 9, 1.0, 0.0)] * 2
    world = snapshot([(4.0, 9.0)] * 2 + [(0.0, 0.0)], servers)
    room = np.array([[8.0, 8.0, third_room]])
    return replace(placement_of(world), size=np.full((1, 4), 4.0), room=room)


def run(placement, steps):
    """Carry out the steps; whatever does not fit, or puts two of an anti-affinity group together, fails."""
    host = placement.host.copy()
    for step in steps:
        assert host[step.server] == step.source
        host[step.server] = step.target
        used = np.bincount(host, placement.size[0], placement.hosts)
        assert (used <= placement.room[0] + 1e-9).all()
        assert together(placement, host) == 0
    return host


def together(placement, host):
    """Servers that are on a host with another one of their anti-affinity group."""
    grouped = placement.apart >= 0
    pairs = set(zip(host[grouped].tolist(), placement.apart[grouped].tolist(), strict=True))
    return int(grouped.sum()) - len(pairs)


SWAPPED = BalancePlan(
    host=np.array([1, 0, 0, 1]), moved=np.array([0, 2]), before=1 / 3, after=0.0, iterations=1
)


def test_a_cycle_is_broken_through_a_third_host():
    placement = full_swap(4.0)
    plan = ordered_moves(placement, SWAPPED, PRICE)
    assert [(s.server, s.target, s.hop) for s in plan.steps] == [
        (0, 2, True),
        (2, 0, False),
        (0, 1, False),
    ]
    assert run(placement, plan.steps).tolist() == [1, 0, 0, 1]
    assert plan.after == 0.0


def test_a_cycle_without_a_third_host_is_dropped():
    plan = ordered_moves(full_swap(3.0), SWAPPED, PRICE)
    assert plan.steps == ()
    assert plan.dropped == ((0, NO_WAY), (2, NO_WAY))
    assert plan.after == pytest.approx(plan.before)


def test_a_server_waits_until_the_other_of_its_anti_affinity_group_has_gone():
    """Server 0 goes where 1 of its group is: 1 goes away first, although 0 is the smaller."""
    servers = [(0, 9, 9, 1.0, 0.0), (1, 9, 9, 1.0, 0.0), (0, 9, 9, 1.0, 0.0)]
    placement = replace(
        placement_of(snapshot([(1.0, 9.0)] * 3, servers)),
        apart=np.array([0, 0, -1]),
        size=np.array([[1.0, 2.0, 1.0]]),
        room=np.array([[9.0, 9.0, 9.0]]),
    )
    found = BalancePlan(
        host=np.array([1, 2, 0]), moved=np.array([0, 1]), before=0.5, after=0.0, iterations=1
    )
    plan = ordered_moves(placement, found, PRICE)
    assert [(step.server, step.target) for step in plan.steps] == [(1, 2), (0, 1)]
    assert run(placement, plan.steps).tolist() == [1, 2, 0]


def test_anti_affinity_holds_at_every_step_of_random_plans():
    """Four servers of each host are in groups, of which no host has two to begin with."""
    moves = 0
    for seed in range(5):
        placement = placement_of(random_cloud(6, 40, seed=seed, wanted=1.2))
        rank = np.array(
            [int((placement.host[:s] == h).sum()) for s, h in enumerate(placement.host)]
        )
        placement = replace(placement, apart=np.where(rank < 4, rank, -1))
        plan = ordered_moves(placement, balanced(placement, EXACT), PRICE)
        run(placement, plan.steps)
        moves += sum(placement.apart[step.server] >= 0 for step in plan.steps)
    assert moves > 0


def test_a_move_that_costs_more_than_it_brings_is_dropped():
    placement = crowded(size=np.full((1, 4), 1024.0), room=np.full((1, 2), 1e6))
    cheap = ordered_moves(placement, balanced(placement, EXACT), PRICE, MigrationSettings())
    dear = ordered_moves(
        placement, balanced(placement, EXACT), PRICE, MigrationSettings(copy_cores=1e9)
    )
    assert len(cheap.steps) == 2
    assert dear.steps == ()
    assert {reason for _, reason in dear.dropped} == {NOT_WORTH}


def test_at_a_price_of_nothing_cores_are_weighed():
    """Nobody bids against anybody, yet a host is crowded beside an empty one."""
    placement = crowded(size=np.full((1, 4), 1024.0), room=np.full((1, 2), 1e6))
    better = balanced(placement, EXACT)
    plan = ordered_moves(placement, better, np.zeros(2))
    assert [(step.gain, step.cost) for step in plan.steps] == [(0.0, 0.0)] * 2
    # two cores more for an hour are worth 60 core-periods each, this copy takes some 90
    assert (
        ordered_moves(placement, better, np.zeros(2), MigrationSettings(copy_rate=0.19)).steps == ()
    )
    free = MigrationSettings(copy_rate=0.0)
    assert len(ordered_moves(placement, better, np.zeros(2), free).steps) == 2


def test_a_copy_costs_what_it_takes_for_as_long_as_it_lasts():
    """6600 MiB at 110 MiB/s are one period of its RAM, one core that copies, and a tenth of its core."""
    placement = crowded(size=np.full((1, 4), 6600.0), room=np.full((1, 2), 1e6))
    assert placement.ideal[0].tolist() == [1.0] * 4
    assert copy_cost(placement, 0, np.array([1000.0, 0.5]), MigrationSettings()) == pytest.approx(
        1000.0 * 1.1 + 0.5 * 6600.0
    )


@pytest.mark.parametrize('level', [1e-3, 1.0, 1e6])
def test_what_is_worth_a_copy_does_not_depend_on_the_level_of_prices(level):
    """One server of five cores too many on a host: worth 1 GiB, not 1 TiB."""
    price = np.array([1000.0, 0.1]) * level

    def moved(mebibytes):
        size = np.full((1, 4), mebibytes)
        placement = crowded(size=size, room=np.full((1, 2), 1e9))
        return len(ordered_moves(placement, balanced(placement, EXACT), price).steps)

    assert (moved(1024.0), moved(1024.0**2)) == (2, 0)


def test_a_plan_keeps_what_pays_and_drops_what_does_not():
    """A server of 256 GiB for a tenth of a core in an hour stays, one that brings a whole core goes."""
    servers = [
        (0, 100, 9, 1.0, 0.0),
        (0, 100, 9, 1.0, 0.0),
        (1, 2000, 9, 1.04, 0.0),
        (1, 2000, 9, 1.0, 0.0),
    ]
    world = snapshot([(1.0, 9.0), (2.0, 9.0), (8.0, 9.0)], servers)
    size = np.array([[1024.0, 1024.0, 262_144.0, 262_144.0]])
    placement = replace(placement_of(world), size=size, room=np.full((1, 3), 1e9))
    found = balanced(placement, EXACT)
    assert {0, 1} & set(found.moved.tolist()) and {2, 3} & set(found.moved.tolist())
    plan = ordered_moves(placement, found, np.array([1000.0, 0.0]))
    assert {step.server for step in plan.steps} <= {0, 1} and plan.steps
    assert {reason for _, reason in plan.dropped} == {NOT_WORTH}


def test_a_dear_move_stays_when_the_error_would_pass_the_start():
    """Never worse than the start, whatever the copy costs: here the start was at 10 %."""
    dear = MigrationSettings(copy_cores=1e12)
    small = replace(full_swap(4.0), size=np.full((1, 4), 1.0))
    plan = ordered_moves(small, replace(SWAPPED, before=0.1), PRICE, dear)
    assert {step.server for step in plan.steps} == {0, 2}


def test_half_a_plan_that_is_worse_than_the_start_is_not_carried_out():
    """Host 0 is over its room, so server 2 can't follow, and server 0 alone would crowd host 1."""
    placement = replace(full_swap(0.0), room=np.array([[4.0, 12.0, 0.0]]))
    plan = ordered_moves(placement, replace(SWAPPED, before=0.1), PRICE)
    assert plan.steps == ()
    assert plan.dropped == ((0, NO_GAIN), (2, NO_WAY))
    assert plan.after == 0.1


def test_each_step_says_why():
    placement = crowded(size=np.full((1, 4), 1024.0), room=np.full((1, 2), 1e6))
    step = ordered_moves(placement, balanced(placement, EXACT), PRICE).steps[0]
    reason = step.reason('vm', 'h1', 'h2')
    assert (
        'server vm from h1 to h2: the largest error where it began falls from 50.00% to 0.00%'
        in reason
    )
    assert 'credits a period for 1024 MiB' in reason and 'micro' not in reason
    assert step.gain > 0


def test_plans_of_random_clouds_are_executable():
    """RAM about nine tenths full: every step fits, and the end is no worse than the start."""
    for seed in range(6):
        placement = placement_of(random_cloud(6, 40, seed=seed, wanted=1.2))
        used = np.bincount(placement.host, placement.caps[1], 6)
        room = np.maximum(used * 1.02, placement.caps[1].sum() / 6 * 1.1)
        placement = replace(placement, size=placement.caps[1:2], room=room[None])
        plan = ordered_moves(placement, balanced(placement, EXACT), PRICE)
        host = run(placement, plan.steps)
        members = [np.flatnonzero(host == h) for h in range(6)]
        worst = max(host_errors(placement, np.arange(6), members).max(), 0.0)
        assert worst == pytest.approx(plan.after)
        assert plan.after <= plan.before
