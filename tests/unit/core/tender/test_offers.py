# SPDX-License-Identifier: Apache-2.0
"""Offers by eq. (1) to (4) of RR-7837, in numbers (T2, O3)."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.tender.cost import Charging, Prices
from nova_market.core.tender.offer import Offers, offers_for
from nova_market.core.tender.opening import openings
from nova_market.core.tender.place import NOBODY, Kind, places
from nova_market.core.tender.task import Task
from nova_market.errors import BadSnapshot, BadTask
from tests.support.tender_builders import FREE, Flavor, Worker, World

NORMAL = Flavor(speed=6000.0, memory=1536.0, disk=160.0)
EXTRA_LARGE = Flavor(pes=2, speed=9000.0, memory=15360.0, disk=1690.0, start_cost=7, start=40.0)
TASK = Task(work=18_000.0, memory_mib=10.0, disk_gib=20.0)
PRICES = Prices(work=2.0, memory_mib=5.0, disk_gib=0.25)


def made(world: World, task: Task = TASK, prices: Prices = PRICES, now=100.0, **how) -> Offers:
    return offers_for(task, places(world.whole, world.opened, now), prices, now, **how)


def test_the_three_equations():
    """Idle: c/s; busy: what is left, what waits, c/s (2); new: the start and c/s (3), and its cost (4)."""
    busy = Worker(queues=(((80.0, 0, 0), (30.0, 0, 0)),), begun=50.0)
    world = World(
        flavors=(NORMAL, EXTRA_LARGE),
        workers=(busy, Worker(idle_since=60.0)),
        openings=((1, 4),),
    )
    offers = made(world, charging=Charging.PER_TASK)
    assert offers.kind.tolist() == [Kind.ACTIVE, Kind.IDLE, Kind.NEW]
    assert offers.seconds.tolist() == [60.0 + 3.0, 3.0, 40.0 + 2.0]
    # 2 * 18000 + 5 * 10 + .25 * 20
    assert offers.cost.tolist() == [36_055, 36_055, 36_062]
    assert offers.pe.tolist() == [0, 1, NOBODY] and offers.host.tolist() == [NOBODY, NOBODY, 4]


def test_memory_and_disk_are_charged_by_the_second_of_the_run():
    """Not of the wait; a faster PE holds them for a shorter time. Rounded up to a micro-credit."""
    world = World(flavors=(NORMAL, EXTRA_LARGE), openings=((0, 0), (1, 0)))
    offers = made(world)
    assert offers.cost.tolist() == [36_000 + 55 * 3, 36_000 + 55 * 2 + 7]
    assert made(world, prices=replace(PRICES, work=2.00001)).cost[0] == 36_166


def test_a_late_task_delays_nobody_for_less_than_nothing():
    """What should have ended, and runs on, is taken to end now."""
    world = World(flavors=(NORMAL,), workers=(Worker(queues=(((5.0, 0, 0),),)),))
    assert made(world, now=1000.0).seconds.tolist() == [3.0]


def test_ten_idle_workers_are_one_offer():
    """The one that is idle for the shortest time is used first; others can be shut down [3.3.3]."""
    since = (40.0, 60.0, 50.0, 60.0)
    world = World(flavors=(NORMAL,), workers=tuple(Worker(idle_since=one) for one in since))
    offers = made(world)
    assert (offers.count.tolist(), offers.pe.tolist()) == ([4], [1])


def test_memory_is_what_will_be_free_during_the_whole_run():
    """The other PE has a small task now, and a large one from 130 s on, which was promised its place."""
    flavor = Flavor(pes=2, speed=6000.0, memory=100.0, disk=100.0)
    worker = Worker(queues=(((30.0, 10.0, 0), (30.0, 95.0, 0)), ()), begun=100.0)
    world = World(flavors=(flavor,), workers=(worker,))
    short = made(world, replace(TASK, work=6000.0 * 30))
    assert short.seconds.tolist() == [30.0, 90.0]
    assert made(world, replace(TASK, work=6000.0 * 31)).seconds.tolist() == [91.0]


def test_nothing_fits():
    """No worker, no opening, or none that is large enough: no offer."""
    assert not len(made(World(flavors=(NORMAL,))))
    world = World(flavors=(NORMAL,), workers=(Worker(),), openings=((0, 0),))
    assert len(made(world)) == 2
    assert not len(made(world, replace(TASK, disk_gib=161.0)))
    assert not len(made(world, replace(TASK, memory_mib=1537.0)))


@pytest.mark.parametrize('price', [MAX_AMOUNT / 18_000 * 1.001, 1e300])
def test_what_no_account_can_hold_is_not_offered(price):
    """Prices that overflow give no offer, and no wrong one."""
    world = World(flavors=(NORMAL,), workers=(Worker(),), openings=((0, 0),))
    assert not len(made(world, prices=replace(FREE, work=price)))
    assert len(made(world, prices=replace(FREE, work=MAX_AMOUNT / 18_000 * 0.999))) == 2


def test_what_takes_three_centuries_is_not_offered():
    """A task of the largest size on a PE of speed 1."""
    world = World(flavors=(Flavor(),), workers=(Worker(),))
    assert not len(made(world, Task(work=1e15), prices=FREE))


@pytest.mark.parametrize(
    ('wrong', 'complaint'),
    [
        ({'work': 0.0}, 'size 0'),
        ({'work': -1.0}, 'size -1'),
        ({'work': float('nan')}, 'size nan'),
        ({'work': 1e308}, r'size 1e\+308: give more than 0, at most 1e\+15'),
        ({'memory_mib': -1.0}, '-1 MiB of memory'),
        ({'memory_mib': float('nan')}, 'nan MiB'),
        ({'disk_gib': 1e308}, r'1e\+308 GiB of disk: give 0 to'),
    ],
)
def test_a_task_that_nobody_can_run_is_refused(wrong, complaint):
    with pytest.raises(BadTask, match=complaint):
        Task(**{'work': 1.0, **wrong})


def test_a_pool_checks_its_rows():
    with pytest.raises(BadSnapshot, match='flavor rows 1 to 1 in a pool: give 0 to 0'):
        World(flavors=(NORMAL,), workers=(Worker(flavor=1),))


def test_the_places_are_made_again_when_a_pe_becomes_free():
    """From then on it is like those that were free before."""
    one = Worker(queues=(((80.0, 0, 0),), ()), begun=50.0)
    world = World(flavors=(replace(NORMAL, pes=2),), workers=(one,))
    early = places(world.whole, world.opened, 100.0)
    assert early.until == 130.0 and early.count.tolist() == [1, 1]
    late = places(world.whole, world.opened, 130.0)
    assert late.until == np.inf and late.count.tolist() == [2]


def test_a_new_worker_comes_to_the_host_with_most_servers():
    """Of those with room for it, so that others can sleep [3.3.1]; a flavor without a host has none."""
    free = np.array([[8.0, 2.0, 4.0, 4.0], [64, 64, 64, 64], [500, 500, 500, 500]]) * 1.0
    needs = np.array([[1.0, 4.0, 9.0], [2.0, 2.0, 2.0], [10.0, 10.0, 10.0]])
    servers = np.array([0, 9, 3, 3])
    found = openings(free, free, servers, needs)
    assert (found.flavor.tolist(), found.host.tolist()) == ([0, 1], [1, 2])
    largest = free.copy()
    largest[0, 2] = 3.0
    assert openings(free, largest, servers, needs).host.tolist() == [1, 3]
