# SPDX-License-Identifier: Apache-2.0
"""The price to plan by: a rise counts at once, a fall little by little."""

import numpy as np
import pytest

from nova_market.core.app.policies.merkat_policies import horizontal, vertical
from nova_market.core.app.policies.policy_interface import others_pay
from nova_market.core.app.policies.price_smoothing import rounds_remembered, smoothed_market
from tests.support.app_builders import applications, market

NONE = np.zeros((0, 2))


def planned(past, price=(1.0, 0.0), **more):
    return smoothed_market(market(price=price), np.array(past), **more).planned_price


def test_a_rise_counts_at_once():
    """The last price is all there is."""
    assert planned([[5.0, 2.0]], price=(10.0, 2.0)).tolist() == [10.0, 2.0]


def test_a_fall_counts_little_by_little():
    """Half of it after about seven rounds, and the real price in the end."""
    prices = [planned([[100.0, 0.0], *[[1.0, 0.0]] * n])[0] for n in range(50)]
    assert prices[0] == pytest.approx(90.0) and prices[6] == pytest.approx(47.8, abs=0.1)
    assert prices[-1] == 1.0


def test_it_is_what_a_memory_of_one_price_makes_of_them_round_by_round():
    """So it needs no state: a controller that takes over reads the prices again."""
    prices = np.random.default_rng(1).lognormal(2.0, 1.0, (60, 2))
    memory = prices[0]
    for price in prices[1:]:
        memory = np.maximum(price, 0.9 * memory)
    np.testing.assert_allclose(planned(prices[:-1], price=prices[-1]), memory, rtol=1e-12)


def test_prices_that_no_longer_count_need_not_be_read():
    """What is left of them is below a hundredth."""
    assert [rounds_remembered(keep) for keep in (0.0, 0.5, 0.9, 0.99)] == [0, 7, 44, 459]
    assert 0.9 ** rounds_remembered(0.9) <= 0.01 < 0.9 ** (rounds_remembered(0.9) - 1)


def test_without_memory_or_earlier_rounds_the_last_price_is_planned_by():
    """As in the paper."""
    assert planned([[99.0, 99.0]], keep=0.0).tolist() == [1.0, 0.0]
    assert planned(NONE).tolist() == [1.0, 0.0]


def test_the_rest_of_the_market_is_as_it_is():
    """The last price, capacity and what is idle are facts."""
    real = market(idle=(30.0, 100.0))
    seen = smoothed_market(real, np.array([[99.0, 99.0]]))
    assert seen.idle is real.idle and seen.capacity is real.capacity and seen.price is real.price


def test_what_one_has_is_not_paid_by_others():
    """All that is used is its own: the cloud is free for it, whatever others made the price before."""
    real = market(price=(1.0, 0.0), idle=(60.0, 1000.0))
    dear = smoothed_market(real, np.array([[100.0, 0.0]]))
    alone = applications(market=dear, count=2, allocation=(20.0, 0.0), bid=(20.0, 0.0))
    assert others_pay(alone, planned=True)[0].tolist() == [0.0]
    assert others_pay(alone)[0].tolist() == [0.0]


def test_servers_are_planned_by_it_and_bids_are_not():
    """After a fall fewer servers are asked for than at the last price, which bids follow."""
    real = market(price=(10.0, 0.0), idle=(50.0, 1000.0))
    late = {'performance': 2.0, 'count': 3, 'budget': 1500.0}
    dear = smoothed_market(real, np.array([[40.0, 0.0]]))
    counts = [horizontal(applications(market=one, **late)).count[0] for one in (real, dear)]
    assert counts == [4, 3]
    bids = [vertical(applications(market=one, **late)).bid.tolist() for one in (real, dear)]
    assert bids[0] == bids[1]
