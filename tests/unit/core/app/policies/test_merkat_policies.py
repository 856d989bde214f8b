# SPDX-License-Identifier: Apache-2.0
"""Vertical, horizontal, hybrid and queue-driven scaling: Merkat, Algorithms 2 and 3, sections 2.3.4, 3.3."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.app.policies.merkat_policies import (
    horizontal,
    hybrid,
    upper_bound,
    vertical,
)
from nova_market.core.app.policies.policy_interface import (
    StepReason,
    bought,
    cost,
    explain,
    others_pay,
)
from nova_market.core.app.policies.queue_driven import queue_driven
from nova_market.errors import BadSnapshot
from tests.support.app_builders import applications, market


def cpu(steps, application=0):
    return float(steps.bid[0, application])


@pytest.mark.parametrize(
    ('performance', 'bid'),
    [
        (0.9, 100.0),  # at the reference
        (0.8, 100.0),  # within the band
        (1.2, 125.0),  # T = |.9 - 1.2| / 1.2 = .25
        (1.8, 150.0),  # T = .5
        (np.inf, 200.0),  # nothing happens at all: T = 1
        (0.6, 100 / 1.5),  # T = .5
        (0.3, 50.0),  # T = 2, limited to 1
        (0.0, 50.0),
    ],
)
def test_bids_follow_the_gap_at_most_twofold(performance, bid):
    """min(2, 1 + T) up and down; max(2, 1 + T), as printed, would double whatever the gap."""
    assert cpu(vertical(applications(performance=performance))) == pytest.approx(bid)


def test_a_bid_falls_no_further_than_the_least_allocation():
    """Line 5: at alloc_min nothing is given up."""
    steps = vertical(applications(performance=0.3, allocation=(1.0, 0.0)))
    assert cpu(steps) == 100.0


def test_less_than_the_least_allocation_raises_the_bid_whatever_the_performance():
    """Line 13; a bid of nothing begins with the price of the least allocation."""
    steps = vertical(applications(bid=(0.0, 0.0), allocation=(0.5, 0.0), least=(4.0, 0.0)))
    assert cpu(steps) == 40.0
    assert 'live with' in explain(steps, 0)


def test_a_full_allocation_is_not_paid_beyond_its_price():
    """Line 5, in the prose: at its maximum a bid falls, here to what the maximum costs."""
    seen = applications(allocation=(20.0, 0.0), bid=(300.0, 0.0), performance=0.6)
    assert cpu(vertical(seen)) == 200.0
    assert cpu(vertical(replace(seen, bid=np.array([[200.0], [0.0]])))) == pytest.approx(200 / 1.5)


def test_a_full_allocation_that_is_not_enough_keeps_its_bid():
    """More credits buy nothing there; fewer would make it worse."""
    assert cpu(vertical(applications(allocation=(20.0, 0.0), performance=1.5))) == 100.0


def test_a_swing_is_halved():
    """Lines 7 to 10 and 15 to 18: as large as the last change and the other way."""
    steps = vertical(applications(performance=1.2, change=(-25.0, 0.0)))
    assert cpu(steps) == pytest.approx(112.5)
    assert StepReason.DAMPED in StepReason(int(steps.why[0]))
    down = vertical(applications(performance=0.6, change=(33.0, 0.0)))
    assert cpu(down) == pytest.approx(100 - 100 / 3 / 2)


@pytest.mark.parametrize('last', [25.0, -40.0, 0.0])
def test_no_swing_is_not_halved(last):
    """The same direction, another size, or no change before."""
    assert cpu(vertical(applications(performance=1.2, change=(last, 0.0)))) == pytest.approx(125.0)


def simulate(policy, periods=40, start=100.0, needed=30.0):
    """One application among others that bid 700 for 100 units; v is what it needs / what it gets."""
    seen, allocated = applications(bid=(start, 0.0), most=(100.0, 0.0), reference=0.9), []
    for _ in range(periods):
        bid = float(seen.bid[0, 0])
        got = bid / (bid + 700.0) * 100.0
        allocated.append(got)
        seen = replace(
            seen,
            allocation=np.array([[got], [0.0]]),
            market=market(price=((bid + 700.0) / 100.0, 0.0)),
            band=replace(seen.band, performance=np.array([needed / got])),
        )
        steps = policy(seen)
        seen = replace(seen, bid=steps.bid, change=steps.change)
    return allocated


@pytest.mark.parametrize('start', [1.0, 20.0, 100.0, 3000.0, 50000.0])
def test_bids_settle_within_the_band_and_stay(start):
    """Need 30 of 100: printed, the algorithm swings for ever; repaired, it is quiet after ten periods."""
    allocated = simulate(vertical, start=start)
    quiet = allocated[16:] if 20 <= start <= 3000 else allocated[24:]
    assert max(quiet) - min(quiet) < 1e-9
    assert 0.75 <= 30 / quiet[0] <= 1.0


def test_without_damping_this_test_would_fail():
    """The band is reached by the damped policy where a doubling one swings over it for ever."""

    def doubling(seen):
        steps = vertical(replace(seen, change=np.zeros_like(seen.change)))
        v = float(seen.band.performance[0])
        factor = 2.0 if v > 1.0 else 0.5 if v < 0.98 else 1.0
        return replace(steps, bid=seen.bid * factor)

    allocated = simulate(doubling)
    assert max(allocated[30:]) - min(allocated[30:]) > 10


def test_a_budget_favours_what_is_scarce():
    """Lines 21 to 29: CPU has half of its maximum, memory is full and keeps its bid."""
    seen = applications(
        market=market(price=(10.0, 1.0)),
        bid=(200.0, 50.0),
        allocation=(10.0, 50.0),
        most=(20.0, 50.0),
        performance=1.8,
        budget=150.0,
    )
    steps = vertical(seen)
    assert steps.bid[:, 0] == pytest.approx([100.0, 50.0])
    assert StepReason.SHORT in StepReason(int(steps.why[0]))


def test_a_budget_is_shared_by_what_lacks():
    """1 - alloc / allocmax: 3/4 and 1/4."""
    seen = applications(
        market=market(price=(10.0, 1.0)),
        bid=(200.0, 200.0),
        allocation=(5.0, 75.0),
        most=(20.0, 100.0),
        performance=1.8,
        budget=80.0,
    )
    assert vertical(seen).bid[:, 0] == pytest.approx([60.0, 20.0])


def test_full_bids_above_the_budget_are_scaled_together():
    """Nothing lacks and it is still too much: the sum of weights would be 0."""
    seen = applications(
        market=market(price=(10.0, 1.0)),
        bid=(300.0, 100.0),
        allocation=(20.0, 100.0),
        most=(20.0, 100.0),
        budget=200.0,
    )
    assert vertical(seen).bid[:, 0] == pytest.approx([150.0, 50.0])


def test_what_full_resources_keep_is_scaled_when_nothing_is_left():
    """bid_max would be negative in line 25."""
    seen = applications(
        market=market(price=(10.0, 1.0)),
        bid=(100.0, 300.0),
        allocation=(10.0, 100.0),
        most=(20.0, 100.0),
        performance=1.8,
        budget=100.0,
    )
    bids = vertical(seen).bid[:, 0]
    assert bids.sum() == pytest.approx(100.0) and (bids > 0).all()


def test_the_budget_of_an_application_is_that_of_all_its_servers():
    """Four servers: each may spend a quarter."""
    steps = vertical(applications(count=4, performance=1.8, budget=400.0))
    assert cpu(steps) == 100.0


def test_each_application_is_decided_by_itself():
    """A column of many is what it would be alone."""
    performance = np.array([0.3, 0.9, 1.2, np.inf])
    many = vertical(applications(4, performance=performance))
    alone = [cpu(vertical(applications(performance=v))) for v in performance]
    assert many.bid[0].tolist() == pytest.approx(alone)


def test_the_cost_of_an_amount_buys_it():
    """cost and bought are each other's inverse, at prices that rise with the own bid."""
    state = market(price=(10.0, 0.0), reserve=(2.0, 0.0))
    others = np.array([[700.0], [0.0]])
    for amount in (1.0, 30.0, 99.0):
        needed = cost(np.array([[amount], [0.0]]), others, state)
        assert bought(needed, others, state)[0, 0] == pytest.approx(amount)
    assert cost(np.array([[100.0], [0.0]]), others, state)[0, 0] == np.inf


def test_at_the_reserve_price_nobody_pays_more_than_it():
    """An idle cloud: eq. (1) solved would ask for more."""
    state = market(price=(2.0, 0.0), idle=(90.0, 1000.0), reserve=(2.0, 0.0))
    seen = applications(market=state, bid=(0.0, 0.0), allocation=(0.0, 0.0))
    others = others_pay(seen)
    assert others[0, 0] == pytest.approx(20.0)
    assert cost(np.array([[50.0], [0.0]]), others, state)[0, 0] == pytest.approx(100.0)


def test_what_is_paid_for_servers_that_drain_is_not_paid_by_others():
    """Three stay and one drains, alone in a full cloud: the bids of three pay for what four have."""
    full = market(price=(100.0, 0.0), capacity=(40.0, 1000.0), idle=(0.0, 1000.0))
    alone = applications(
        market=full, count=3, bid=(1000.0, 0.0), allocation=(10.0, 0.0), draining=np.array([1])
    )
    assert others_pay(alone)[0].tolist() == [0.0]
    assert others_pay(replace(alone, draining=None))[0].tolist() == [1000.0]


def test_the_bound_counts_what_the_others_pay():
    """Own share 50 %: the printed formula, with the own bid in the price, would ask for twice as much."""
    seen = applications(bid=(500.0, 0.0), allocation=(50.0, 0.0), most=(50.0, 0.0), budget=600.0)
    count, bid = upper_bound(seen, np.array([1]))
    assert (count[0], bid[0, 0]) == (1, pytest.approx(500.0))


@pytest.mark.parametrize(
    ('budget', 'count'), [(0.0, 1), (98.9, 1), (110.0, 1), (250.0, 2), (1e4, 9), (1e9, 9)]
)
def test_as_many_servers_as_the_budget_buys_in_full(budget, count):
    """10 units each of 100: N * 10 * 1000 / (100 - N * 10) <= budget; never all of the cloud."""
    seen = applications(
        bid=(0.0, 0.0), allocation=(0.0, 0.0), most=(10.0, 0.0), budget=budget, count=0
    )
    found, bid = upper_bound(seen, np.array([12]))
    assert found[0] == count
    assert found[0] * bid.sum() <= max(budget, 2.0) * (1 + 1e-9)


@pytest.mark.parametrize(
    ('performance', 'count'),
    [(1.5, 5), (0.9, 4), (0.7, 3), (0.76, 4)],
)
def test_a_server_more_or_less(performance, count):
    """Lines 2 to 6; .7 * 4 / 3 = .93 is still good, so one goes."""
    seen = applications(performance=performance, count=4, most=(2.0, 0.0))
    assert horizontal(seen).count[0] == count


def test_a_server_stays_when_the_others_could_not_carry_its_part():
    """.7 * 2 / 1 = 1.4 is worse than the upper threshold: it would come back at once."""
    assert horizontal(applications(performance=0.7, count=2, most=(2.0, 0.0))).count[0] == 2


def test_servers_are_given_back_when_the_price_rises():
    """Line 8: the budget buys 2 in full at five times the price."""
    seen = applications(
        count=4, most=(2.0, 0.0), allocation=(1.0, 0.0), bid=(50.0, 0.0), budget=230.0
    )
    dear = replace(seen, market=market(price=(50.0, 0.0)))
    steps = horizontal(dear)
    assert steps.count[0] == 2
    assert StepReason.TOO_DEAR in StepReason(int(steps.why[0]))


def test_limits_hold():
    """least_count and most_count."""
    assert horizontal(applications(performance=9.0, count=4, most_count=4)).count[0] == 4
    assert horizontal(applications(performance=0.1, count=4, least_count=4)).count[0] == 4


def test_hybrid_bids_first_and_grows_when_full():
    """Section 2.3.4."""
    rising = hybrid(applications(performance=1.5, count=2, most=(20.0, 0.0)))
    assert rising.count[0] == 2 and cpu(rising) > 100.0
    full = hybrid(applications(performance=1.5, count=2, most=(10.0, 0.0)))
    assert full.count[0] == 3


def test_hybrid_gives_servers_back_before_bids_fall():
    """Three that do .6: two would do .9."""
    steps = hybrid(applications(performance=0.6, count=3, most=(10.0, 0.0)))
    assert steps.count[0] == 2
    assert hybrid(applications(performance=0.6, count=1, most=(20.0, 0.0))).count[0] == 1


@pytest.mark.parametrize(
    ('waiting', 'busy', 'lost', 'count'),
    [
        (0, 8, False, 8),
        (100, 8, False, 10),  # a quarter more
        (1, 8, False, 9),
        (100, 8, True, 8),  # some were lost to the price: none are started
        (0, 3, False, 3),  # five have nothing to do
        (0, 0, False, 1),
    ],
)
def test_a_queue_asks_for_servers_step_by_step(waiting, busy, lost, count):
    """Section 3.3.1, both rules."""
    seen = applications(count=8, most=(1.0, 0.0), backlog=(waiting, busy, lost))
    steps = queue_driven(seen)
    assert steps.count[0] == count
    assert (StepReason.HELD_BACK in StepReason(int(steps.why[0]))) is (lost and waiting > 0)


def test_a_policy_says_what_it_lacks():
    """And arrays of another shape are refused."""
    with pytest.raises(BadSnapshot, match='backlogs'):
        queue_driven(applications())
    with pytest.raises(BadSnapshot, match='bid has the shape'):
        replace(applications(), bid=np.zeros((1, 1)))
