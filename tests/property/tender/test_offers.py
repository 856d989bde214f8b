# SPDX-License-Identifier: Apache-2.0
"""T2, O2, O4: offers against a look at each PE alone, and what is chosen and honoured of them."""

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nova_market.core.tender.acceptance import Terms, honoured
from nova_market.core.tender.offer import Offers, merged, offers_for
from nova_market.core.tender.place import Kind, places
from nova_market.core.tender.task import Task
from nova_market.core.tender.utility import cheapest, cost_time, fastest, weighted
from tests.support.tender_builders import DEAR, Flavor, Worker, World

UTILITIES = (cost_time, fastest, cheapest, weighted)
NOW = 10.0

FLAVORS = st.builds(
    Flavor,
    pes=st.integers(1, 3),
    speed=st.sampled_from([1.0, 2.0]),
    memory=st.integers(4, 12).map(float),
    disk=st.integers(4, 12).map(float),
    start_cost=st.integers(0, 5),
    start=st.sampled_from([0.0, 4.0]),
)
QUEUED = st.tuples(
    st.integers(1, 9).map(float), st.integers(0, 6).map(float), st.integers(0, 6).map(float)
)
TASKS = st.builds(
    Task,
    work=st.integers(1, 12).map(float),
    memory_mib=st.integers(0, 10).map(float),
    disk_gib=st.integers(0, 10).map(float),
)


LIGHT = st.tuples(st.integers(1, 9).map(float), st.just(0.0), st.just(0.0))
"""What is queued, and needs neither memory nor disk."""


@st.composite
def worlds(draw: st.DrawFn, queued: st.SearchStrategy[tuple[float, ...]] = QUEUED) -> World:
    """Some workers are busy, some idle; what is queued may be more than a worker has."""
    flavors = tuple(draw(st.lists(FLAVORS, min_size=1, max_size=3)))
    workers = []
    for _ in range(draw(st.integers(0, 6))):
        row = draw(st.integers(0, len(flavors) - 1))
        queues = tuple(tuple(draw(st.lists(queued, max_size=3))) for _ in range(flavors[row].pes))
        workers.append(
            Worker(
                flavor=row,
                queues=queues,
                begun=float(draw(st.integers(2, 10))),
                idle_since=float(draw(st.integers(0, 3))),
            )
        )
    open_rows = draw(st.lists(st.integers(0, len(flavors) - 1), unique=True, max_size=3))
    openings = tuple((row, draw(st.integers(0, 4))) for row in sorted(open_rows))
    return World(flavors=flavors, workers=tuple(workers), openings=openings)


def made(world: World, task: Task, now: float = NOW) -> Offers:
    return offers_for(task, places(world.whole, world.opened, now), DEAR, now)


@settings(max_examples=150)
@given(world=worlds(), task=TASKS)
def test_groups_are_all_pes_that_are_alike(world: World, task: Task) -> None:
    """Every group has the count of equal PEs, and is represented by the one that ties prefer."""
    groups = defaultdict(list)
    for kind, flavor, seconds, cost, pe, worker in world.each_place(task, DEAR, NOW):
        groups[int(kind), flavor, seconds, cost].append((pe, worker))
    offers = made(world, task)
    found = {}
    for row in range(len(offers)):
        key = (
            int(offers.kind[row]),
            int(offers.flavor[row]),
            float(offers.seconds[row]),
            int(offers.cost[row]),
        )
        assert key not in found, 'two groups are equal'
        found[key] = int(offers.count[row]), int(offers.pe[row])
    assert {key: count for key, (count, _) in found.items()} == {
        key: len(members) for key, members in groups.items()
    }
    for key, members in groups.items():
        if key[0] == Kind.IDLE:
            best = min(members, key=lambda one: (-one[1].idle_since, one[0]))
        else:
            best = min(members, key=lambda one: one[0])
        assert found[key][1] == best[0]


@settings(max_examples=100)
@given(
    before=worlds(),
    after=worlds(),
    task=TASKS,
    utility=st.sampled_from(UTILITIES),
    pick=st.integers(0, 99),
)
def test_an_accepted_offer_costs_no_more_and_takes_no_longer_or_is_refused(
    before: World, after: World, task: Task, utility, pick: int
) -> None:
    """Whatever changed: it is honoured exactly when some PE can still do that, and by the best of them."""
    offers = made(before, task)
    if not len(offers):
        return
    row = pick % len(offers)
    terms = Terms(cost=int(offers.cost[row]), seconds=float(offers.seconds[row]))
    now = made(after, task, NOW + 1.0)
    chosen = honoured(terms, now, utility)
    fine = [
        (float(utility(np.array([float(one[3])]), np.array([one[2]]), 0.5)[0]))
        for one in after.each_place(task, DEAR, NOW + 1.0)
        if one[3] <= terms.cost and one[2] <= terms.seconds
    ]
    assert (chosen is None) == (not fine)
    if chosen is not None:
        assert now.cost[chosen] <= terms.cost and now.seconds[chosen] <= terms.seconds
        value = utility(now.cost[[chosen]].astype(float), now.seconds[[chosen]], 0.5)[0]
        assert value == max(fine)


@given(world=worlds(LIGHT), task=TASKS)
def test_what_waits_for_nobody_can_be_had_later(world: World, task: Task) -> None:
    """Nothing else changes: each offer is honoured a moment later, since it counts from its acceptance.

    That needs queued tasks which leave room: one that is to begin just as the offered task would have ended
    may need the memory or the disk that it has.
    """
    offers, now = made(world, task), made(world, task, NOW + 0.3)
    for row in range(len(offers)):
        terms = Terms(cost=int(offers.cost[row]), seconds=float(offers.seconds[row]))
        assert honoured(terms, now, cost_time) is not None


@given(first=worlds(), second=worlds(), task=TASKS)
def test_answers_of_two_clouds_are_those_of_each(first: World, second: World, task: Task) -> None:
    """With the row of the cloud that each offer is from."""
    answers = [made(first, task), made(second, task)]
    both = merged(answers)
    for row, one in enumerate(answers):
        mine = both.take(both.source == row)
        for name in ('cost', 'seconds', 'kind', 'flavor', 'count', 'pe', 'host'):
            assert getattr(mine, name).tolist() == getattr(one, name).tolist()
