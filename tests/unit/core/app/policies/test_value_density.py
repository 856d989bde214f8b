# SPDX-License-Identifier: Apache-2.0
"""The policy value_density: bids of what work is worth, within deadline and budget."""

import numpy as np
import pytest

from nova_market.core.app.policies.full_deadline import full_deadline
from nova_market.core.app.policies.policy_interface import PolicyState, StepReason, explain
from nova_market.core.app.policies.value_density import HELD, UNIT, value_density, worth
from nova_market.core.app.progress import lateness
from nova_market.errors import BadSnapshot
from nova_market.sim.market.one_host import Bidders, one_host_round
from tests.support.app_builders import applications, market


def application(state=PolicyState.WAITING, rows=1, **given):
    """Ten servers of one core on a cloud of 100 that the others pay 1000 for; 500 s of 1000 left."""
    rests = state != PolicyState.RUNNING
    known = {
        'rows': rows,
        'state': state,
        'count': 10,
        'most': (1.0, 0.0),
        'least': (0.25, 0.0),
        'bid': (0.0, 0.0) if rests else (10.0, 0.0),
        'allocation': (0.0, 0.0) if rests else (0.5, 0.0),
        'performance': np.inf if rests else 0.9,
        'deadlines': (500.0, 1000.0),
        'budget': 1000.0,
    } | given
    return applications(**known)


def test_a_bid_is_the_worth_of_the_work_that_is_left():
    """1000 credits, half of the time is needed, 5000 core-seconds."""
    steps = value_density(application())
    assert steps.state[0] == PolicyState.RUNNING
    assert steps.bid[0, 0] * 10 == pytest.approx(1000 * 0.5 / (1 + 5000 / UNIT))
    assert explain(steps, 0) == 'its bid buys what meets the deadline'


def test_less_work_and_less_time_are_worth_more():
    """At the same budget; at most the budget."""
    found = worth(np.full(3, 100.0), np.array([100.0, 1000.0, 1000.0]), np.array([0.5, 0.5, 0.9]))
    assert found[0] > found[1] and found[2] > found[1]
    assert worth(np.array([100.0]), np.array([0.0]), np.array([7.0]))[0] == 100.0


def test_who_runs_holds_on():
    """HELD times the bid of an equal one that waits, within the budget."""
    waits, runs = value_density(application()), value_density(application(PolicyState.RUNNING))
    bids = [steps.bid[0, 0] * 10 for steps in (waits, runs)]
    assert bids[1] == pytest.approx(min(HELD * bids[0], 1000.0))


def test_it_enters_only_where_that_meets_the_deadline():
    """Half of ten cores cost 5 * 1000 / 95 = 53 credits; 100 * .5 / 2.4 are not enough."""
    waits = value_density(application(budget=100.0))
    assert waits.state[0] == PolicyState.WAITING
    assert explain(waits, 0) == 'its bid does not buy what meets the deadline yet'
    assert value_density(application(budget=300.0)).state[0] == PolicyState.RUNNING


def test_it_suspends_when_it_is_late_and_its_bid_does_not_reach():
    """And not while it is in time, whatever it could buy."""
    late = {'performance': 1.2, 'budget': 20.0, 'bid': (1.0, 0.0)}
    steps = value_density(application(PolicyState.RUNNING, **late))
    assert steps.state[0] == PolicyState.SUSPENDED and (steps.bid == 0).all()
    assert StepReason.SUSPENDED in StepReason(int(steps.why[0]))
    in_time = late | {'performance': 0.9}
    assert (
        value_density(application(PolicyState.RUNNING, **in_time)).state[0] == PolicyState.RUNNING
    )


def test_it_gives_up_what_cannot_be_in_time():
    """For ever."""
    steps = value_density(application(deadlines=(1001.0, 1000.0)))
    assert steps.state[0] == PolicyState.DROPPED and explain(steps, 0).startswith('not even')
    assert value_density(application(PolicyState.DROPPED)).state[0] == PolicyState.DROPPED


def test_large_work_runs_in_an_empty_cloud():
    """A bid of twice the reserve at least: 10 cores at 1 credit."""
    empty = market(price=(1.0, 0.0), idle=(100.0, 1000.0), reserve=(1.0, 0.0))
    large = application(market=empty, budget=100.0, deadlines=(4e6, 5e6))
    steps = value_density(large)
    assert steps.state[0] == PolicyState.RUNNING and steps.bid[0, 0] * 10 == pytest.approx(20.0)


def test_it_asks_for_deadlines():
    """Other applications have other policies."""
    with pytest.raises(BadSnapshot, match='deadlines'):
        value_density(applications())


def test_bids_stay_within_the_budget_with_memory_too():
    """Both resources scarce, or one of them all."""
    for memory in (100.0, 1000.0):
        crowded = market(price=(10.0, 1.0), idle=(0.0, 0.0))
        seen = application(
            PolicyState.RUNNING,
            rows=3,
            market=crowded,
            most=(1.0, memory / 10),
            budget=(50.0, 500.0, 5e6),
        )
        steps = value_density(seen)
        assert (steps.bid.sum(axis=0) * 10 <= seen.budget * (1 + 1e-12)).all()
        assert (steps.bid[:, steps.state == PolicyState.RUNNING] > 0).all()


def changes(policy, memory, deadline=30000.0, budget=1e9):
    """Two applications that want so much of 1000 MiB each: how often they change state, what is left."""
    most = (5.0, memory)
    state, bid = np.full(2, int(PolicyState.WAITING)), np.zeros((2, 2))
    allocation, remaining = np.zeros((2, 2)), np.array([4000.0, 4200.0])
    seen_market = market(price=(1.0, 0.0), capacity=(10.0, 1000.0), idle=(10.0, 1000.0))
    found = 0
    for now in range(0, 500 * 60, 60):
        left = deadline - now
        speed = allocation[0] / 5.0 * allocation[1] / memory
        late = lateness(np.where(remaining > 0, remaining / np.maximum(speed, 1e-12), 0.0), left)
        seen = applications(
            rows=2, market=seen_market, state=state, count=1, most=most, least=(1.25, memory),
            performance=late, deadlines=(remaining, left), budget=budget,
        )  # fmt: skip
        seen.bid[:], seen.allocation[:] = bid, allocation
        steps = policy(seen)
        alive = remaining > 0
        found += int(((steps.state != state) & alive).sum())
        state, bid = steps.state, np.where(alive, steps.bid, 0.0)
        divided = one_host_round(
            seen_market,
            Bidders(
                count=(alive & (state == PolicyState.RUNNING)).astype(np.int64),
                bid=bid, most=seen.most, budget=seen.budget,
            ),
        )  # fmt: skip
        seen_market, allocation = divided.market, divided.allocation
        remaining = np.maximum(remaining - allocation[0] / 5.0 * allocation[1] / memory * 60, 0.0)
    return found, remaining


def test_two_that_want_all_memory_do_not_drive_each_other_out_for_ever():
    """Only one can be in time: it is, after a few changes; with full_deadline they change all the time."""
    found, remaining = changes(value_density, 1000.0, deadline=7000.0)
    assert found <= 6 and remaining[0] == 0.0
    assert changes(full_deadline, 1000.0, deadline=7000.0)[0] > 50


def test_what_fits_both_is_done_by_both():
    """Three fifths of the memory each: one after the other, as there is time."""
    found, remaining = changes(value_density, 600.0, deadline=5000.0)
    assert found <= 4 and remaining.tolist() == [0.0, 0.0]
