# SPDX-License-Identifier: Apache-2.0
"""Work that stops when it is too dear: section 2.3.2's first option."""

import numpy as np
import pytest

from nova_market.core.app.policies.merkat_policies import vertical
from nova_market.core.app.policies.policy_interface import PolicyState, StepReason, explain
from nova_market.core.app.policies.price_smoothing import smoothed_market
from nova_market.core.app.policies.stop import stop
from tests.support.app_builders import applications, market

WAITING, RUNNING, SUSPENDED = PolicyState.WAITING, PolicyState.RUNNING, PolicyState.SUSPENDED
OTHERS = {'idle': (0.0, 1000.0), 'price': (10.0, 0.0)}
"""100 cores, for which others pay 1000: 10 cores cost 111, 15 cores 176, 20 cores 250."""


def seen(**given):
    known = {'bid': (0.0, 0.0), 'allocation': (0.0, 0.0), 'least': (10.0, 0.0)} | given
    return applications(market=market(**OTHERS), **known)


def test_while_it_runs_it_is_the_vertical_policy():
    """To the last digit."""
    found = seen(allocation=(12.0, 0.0), bid=(120.0, 0.0), performance=2.0)
    for name in ('bid', 'change', 'why', 'state'):
        np.testing.assert_array_equal(getattr(stop(found), name), getattr(vertical(found), name))


@pytest.mark.parametrize(
    ('allocation', 'budget', 'expected'),
    [(9.0, 100.0, SUSPENDED), (9.0, 120.0, RUNNING), (10.0, 100.0, RUNNING)],
)
def test_it_rests_when_it_has_less_than_it_needs_and_cannot_buy_it(allocation, budget, expected):
    """Others pay 910 beside it: 10 cores cost 101."""
    found = stop(seen(allocation=(allocation, 0.0), bid=(90.0, 0.0), budget=budget))
    assert found.state.tolist() == [expected]
    if expected is SUSPENDED:
        assert found.bid.sum() == 0 and 'waits for a lower price' in explain(found, 0)


@pytest.mark.parametrize(
    ('state', 'budget', 'expected'),
    [
        (WAITING, 112.0, RUNNING),
        (WAITING, 111.0, WAITING),
        (SUSPENDED, 177.0, RUNNING),
        (SUSPENDED, 176.0, SUSPENDED),
    ],
)
def test_it_starts_with_the_least_and_resumes_with_three_quarters(state, budget, expected):
    """The paper's "75% of their maximum allocation", here of 20 cores."""
    found = stop(seen(state=state, budget=budget))
    assert found.state.tolist() == [expected]
    assert (found.bid[0, 0] > 0) == (expected is RUNNING)
    assert found.bid[0, 0] <= budget


def test_it_resumes_with_a_bid_for_that_part():
    """And a reason."""
    found = stop(seen(state=SUSPENDED, budget=1000.0))
    assert found.bid[0, 0] == pytest.approx(15 * 1000 / 85)
    assert found.why.tolist() == [StepReason.CHEAPER]


def test_above_the_price_that_its_owner_would_pay_it_rests():
    """Whatever its budget is: it has 15 cores at 10 each."""
    found = seen(allocation=(15.0, 0.0), bid=(150.0, 0.0))
    assert stop(found, cpu_price=9.9).state.tolist() == [SUSPENDED]
    assert stop(found, cpu_price=10.0).state.tolist() == [RUNNING]


def test_it_comes_back_only_where_it_would_not_make_the_price_too_high_itself():
    """15 cores would cost it 11.8 each, though the price is 10 now."""
    for state in (WAITING, SUSPENDED):
        found = seen(state=state, least=(15.0, 0.0))
        assert stop(found, cpu_price=11.7).state.tolist() == [state]
        assert stop(found, cpu_price=11.8).state.tolist() == [RUNNING]


def test_it_does_not_swing():
    """Alone with others that bid 1000: whatever it would pay, it comes and stays or does not come."""
    for cpu_price in np.linspace(8.0, 16.0, 33):
        states, given = [], {'state': SUSPENDED}
        paid, others = 0.0, 1000.0
        for _ in range(30):
            price = (others + paid) / 100
            of = market(price=(price, 0.0), idle=(0.0, 1000.0))
            allocation = min(paid / price, 20.0)
            found = applications(
                market=of, least=(1.0, 0.0), bid=(paid, 0.0), allocation=(allocation, 0.0), **given
            )
            steps = stop(found, cpu_price=cpu_price)
            paid, given = float(steps.bid[0, 0]), {'state': int(steps.state[0])}
            states.append(given['state'])
        assert len(set(states)) == 1, cpu_price


def test_what_uses_no_cpu_has_no_price_of_a_core():
    """Bounded by its budget alone."""
    found = applications(state=WAITING, most=(0.0, 10.0), least=(0.0, 1.0), allocation=(0.0, 0.0))
    assert stop(found, cpu_price=1.0).state.tolist() == [RUNNING]


def test_what_was_dropped_stays_so():
    dropped = stop(seen(state=PolicyState.DROPPED))
    assert dropped.state.tolist() == [PolicyState.DROPPED] and dropped.bid.sum() == 0


@pytest.mark.parametrize('state', [WAITING, SUSPENDED])
def test_it_comes_back_by_past_prices_and_leaves_by_the_last_one(state):
    """What the others bid when it left counts for a while, though the price fell with its leaving."""
    dear = smoothed_market(market(**OTHERS), np.array([[100.0, 0.0]]))
    given = {'bid': (0.0, 0.0), 'allocation': (0.0, 0.0), 'least': (10.0, 0.0), 'budget': 500.0}
    assert stop(applications(market=dear, state=state, **given)).state.tolist() == [state]
    assert stop(seen(state=state, budget=500.0)).state.tolist() == [RUNNING]
    assert stop(applications(market=dear, state=RUNNING, **given)).state.tolist() == [RUNNING]
