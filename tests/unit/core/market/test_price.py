# SPDX-License-Identifier: Apache-2.0
"""Prices: clearing, the paper's sum of bids, and the price that follows demand."""

import numpy as np
import pytest

from nova_market.core.market.price import (
    DemandSettings,
    ResourceMarket,
    allocations,
    allowed_factor,
    bid_price,
    charges,
    clearing_price,
    demand,
    demand_price,
    held_price,
    quantiles,
)

WIDE = DemandSettings(floor=1e-9, step=1e9)


def market(bids, caps, capacity, **more):
    return ResourceMarket(
        bids=np.array(bids, float), caps=np.array(caps, float), capacity=capacity, **more
    )


def test_demand_meets_capacity_at_the_clearing_price():
    found = market([10, 20, 70], [1.0, 2.0, 3.0], 5.0)
    price = clearing_price(found)
    assert price == pytest.approx(15.0)
    assert demand(found, price) == pytest.approx(5.0)
    np.testing.assert_allclose(allocations(found, price), [10 / 15, 20 / 15, 3.0])


@pytest.mark.parametrize(('reserve', 'price'), [(0.0, 0.0), (7.0, 7.0)])
def test_left_over_capacity_costs_the_reserve(reserve, price):
    assert clearing_price(market([10], [1.0], 5.0, reserve=reserve)) == price


def test_no_bids_and_no_capacity():
    assert clearing_price(market([], [], 5.0, reserve=3.0)) == 3.0
    assert clearing_price(market([10], [1.0], 0.0, reserve=3.0)) == 3.0
    assert bid_price(market([10], [1.0], 0.0, reserve=3.0)) == 3.0


@pytest.mark.parametrize(
    ('asked', 'last_demand', 'price'),
    [
        (20.0, 10.0, 100 * 2.0**2),  # first case: (1 + (20 - 10) / 10) ** (20 / 10)
        (5.0, 10.0, 100 * 0.5**0.5),
        (20.0, 0.0, 200.0),  # second case: no exponent
        (0.0, 10.0, 50.0),  # third: halved
        (10.0, 3.0, 100.0),
    ],
)
def test_equation_5(asked, last_demand, price):
    """Capacity 10, price 100; a bidder whose bid is no limit asks for its cap."""
    found = market([1e9], [asked], 10.0, last_price=100.0, last_demand=last_demand)
    assert demand_price(found, WIDE) == pytest.approx(price)


def test_demand_price_has_floor_and_step():
    up = market([1e9], [1e6], 10.0, last_price=100.0, last_demand=1.0)
    down = market([1e9], [1e-6], 10.0, last_price=100.0, last_demand=1.0)
    idle = market([], [], 10.0, last_price=1.5, last_demand=1.0)
    assert demand_price(up) == pytest.approx(200.0)
    assert demand_price(down, DemandSettings(step=4.0)) < 100.0
    assert demand_price(idle) == 1.0


def test_demand_price_survives_extremes():
    for asked in (1e-300, 1e300):
        for last in (1e-300, 1e300):
            found = market([2.0**53], [asked], 10.0, last_price=1e-8, last_demand=last)
            assert 0 < demand_price(found) < 1e9


def test_demand_price_settles_at_the_clearing_price():
    """With steady bids the last price's demand closes the loop."""
    bids, caps = [10, 20, 70], [1.0, 2.0, 3.0]
    price, last = 1.0, 0.0
    for _ in range(200):
        found = market(bids, caps, 5.0, last_price=price, last_demand=last)
        last = demand(found, price)
        price = demand_price(found, WIDE)
    assert price == pytest.approx(15.0, rel=1e-6)


def test_a_price_below_clearing_does_not_hand_out_more_than_there_is():
    found = market([10, 10], [4.0, 4.0], 5.0)
    np.testing.assert_allclose(allocations(found, 1.0), [2.5, 2.5])


def test_charges_are_whole_and_at_most_the_bid():
    bids, price = np.array([100.0, 100.0, 100.0]), 33.0
    assert list(charges(bids, np.array([100 / 33, 1.01, 0.0]), price)) == [100, 33, 0]


def test_quantiles_of_a_quote():
    np.testing.assert_allclose(quantiles(np.array([4.0, 8.0, 12.0]), (0.0, 0.5, 1.0)), [4, 8, 12])
    assert quantiles(np.zeros(0)).shape == (0,)


@pytest.mark.parametrize(
    ('price', 'held'), [(50.0, 50.0), (150.0, 150.0), (250.0, 200.0), (20.0, 50.0), (0.1, 50.0)]
)
def test_the_breaker_holds_a_price_within_a_factor(price, held):
    """B4: from 100 it may go down to 50 and up to 200."""
    assert held_price(market([], [], 1.0, last_price=100.0), price, 2.0) == held


def test_the_breaker_holds_no_price_that_bids_did_not_make():
    """After the reserve price, or none, any price may follow, and the reserve price may follow any other."""
    assert held_price(market([], [], 1.0), 9.0, 2.0) == 9.0
    assert held_price(market([], [], 1.0, reserve=3.0, last_price=90.0), 3.0, 2.0) == 3.0
    assert held_price(market([], [], 1.0, reserve=3.0, last_price=5.0), 3.1, 1.5) > 3.1
    assert held_price(market([], [], 1.0, reserve=3.0, last_price=3.0), 9.0, 2.0) == 9.0
    assert held_price(market([], [], 1.0, reserve=3.0, last_price=4.0), 3.0, 2.0) == 3.0


def test_the_breaker_allows_its_factor_for_each_period():
    """Engines that were away for three periods find prices of three periods ago."""
    assert allowed_factor(2.0, 1) == pytest.approx(2.0)
    assert allowed_factor(2.0, 3) == pytest.approx(8.0)
    assert allowed_factor(2.0, 0) == pytest.approx(2.0)
    assert allowed_factor(2.0, 10**9) == np.inf


def test_below_the_clearing_price_the_capacity_is_divided_again():
    """The same allocations as at the clearing price, for less."""
    found = market([10, 20, 70], [1.0, 2.0, 3.0], 5.0)
    clear = clearing_price(found)
    np.testing.assert_allclose(allocations(found, clear / 3), allocations(found, clear))
