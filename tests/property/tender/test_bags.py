# SPDX-License-Identifier: Apache-2.0
"""T5: what is concluded for many tasks from one answer is what each of them would be told."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.tender.bag_offers import Answer, answer, refuses_all, taken
from nova_market.core.tender.negotiation import NoDeal, Strategy, choice
from nova_market.core.tender.stored_offer import How
from tests.support.job_records import id_of
from tests.support.offer_builders import offer

MADE = st.lists(
    st.builds(
        lambda cost, seconds, count, how: offer(cost=cost, seconds=seconds, count=count, how=how),
        st.integers(0, 20),
        st.integers(1, 20).map(float),
        st.integers(1, 4),
        st.sampled_from([how for how in How if how is not How.RESERVED_HOSTS]),
    ),
    max_size=4,
)
STRATEGIES = st.builds(Strategy, alternatives=st.booleans())


def why(made, deadline, budget, strategy):
    return choice(answer(made), deadline=deadline, budget=budget, now=0.0, strategy=strategy).why


@given(MADE, st.integers(0, 25), STRATEGIES, st.lists(st.floats(0, 30), min_size=2, max_size=6))
def test_who_has_less_time_is_refused_as_well(made, budget, strategy, deadlines):
    """What is not for one task is for none with an earlier deadline; some refusals are for all of them."""
    found = [why(made, one, budget, strategy) for one in sorted(deadlines)]
    first = next((n for n, one in enumerate(found) if one is None), len(found))
    assert all(one is None for one in found[first:])
    all_of_them = refuses_all(answer(made), budget)
    if all_of_them is not None:
        assert first == len(found)
    if not made:
        assert all_of_them is NoDeal.NO_OFFER and set(found) == {NoDeal.NO_OFFER}


@given(MADE, st.data())
def test_each_place_is_taken_once(made, data):
    """As many tasks as there are places, and then another request is due; sources still lead to the offer."""
    left = Answer(offers=answer(made), made=tuple(made))
    count = 0
    while len(left.offers):
        source = int(data.draw(st.sampled_from(left.offers.source.tolist())))
        row = left.offers.source.tolist().index(source)
        assert left.offers.cost[row] == made[source].cost
        count += 1
        found = taken(left, source)
        if found is None:
            break
        left = found
    assert count == sum(one.count for one in made)


@given(MADE, st.integers(0, 25))
def test_in_a_queue_of_its_own_a_task_costs_nothing(made, budget):
    """It can always be paid; what other queues offer costs as much as before."""
    own = [replace(one, queue_id=id_of('own')) for one in made]
    found = answer([*made, *own], {id_of('own')})
    assert not found.cost[len(made) :].any()
    assert np.array_equal(found.cost[: len(made)], answer(made).cost)
    assert refuses_all(answer(own, {id_of('own')}), budget) is (None if own else NoDeal.NO_OFFER)
