# SPDX-License-Identifier: Apache-2.0
"""Work that takes what is left: section 3.4.1's constant bid."""

import numpy as np
import pytest

from nova_market.core.app.policies.best_effort import best_effort
from nova_market.core.app.policies.policy_interface import PolicyState, StepReason, explain
from nova_market.core.app.policies.price_smoothing import smoothed_market
from tests.support.app_builders import applications, market

WAITING, RUNNING, SUSPENDED = PolicyState.WAITING, PolicyState.RUNNING, PolicyState.SUSPENDED
BUSY = {'price': (10.0, 0.0), 'idle': (0.0, 1000.0), 'reserve': (0.5, 0.0)}
EMPTY = {'price': (0.5, 0.0), 'idle': (100.0, 1000.0), 'reserve': (0.5, 0.0)}


def step(of=BUSY, **given):
    known = {'bid': (0.0, 0.0), 'allocation': (0.0, 0.0), 'least': (0.0, 0.0)} | given
    return best_effort(applications(market=market(**of), **known))


@pytest.mark.parametrize('performance', [0.1, 0.9, 99.0])
@pytest.mark.parametrize('of', [BUSY, EMPTY])
def test_its_bid_is_what_all_it_can_use_costs_at_the_reserve_price(of, performance):
    """Whatever the price is, and however it performs: 20 cores at half a micro-credit."""
    assert step(of, performance=performance).bid[0].tolist() == [10.0]


def test_its_owner_may_name_other_bids():
    """100 for CPU and 900 for memory, as in the paper; a server that uses no memory bids nothing for it."""
    seen = applications(market=market(**BUSY), most=(20.0, 512.0))
    assert best_effort(seen, cpu=100.0, memory=900.0).bid[:, 0].tolist() == [100.0, 900.0]
    without = applications(market=market(**BUSY))
    assert best_effort(without, cpu=100.0, memory=900.0).bid[:, 0].tolist() == [100.0, 0.0]


def test_its_budget_is_the_end_of_it():
    """Of all its servers; both bids fall by the same part."""
    seen = applications(market=market(**BUSY), most=(20.0, 512.0), count=2, budget=500.0)
    np.testing.assert_allclose(best_effort(seen, cpu=100.0, memory=900.0).bid[:, 0], [25.0, 225.0])


def test_without_a_least_allocation_it_runs_on_with_whatever_it_gets():
    assert step(allocation=(0.01, 0.0)).state.tolist() == [RUNNING]
    assert step(state=WAITING).state.tolist() == [RUNNING]


def test_it_rests_while_its_bid_buys_less_than_it_needs():
    """It bids nothing then. While what it has is enough it stays, whatever its bid would buy."""
    leaves = step(least=(1.0, 0.0), allocation=(0.5, 0.0))
    assert leaves.state.tolist() == [SUSPENDED] and leaves.bid.sum() == 0
    assert 'does not buy its least allocation' in explain(leaves, 0)
    assert step(least=(1.0, 0.0), allocation=(1.0, 0.0)).state.tolist() == [RUNNING]
    assert step(least=(0.9, 0.0), allocation=(0.5, 0.0)).state.tolist() == [RUNNING]


@pytest.mark.parametrize(
    ('state', 'least', 'expected'),
    [
        (WAITING, 0.98, RUNNING),
        (WAITING, 1.0, WAITING),
        (SUSPENDED, 0.89, RUNNING),
        (SUSPENDED, 0.95, SUSPENDED),
    ],
)
def test_it_starts_with_the_least_and_resumes_with_a_tenth_more(state, least, expected):
    """A bid of 10 where the others pay 1000 for 100 cores buys 0.99 of a core."""
    found = step(state=state, least=(least, 0.0))
    assert found.state.tolist() == [expected]
    assert (found.bid[0, 0] > 0) == (expected is RUNNING)


def test_without_a_budget_it_does_not_start():
    for state in (WAITING, SUSPENDED):
        assert step(EMPTY, state=state, budget=0.0).state.tolist() == [state]


def test_it_resumes_when_the_price_falls():
    """It says so."""
    resumed = step(EMPTY, state=SUSPENDED, least=(1.0, 0.0))
    assert resumed.why.tolist() == [StepReason.CHEAPER]


def test_what_was_dropped_stays_so():
    dropped = step(EMPTY, state=PolicyState.DROPPED)
    assert dropped.state.tolist() == [PolicyState.DROPPED] and dropped.bid.sum() == 0


@pytest.mark.parametrize('state', [WAITING, SUSPENDED])
def test_it_comes_back_by_past_prices_and_leaves_by_the_last_one(state):
    """What the others bid when it left counts for a while, though the price fell with its leaving."""
    dear = smoothed_market(market(**BUSY), np.array([[100.0, 0.0]]))
    given = {'bid': (0.0, 0.0), 'allocation': (0.0, 0.0), 'least': (0.5, 0.0)}
    assert best_effort(applications(market=dear, state=state, **given)).state.tolist() == [state]
    assert step(state=state, least=(0.5, 0.0)).state.tolist() == [RUNNING]
    assert best_effort(applications(market=dear, **given)).state.tolist() == [RUNNING]
