# SPDX-License-Identifier: Apache-2.0
"""Prices of a tender queue: steps of eq. 5, periods that nobody saw, what its owner may give (T1)."""

from dataclasses import replace

import pytest

from nova_market.core.job.operator_limits import JobLimits
from nova_market.core.job.queue_request import changed_queue
from nova_market.core.tender.queue_price import (
    HISTORY,
    MOST_STEPS,
    QueuePrices,
    document_of,
    prices_from,
    stepped,
)
from nova_market.errors import BadQueue
from tests.support.job_records import queue

CAPACITY = (10.0, 10_000.0, 100.0)
HALF, FULL, DOUBLE = ((5.0, 0.0, 0.0), CAPACITY, (20.0, 20_000.0, 200.0))


def night(**more):
    given = {'memory_price': 2.0}
    parameters = given | more.pop('parameters', {})
    return queue(policy='tender', price_core_hour=1000, parameters=parameters, **more)


def begun(of=None, demand=FULL):
    return stepped(None, of or night(), demand, CAPACITY, 100.0)


def test_a_queue_begins_with_the_prices_of_its_owner():
    """What has no price stays free."""
    first = begun()
    assert (first.at, first.prices, first.load) == (100.0, (1000.0, 2.0, 0.0), (1.0, 1.0, 1.0))


@pytest.mark.parametrize(
    ('demand', 'prices'),
    [(HALF, (500.0, 1.0, 0.0)), (FULL, (1000.0, 2.0, 0.0)), (DOUBLE, (2000.0, 4.0, 0.0))],
)
def test_a_step_follows_the_demand_within_a_factor_of_two(demand, prices):
    """A steady load of one half halves the price; no demand for memory is the least load."""
    first = begun(demand=demand)
    after = stepped(first, night(), demand, CAPACITY, 150.0)
    assert after.at == 150.0 and after.prices == pytest.approx(prices)
    assert after.history[0][1:4] == (1000.0, 2.0, 0.0) and len(after.history) == 2


def test_nothing_changes_within_a_period_and_no_step_is_made_twice():
    """Whoever looks again, or comes after one that was killed, finds the step as it was made."""
    first = begun(demand=DOUBLE)
    assert stepped(first, night(), HALF, CAPACITY, 149.9) is first
    after = stepped(first, night(), DOUBLE, CAPACITY, 151.0)
    assert after.at == 150.0
    assert stepped(after, night(), DOUBLE, CAPACITY, 152.0) is after
    assert prices_from(document_of(after)) == after


def test_of_a_long_break_a_few_periods_are_made_up_for():
    """The grid of periods stays where it was."""
    after = stepped(begun(demand=DOUBLE), night(), DOUBLE, CAPACITY, 100.0 + 50.0 * 40 + 7.0)
    assert after.at == 2100.0 and after.prices[0] == 1000.0 * 2**MOST_STEPS


def test_prices_stay_between_floor_and_ceiling():
    """They are parts of the first prices; what the owner changes holds at the next step."""
    of = night(parameters={'ceiling': 3.0, 'floor': 0.5})
    state = begun(of, DOUBLE)
    for n in range(1, 5):
        state = stepped(state, of, DOUBLE, CAPACITY, 100.0 + 50.0 * n)
    assert state.prices == (3000.0, 6.0, 0.0)
    lower = replace(of, price_core_hour=100)
    assert stepped(state, lower, FULL, CAPACITY, 350.0).prices[0] == 300.0


def test_without_capacity_prices_stay():
    """A queue without a share."""
    first = stepped(None, night(), HALF, (0.0, 0.0, 0.0), 0.0)
    assert stepped(first, night(), HALF, (0.0, 0.0, 0.0), 50.0).prices == first.prices


def test_anchored_returns_to_the_first_price():
    """Its fixed point at a load of 1."""
    of = night(price_rule='anchored')
    state = QueuePrices(at=100.0, prices=(4000.0, 2.0, 0.0), demand=FULL)
    for n in range(1, 60):
        state = stepped(state, of, FULL, CAPACITY, 100.0 + 50.0 * n)
    assert state.prices[0] == pytest.approx(1000.0, rel=0.01) and len(state.history) <= HISTORY


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        ({'parameters': {'step': 0.5}}, 'parameters.step: 0.5: give 1.001 to 1000'),
        ({'parameters': {'floor': 2.0}}, 'parameters.floor: 2: give 1e-06 to 1'),
        ({'parameters': {'price': 2.0}}, 'is none of policy tender: give price_period'),
        ({'parameters': {'gain': float('nan')}}, 'parameters.gain: nan'),
        ({'price_rule': 'dear'}, 'is no rule: give settled, printed or anchored'),
        ({'reuse': False}, 'reuse: a tender queue offers workers'),
    ],
)
def test_parameters_that_cannot_be_are_refused(given, words):
    """Named, with what is allowed; the same are fine in a queue with another policy."""
    with pytest.raises(BadQueue, match=words):
        changed_queue(night(), given, {'tender': None, 'easy': None}, ['small'], JobLimits())
    changed_queue(
        queue(), {**given, 'policy': 'easy'}, {'tender': None, 'easy': None}, ['small'], JobLimits()
    )
