# SPDX-License-Identifier: Apache-2.0
"""L4: what replanning moves, what it leaves, and what it shows."""

import pytest

from nova_market.core.lease.exact import exact
from nova_market.core.lease.greedy import greedy_consistent
from nova_market.core.lease.place import LeasePlace
from nova_market.core.lease.replan import FREEZE, replanned
from nova_market.core.lease.request import automatic
from tests.support.calendar_builders import on
from tests.support.lease_builders import asks, during, machines

SOON, LATE = 1000.0, 10_000.0


def at(host, start):
    return LeasePlace(start=start, hosts=(host,))


def leases():
    """One that begins within an hour, and two later ones."""
    return during(SOON, 2000, name='soon'), during(LATE, 12_000), during(LATE, 13_000)


def test_future_leases_move_and_the_difference_is_shown():
    """Those on h1 and h2 join on h0; what begins within the hour stays on its host."""
    hosts = machines(8, 8, 8)
    present = at(2, SOON), at(1, LATE), at(2, LATE)
    seen = asks(hosts, *leases(), present=present)
    plan = replanned(seen, (True, True, True), now=0.0, algorithm=exact)
    assert plan.places[0] == present[0] and SOON < FREEZE
    assert plan.places[1] == plan.places[2]
    assert {move.lease for move in plan.moves} <= {'10000-12000', '10000-13000'} and plan.moves
    assert (plan.before.hosts, plan.after.hosts) == (2, 2 if plan.places[1].hosts != (2,) else 1)
    assert plan.before.joules - plan.after.joules == pytest.approx(100 * 2000)


def test_leases_that_are_not_flexible_stay():
    hosts = machines(8, 8)
    present = at(1, SOON), at(0, LATE), at(1, LATE)
    plan = replanned(asks(hosts, *leases(), present=present), (True, False, False), 0.0, exact)
    assert plan.places == present and plan.moves == ()


def test_a_plan_that_is_no_better_changes_nothing():
    """The greedy would put both on h0, for as much."""
    hosts = machines(8, 8)
    present = at(1, SOON), at(1, LATE), at(1, LATE)
    plan = replanned(asks(hosts, *leases(), present=present), (True,) * 3, 0.0, greedy_consistent)
    assert plan.places == present and plan.before == plan.after


def test_a_plan_that_loses_a_lease_is_not_taken():
    """First fit takes h0 for the first lease; the large one fits nowhere else."""
    hosts = machines(8, 4, base=[10, 50])
    given = during(LATE, LATE + 10, cores=1), during(LATE, LATE + 10, cores=8)
    present = at(1, LATE), at(0, LATE)
    plan = replanned(asks(hosts, *given, present=present), (True, True), 0.0, greedy_consistent)
    assert plan.places == present


def test_a_lease_without_a_place_gets_one_although_it_costs():
    """Its host was lost; it was not flexible, and begins soon."""
    hosts = machines(8, 8)
    given = leases()[:2]
    plan = replanned(asks(hosts, *given, present=(None, at(1, LATE))), (False, False), 0.0, exact)
    assert plan.places[0] is not None and plan.after.cost > plan.before.cost
    assert [(move.lease, move.old) for move in plan.moves] == [('soon', None)]


def test_nothing_is_moved_into_the_past():
    """A window that began an hour ago; and a lease that is too late for any start keeps what it has."""
    hosts = machines(8, taken=on(0, 8000, 9000, 8))
    given = (
        automatic('f', cores=8, duration=1000, earliest=0, finish=20_000),
        during(0, 5000, name='old'),
    )
    plan = replanned(asks(hosts, *given, present=(None, None)), (True, True), 7500.0, exact)
    assert plan.places[0].start >= 9000.0 and plan.places[1] is None
