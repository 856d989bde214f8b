# SPDX-License-Identifier: Apache-2.0
"""L3: what each algorithm makes of small clusters, by hand."""

import math
from dataclasses import replace

import pytest

from nova_market.core.lease.exact import exact, separate
from nova_market.core.lease.greedy import greedy, greedy_consistent
from nova_market.core.lease.objective import (
    balance,
    earliest_finish,
    fewest_hosts,
    price,
)
from nova_market.core.lease.place import LeasePlace
from nova_market.core.lease.placement_interface import PlacementSettings
from nova_market.core.lease.request import automatic, manual
from nova_market.core.lease.search import search
from nova_market.errors import BadLease, ConfigurationError
from tests.support.calendar_builders import on
from tests.support.lease_builders import QUICK, asks, during, machines

EVERY = [greedy, greedy_consistent, search, exact]
BETTER = [search, exact]


def rows(plan):
    return [None if place is None else place.hosts for place in plan.places]


@pytest.mark.parametrize('algorithm', BETTER)
def test_the_greedy_is_surpassed(algorithm):
    """It gives the cheap host to a short lease, and has no room left there for the long one."""
    hosts = machines(4, 8, base=[100, 220], peak=[100, 200])
    plan = algorithm(asks(hosts, during(0, 10), during(0, 100, cores=4)))
    first = greedy_consistent(asks(hosts, during(0, 10), during(0, 100, cores=4)))
    assert rows(first) == [(0,), (1,)]
    assert rows(plan) == [(1,), (0,)] and plan.cost < first.cost


def test_the_bound_of_exact_proves_its_cost():
    """Two leases that overlap by half on one host of two: on for 15 s, not 20."""
    hosts = machines(8, 8)
    plan = exact(asks(hosts, during(0, 10), during(5, 15)))
    assert plan.cost == pytest.approx(100 * 15 + 2 * 200 / 8 * 10)
    assert plan.gap < 1e-6 and plan.places[0].hosts == plan.places[1].hosts


@pytest.mark.parametrize('algorithm', EVERY)
def test_nodes_are_on_different_hosts_and_start_together(algorithm):
    """Although one host has room for all of them; at 20, when the third host is free."""
    hosts = machines(8, 8, 8, taken=on(2, 0, 20, 8))
    lease = automatic('a', nodes=3, cores=1, duration=10, earliest=0, finish=40)
    plan = algorithm(asks(hosts, lease))
    assert rows(plan) == [(0, 1, 2)] and plan.places[0].start >= 20.0


@pytest.mark.parametrize('algorithm', EVERY)
def test_a_whole_host_is_empty_before_and_kept_empty(algorithm):
    """h0 has a booking, h1 gets the whole lease, and the small one goes to h0."""
    hosts = machines(8, 8, taken=on(0, 5, 6, 1), base=[100, 50])
    whole = automatic('w', whole=True, duration=10, earliest=0)
    plan = algorithm(asks(hosts, whole, during(0, 10)))
    assert rows(plan) == [(1,), (0,)]


@pytest.mark.parametrize('algorithm', EVERY)
def test_a_manual_request_gets_its_hosts_or_nothing(algorithm):
    """The host is dear, and full for the second."""
    hosts = machines(8, 8, base=[10, 500])
    mine = manual('m', hosts=['h1'], cores=6, duration=10, earliest=0)
    plan = algorithm(asks(hosts, mine, replace(mine, id='n')))
    assert sorted(rows(plan), key=str) == [(1,), None]
    assert plan.gap == math.inf


@pytest.mark.parametrize('algorithm', BETTER)
def test_a_host_that_is_on_anyway_costs_no_base(algorithm):
    """h1 is dearer, but something is booked there for the whole time."""
    hosts = machines(8, 8, base=[100, 150], taken=on(1, 0, 100, 2))
    plan = algorithm(asks(hosts, during(10, 20)))
    assert rows(plan) == [(1,)] and plan.cost == pytest.approx(250)


@pytest.mark.parametrize('algorithm', BETTER)
def test_a_host_that_stays_on_costs_no_base(algorithm):
    hosts = machines(8, 8, base=[100, 150], stays_on=[False, True])
    assert rows(algorithm(asks(hosts, during(10, 20)))) == [(1,)]


@pytest.mark.parametrize('algorithm', BETTER)
def test_windows_are_used_to_share_the_time_in_which_a_host_is_on(algorithm):
    """The flexible lease moves beside the fixed one: power; the earliest finish is at 10."""
    hosts = machines(8, 8)
    leases = during(20, 30), automatic('f', cores=1, duration=10, earliest=0, finish=40)
    settings = replace(QUICK, starts=4)
    assert algorithm(asks(hosts, *leases, settings=settings)).places[1].start == 20.0
    finish = algorithm(asks(hosts, *leases, settings=settings, objective=earliest_finish))
    assert finish.places[1].start == 0.0 and finish.cost == 0.0


def test_balance_spreads_and_fewest_hosts_packs():
    """Four equal leases on two hosts; h1 is busy with 4 cores of something else."""
    leases = [during(0, 10, cores=2, name=f'l{n}') for n in range(4)]
    spread = search(asks(machines(8, 8), *leases, objective=balance))
    assert sorted(rows(spread)) == [(0,), (0,), (1,), (1,)]
    busy = machines(8, 8, taken=on(1, 0, 10, 4))
    uneven = search(asks(busy, *leases[:2], objective=balance))
    assert rows(uneven) == [(0,), (0,)]
    packed = exact(asks(machines(8, 8), *leases, objective=fewest_hosts))
    assert len(set(rows(packed))) == 1 and packed.cost == pytest.approx(10)


def test_price_chooses_the_cheapest_amounts():
    """h1 is cheaper for memory, h0 for cores."""
    rate = [[1.0, 2.0], [0.02, 0.01], [0.0, 0.0]]
    hosts = machines(8, 8, price=rate)
    leases = during(0, 10, cores=4), during(0, 10, cores=1, memory_mib=1000)
    plan = exact(asks(hosts, *leases, objective=price))
    assert rows(plan) == [(0,), (1,)] and plan.cost == pytest.approx(10 * (4 + 2 + 10))


def test_exact_needs_a_solver_and_no_squares():
    """It says what to choose instead."""
    hosts = machines(8)
    with pytest.raises(ConfigurationError, match='choose search, or give one'):
        exact(replace(asks(hosts, during(0, 1)), solver=None))
    with pytest.raises(ConfigurationError, match='choose search for this objective'):
        exact(asks(hosts, during(0, 1), objective=balance))


def test_leases_that_do_not_touch_are_separate_programs():
    """By windows, which are half open; rows by start."""
    leases = [during(10, 20), during(0, 10), during(15, 30), during(40, 41)]
    assert separate(leases) == [[1], [0, 2], [3]]


def test_no_time_leaves_the_start_and_its_gap():
    """Whatever the bound is by then, it is below."""
    hosts = machines(8, 8)
    seen = asks(hosts, during(0, 10), during(5, 15), go_on=lambda: False)
    plan = exact(seen)
    assert plan.bound <= plan.cost and None not in plan.places


def test_few_labels_leave_a_bound_that_holds():
    """One label at a time: pricing drops nearly all, and says so in its bound."""
    hosts = machines(8, 8, 4)
    leases = [during(n, n + 10, cores=1 + n % 3) for n in range(8)]
    whole = exact(asks(hosts, *leases))
    rough = exact(asks(hosts, *leases, settings=replace(QUICK, labels=1)))
    assert rough.bound <= whole.cost * (1 + 1e-9) and rough.cost >= whole.cost * (1 - 1e-9)


@pytest.mark.parametrize('algorithm', EVERY)
def test_nothing_to_place_costs_nothing(algorithm):
    plan = algorithm(asks(machines(8)))
    assert (plan.places, plan.cost, plan.gap) == ((), 0.0, 0.0)


def test_search_begins_where_the_leases_are():
    """No steps: the present places are cheaper than the greedies', and stay."""
    hosts = machines(4, 8, base=[100, 220], peak=[100, 200])
    leases = during(0, 10), during(0, 100, cores=4)
    present = exact(asks(hosts, *leases)).places
    plan = search(asks(hosts, *leases, present=present, settings=replace(QUICK, steps=0)))
    assert plan.places == present
    assert plan.places[0] == LeasePlace(start=0.0, hosts=plan.places[0].hosts)


def test_settings_out_of_range_are_refused():
    with pytest.raises(BadLease, match='labels of at least 1'):
        PlacementSettings(labels=0)
