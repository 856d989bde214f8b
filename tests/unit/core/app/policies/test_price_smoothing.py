# SPDX-License-Identifier: Apache-2.0
"""A controller's memory of prices: a rise is believed at once, a fall little by little."""

import numpy as np
import pytest

from nova_market.core.app.policies.price_smoothing import smoothed_market
from tests.support.app_builders import market


def test_a_rise_is_believed_at_once():
    """The last price is all there is."""
    seen = smoothed_market(market(price=(10.0, 2.0)), np.array([5.0, 2.0]))
    assert seen.price.tolist() == [10.0, 2.0]


def test_a_fall_is_believed_little_by_little():
    """Half of it after about seven rounds, and the real price in the end."""
    memory, real = np.array([100.0, 0.0]), market(price=(1.0, 0.0))
    prices = []
    for _ in range(50):
        memory = smoothed_market(real, memory).price
        prices.append(memory[0])
    assert prices[0] == pytest.approx(90.0) and prices[6] == pytest.approx(47.8, abs=0.1)
    assert prices[-1] == 1.0


def test_the_rest_of_the_market_is_as_it_is():
    """Capacity and what is idle are facts."""
    real = market(idle=(30.0, 100.0))
    seen = smoothed_market(real, np.array([99.0, 99.0]))
    assert seen.idle is real.idle and seen.capacity is real.capacity
