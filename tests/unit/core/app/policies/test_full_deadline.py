# SPDX-License-Identifier: Apache-2.0
"""The full-deadline policy (Merkat 3.2.1): start, adapt, suspend, resume, give up."""

import numpy as np
import pytest

from nova_market.core.app.policies.full_deadline import affordable_part, full_deadline
from nova_market.core.app.policies.policy_interface import (
    PolicyState,
    StepReason,
    explain,
    others_pay,
)
from nova_market.errors import BadSnapshot
from tests.support.app_builders import applications, market


def application(state=PolicyState.WAITING, **given):
    """Ten servers of one core on a cloud of 100 that the others pay 1000 for."""
    rests = state != PolicyState.RUNNING
    known = {
        'state': state,
        'count': 10,
        'most': (1.0, 0.0),
        'least': (0.25, 0.0),
        'bid': (0.0, 0.0) if rests else (10.0, 0.0),
        'allocation': (0.0, 0.0) if rests else (0.5, 0.0),
        'performance': np.inf if rests else 0.9,
        'deadlines': (1000.0, 2000.0),
    } | given
    return applications(**known)


def test_it_starts_when_the_least_allocation_can_be_paid():
    """A quarter of ten cores: 2.5 * 1000 / 97.5 = 25.6 credits."""
    assert full_deadline(application(budget=25.0)).state[0] == PolicyState.WAITING
    steps = full_deadline(application(budget=26.0))
    assert steps.state[0] == PolicyState.RUNNING
    assert steps.bid[0, 0] * 10 == pytest.approx(26.0)
    assert explain(steps, 0) == 'the least allocation can be paid'


def test_the_first_bid_buys_the_reference_performance():
    """Needs half of ten cores, at .9: 5.56 * 1000 / 94.44 for all ten."""
    steps = full_deadline(application())
    assert steps.bid[0, 0] * 10 == pytest.approx(5.5556 * 1000 / 94.4444, rel=1e-4)


def test_it_adapts_while_it_runs():
    """The vertical policy, with the lateness as performance."""
    steps = full_deadline(application(PolicyState.RUNNING, performance=1.2))
    assert steps.state[0] == PolicyState.RUNNING and steps.bid[0, 0] == pytest.approx(12.5)


def test_it_suspends_when_all_its_credits_do_not_reach():
    """Needs 5 cores, about 53 credits."""
    short = application(PolicyState.RUNNING, performance=1.2, budget=40.0)
    steps = full_deadline(short)
    assert steps.state[0] == PolicyState.SUSPENDED and steps.bid[0, 0] == 0.0
    assert StepReason.SUSPENDED in StepReason(int(steps.why[0]))
    assert (
        full_deadline(application(PolicyState.RUNNING, performance=1.2)).state[0]
        == PolicyState.RUNNING
    )


def test_it_does_not_suspend_while_it_is_in_time():
    """Whatever it could buy: it has what it needs."""
    assert (
        full_deadline(application(PolicyState.RUNNING, budget=40.0)).state[0] == PolicyState.RUNNING
    )


@pytest.mark.parametrize(('budget', 'state'), [(54.0, 'SUSPENDED'), (59.0, 'RUNNING')])
def test_it_resumes_when_the_deadline_can_be_met_with_room(budget, state):
    """5 cores cost 52.6 of others' 1000; a tenth more is asked for, against swings."""
    steps = full_deadline(application(PolicyState.SUSPENDED, budget=budget))
    assert steps.state[0] == PolicyState[state]


@pytest.mark.parametrize(
    'state', [PolicyState.WAITING, PolicyState.RUNNING, PolicyState.SUSPENDED, PolicyState.DROPPED]
)
def test_it_gives_up_when_full_speed_is_too_slow(state):
    """And never comes back."""
    steps = full_deadline(application(state, deadlines=(1000.0, 999.0)))
    assert steps.state[0] == PolicyState.DROPPED and (steps.bid == 0).all()


def test_dropped_stays_dropped():
    """Even if its deadline is moved."""
    assert full_deadline(application(PolicyState.DROPPED)).state[0] == PolicyState.DROPPED


def test_memory_is_bought_in_full_first():
    """What it costs is not there for CPU."""
    state = market(price=(10.0, 1.0), idle=(0.0, 0.0))
    seen = application(market=state, most=(1.0, 20.0), budget=300.0)
    plenty = application(market=state, budget=300.0)
    with_memory = affordable_part(seen, others_pay(seen))[0]
    assert with_memory < affordable_part(plenty, others_pay(plenty))[0]
    # 200 MiB of 1000 that others pay 1000 for cost 250; 50 credits are left: 50 * 100 / 1050 cores
    assert with_memory == pytest.approx(50 * 100 / 1050 / 10)


def test_the_budget_is_never_exceeded():
    """Bids of any state, memory included."""
    rng = np.random.default_rng(3)
    seen = applications(
        500,
        state=rng.integers(0, 4, 500),
        count=rng.integers(1, 20, 500),
        market=market(price=(10.0, 1.0), idle=(0.0, 0.0)),
        most=(1.0, rng.uniform(0, 50, 500)),
        least=(0.25, 0.0),
        bid=(rng.uniform(0, 50, 500), rng.uniform(0, 50, 500)),
        allocation=(rng.uniform(0, 1, 500), 0.0),
        performance=rng.uniform(0, 3, 500),
        budget=rng.uniform(20, 2000, 500),
        deadlines=(rng.uniform(0, 1000, 500), rng.uniform(-100, 2000, 500)),
    )
    steps = full_deadline(seen)
    runs = steps.state == PolicyState.RUNNING
    spent = steps.bid.sum(axis=0) * seen.count
    assert (spent[runs] <= seen.budget[runs] * (1 + 1e-9)).all()
    assert (spent[~runs] == 0).all() and np.isfinite(steps.bid).all()


def test_it_needs_deadlines():
    """Said, not guessed."""
    with pytest.raises(BadSnapshot, match='deadlines'):
        full_deadline(applications())
