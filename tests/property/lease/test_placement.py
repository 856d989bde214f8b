# SPDX-License-Identifier: Apache-2.0
"""L2, L3: every algorithm against a calendar that is looked at second by second, on random small worlds."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.booking import bookings
from nova_market.core.calendar.calendar import booked, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.lease.cluster import Cluster, cluster
from nova_market.core.lease.exact import exact
from nova_market.core.lease.greedy import greedy, greedy_consistent
from nova_market.core.lease.near_option import near_options
from nova_market.core.lease.objective import balance, earliest_finish, fewest_hosts, power
from nova_market.core.lease.refusal import faults
from nova_market.core.lease.request import LeaseRequest, automatic
from nova_market.core.lease.search import search
from tests.support.brute_calendar import LAST, Booking, BruteCalendar
from tests.support.lease_builders import QUICK, asks

EVERY = (greedy, greedy_consistent, search, exact)
OBJECTIVES = (power, earliest_finish, fewest_hosts)
CORES = 6


@dataclass(frozen=True, kw_only=True)
class World:
    hosts: Cluster
    capacity: tuple[tuple[float, ...], ...]
    rows: tuple[Booking, ...]
    leases: tuple[LeaseRequest, ...]

    def brute(self, *more: Booking) -> BruteCalendar:
        plenty = [[math.inf] * len(AXES)] * len(self.capacity)
        return BruteCalendar(self.capacity, plenty, [0] * len(plenty), [*self.rows, *more])

    def booking(self, lease: LeaseRequest, host: int, start: float) -> Booking:
        amounts = self.capacity[host] if lease.whole else tuple(lease.amounts.tolist())
        return host, int(start), int(start + lease.duration), amounts


@st.composite
def worlds(draw: st.DrawFn, most: int = 5, *, windows: bool = True) -> World:
    count = draw(st.integers(1, 3))
    sizes = [(float(draw(st.integers(2, CORES))), 50.0, 9.0) for _ in range(count)]
    rows: list[Booking] = []
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, LAST - 2))
        end = draw(st.integers(start + 1, LAST))
        rows.append((draw(st.integers(0, count - 1)), start, end, (draw(st.integers(1, 3)), 1, 1)))
    whole = np.array(sizes).T
    made = booked(
        unbooked(capacity(whole)),
        bookings(
            host=[row[0] for row in rows], start=[row[1] for row in rows],
            end=[row[2] for row in rows],
            amounts=np.array([row[3] for row in rows], dtype=float).reshape(-1, len(AXES)).T,
        ),
    )  # fmt: skip
    watts = st.lists(st.integers(1, 9).map(lambda n: 10.0 * n), min_size=count, max_size=count)
    hosts = cluster(
        tuple(f'h{n}' for n in range(count)), made, whole, base_w=draw(watts), peak_w=draw(watts)
    )
    leases = tuple(draw(lease(n, count, windows)) for n in range(draw(st.integers(1, most))))
    return World(hosts=hosts, capacity=tuple(sizes), rows=tuple(rows), leases=leases)


@st.composite
def lease(draw: st.DrawFn, number: int, hosts: int, windows: bool) -> LeaseRequest:
    duration = draw(st.integers(1, 8))
    earliest = draw(st.integers(0, LAST - 9))
    latest = draw(st.integers(earliest, LAST - 9)) if windows else earliest
    whole = windows and draw(st.integers(0, 4)) == 0
    return automatic(
        f'l{number}',
        nodes=draw(st.integers(1, hosts)) if windows else 1,
        whole=whole,
        cores=0 if whole else draw(st.integers(1, 4)),
        memory_mib=0 if whole else draw(st.sampled_from([0.0, 20.0])),
        utilisation=draw(st.sampled_from([0.5, 1.0])),
        duration=duration,
        earliest=earliest,
        finish=latest + duration,
    )


@given(worlds(), st.sampled_from(EVERY), st.sampled_from(OBJECTIVES))
@settings(max_examples=40, deadline=None)
def test_no_host_has_more_than_its_capacity_at_any_time(world, algorithm, objective):
    """And each lease has as many hosts as nodes, within its window."""
    plan = algorithm(asks(world.hosts, *world.leases, objective=objective))
    more = []
    for one, place in zip(world.leases, plan.places, strict=True):
        if place is not None:
            assert one.earliest <= place.start <= one.latest
            assert len(set(place.hosts)) == one.nodes == len(place.hosts)
            more += [world.booking(one, host, place.start) for host in place.hosts]
    brute = world.brute(*more)
    before = world.brute()
    for host, start, end, amounts in more:
        for second in range(start, end):
            free = brute.free_at(host, second)
            assert all(n >= 0 or not a for n, a in zip(free, amounts, strict=True))
            assert min(before.free_at(host, second)) >= min(free)


@given(worlds(), st.sampled_from(OBJECTIVES))
@settings(max_examples=25, deadline=None)
def test_exact_is_at_most_search_is_at_most_greedy(world, objective):
    """By leases placed, then by cost; and the bound is below the cost."""
    seen = asks(world.hosts, *world.leases, objective=objective)
    ranks = [algorithm(seen).rank for algorithm in (exact, search, greedy_consistent, greedy)]
    rounded = [(missing, round(cost, 6)) for missing, cost in ranks]
    assert rounded[0] <= rounded[1] <= min(rounded[2:])


def brute_cost(world: World, hosts: tuple[int, ...]) -> float:
    """Joules second by second; inf: over capacity."""
    more = [
        world.booking(one, host, one.earliest)
        for one, host in zip(world.leases, hosts, strict=True)
    ]
    full, before, joules = world.brute(*more), world.brute(), 0.0
    for host, second in itertools.product(range(len(world.capacity)), range(LAST + 1)):
        here = [
            one
            for one, (where, start, end, _) in zip(world.leases, more, strict=True)
            if where == host and start <= second < end
        ]
        free = full.free_at(host, second)
        wanted = [
            max(one.amounts[axis] for one in here) if here else 0 for axis in range(len(AXES))
        ]
        if any(n < 0 and a > 0 for n, a in zip(free, wanted, strict=True)):
            return math.inf
        idle = before.free_at(host, second) == list(world.capacity[host])
        base, peak = world.hosts.base_w[host], world.hosts.peak_w[host]
        busy = sum(one.amounts[0] * one.utilisation for one in here)
        joules += (base if here and idle else 0.0) + peak * busy / world.capacity[host][0]
    return joules


@given(worlds(4, windows=False))
@settings(max_examples=30, deadline=None)
def test_exact_is_the_least_of_all_placements(world):
    """Which are counted one by one; and it proves that it is."""
    choices = itertools.product(range(len(world.capacity)), repeat=len(world.leases))
    least = min(brute_cost(world, hosts) for hosts in choices)
    plan = exact(asks(world.hosts, *world.leases))
    if math.isinf(least):
        assert plan.gap == math.inf
    else:
        assert plan.cost == pytest.approx(least) and plan.gap < 1e-5


@given(worlds(1))
@settings(max_examples=60, deadline=None)
def test_what_is_infeasible_has_a_fault_and_its_options_are_feasible(world):
    """A fault exactly when no second of the window has room; every option could be booked."""
    (one,) = world.leases
    brute = world.brute()
    feasible = any(
        sum(
            brute.fits(host, world.booking(one, host, second)[3], second, int(one.duration), 1)
            for host in range(len(world.capacity))
        )
        >= one.nodes
        for second in range(int(one.earliest), int(one.latest) + 1)
    )
    found = faults(world.hosts, one)
    assert (found == ()) == feasible
    for fault in found:
        assert fault.free < fault.wanted and fault.start < fault.end
    for option in near_options(world.hosts, one, power(world.hosts)):
        for name in option.hosts:
            host = world.hosts.names.index(name)
            amounts = world.booking(one, host, option.start)[3]
            assert brute.fits(host, amounts, int(option.start), int(one.duration), 1)


@given(worlds(4))
@settings(max_examples=15, deadline=None)
def test_search_balances_no_worse_than_it_began(world):
    """An objective with squares; the state that is changed in place costs what a new one costs."""
    seen = asks(world.hosts, *world.leases, objective=balance)
    plan = search(seen)
    assert plan.rank <= greedy(seen).rank
    again = search(replace(seen, present=plan.places, settings=replace(QUICK, steps=0)))
    assert again.rank == pytest.approx(plan.rank)
