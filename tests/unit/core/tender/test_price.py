# SPDX-License-Identifier: Apache-2.0
"""T1: eq. (5) in numbers, what is settled in its place, and a rule with a fixed point."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.tender.price import PriceSettings, PriceState, anchored, printed, settled

FREE = PriceSettings(step=0.0)
RULES = (printed, settled, anchored)


def factor(rule, before: float, load: float, settings: PriceSettings = FREE) -> float:
    """By how much a price of 100 changes, with a capacity of 40."""
    state = PriceState(price=100.0, demand=40 * load, last_demand=40 * before, capacity=40.0)
    return rule(state, settings) / 100.0


@pytest.mark.parametrize(
    ('before', 'load', 'expected'),
    [
        (1.0, 1.0, 1.0),
        (0.5, 0.5, 0.5),
        (2.0, 2.0, 2.0),
        (0.1, 0.9, 0.387),
        (0.9, 0.1, 0.774),
        (1.0, 3.0, 27.0),
        (0.1, 2.0, 2.0**20),
        (0.0, 0.25, 0.25),
        (0.7, 0.0, 0.5),
        (0.0, 0.0, 0.5),
    ],
)
def test_equation_5_as_printed(before, load, expected):
    """Its three cases; below capacity a growing demand makes a price fall faster."""
    assert factor(printed, before, load) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(
    ('before', 'load', 'expected'),
    [
        (1.0, 1.0, 1.0),
        (0.9, 0.9, 0.9),
        # 0.9 ** (1 / 9)
        (0.1, 0.9, 0.988),
        # 0.1 ** 9, held
        (0.9, 0.1, 0.5),
        (1.0, 3.0, 2.0),
        # 1.2 ** 0.75
        (1.6, 1.2, 1.1465),
        (0.0, 0.0, 0.5),
        (0.0, 0.9, 0.9),
    ],
)
def test_what_is_settled_in_its_place(before, load, expected):
    """Below capacity the exponent is inverted; a step is at most 2."""
    assert factor(settled, before, load, PriceSettings()) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize('load', [0.05, 0.5, 1.0, 4.0])
@pytest.mark.parametrize('first', [1e-6, 30.0, 1e9])
def test_a_steady_load_has_one_price(load, first):
    """anchor * load ** elasticity, from any first price; eq. (5) has none but at a load of 1."""
    settings = PriceSettings(anchor=30.0, elasticity=2.0)
    price = first
    for _ in range(200):
        state = PriceState(price=price, demand=load, last_demand=load, capacity=1.0)
        price = anchored(state, settings)
    assert price == pytest.approx(30.0 * load**2)


AMOUNTS = st.one_of(st.just(0.0), st.floats(1e-300, 1e300))


@given(
    rule=st.sampled_from(RULES),
    price=st.floats(1e-6, 1e12),
    demand=AMOUNTS,
    last=AMOUNTS,
    capacity=AMOUNTS,
    step=st.sampled_from([0.0, 1.5, 2.0]),
)
def test_a_price_stays_within_its_bounds(rule, price, demand, last, capacity, step):
    """Finite, between floor and ceiling, and within a step of the price before, whatever is asked for."""
    settings = PriceSettings(floor=1e-6, ceiling=1e12, step=step, anchor=10.0)
    state = PriceState(price=price, demand=demand, last_demand=last, capacity=capacity)
    found = rule(state, settings)
    assert math.isfinite(found) and settings.floor <= found <= settings.ceiling
    if step:
        assert price / step * (1 - 1e-12) <= found <= price * step * (1 + 1e-12)


@given(
    rule=st.sampled_from((settled, anchored)),
    last=st.floats(0.01, 5.0),
    load=st.floats(0.01, 5.0),
    more=st.floats(0.0, 2.0),
)
def test_more_demand_never_means_a_lower_price(rule, last, load, more):
    """Which eq. (5) as printed does not keep below capacity."""
    less = factor(rule, last, load, PriceSettings())
    assert factor(rule, last, load + more, PriceSettings()) >= less * (1 - 1e-12)
