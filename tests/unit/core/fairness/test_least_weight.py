# SPDX-License-Identifier: Apache-2.0
"""The least CPU weight: enough for every emulator, and as little as possible from the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.fairness.least_weight import LARGEST_PART, raised

WEIGHTS = st.lists(
    st.one_of(st.just(0.0), st.floats(min_value=0.001, max_value=262144.0)), min_size=1, max_size=40
).map(np.array)
CORES = st.floats(min_value=0.5, max_value=256.0)
LEAST = st.floats(min_value=0.0, max_value=0.1)


def test_a_hundredth_of_a_core():
    """Of four cores, 4096 shares: 2 becomes 10.27, which is a hundredth of a core in the sum of all."""
    found = raised(np.array([2.0, 2048.0, 2048.0]), 4.0, 0.01)
    assert found.tolist() == [pytest.approx(10.266, abs=1e-3), 2048.0, 2048.0]
    assert 4.0 * found[0] / found.sum() == pytest.approx(0.01)


def test_twenty_guests_that_are_given_nothing_take_a_fifth_of_a_core():
    """They count in the sum too: 12.8 / (1024 + 20 * 12.8) is a hundredth."""
    found = raised(np.array([341.0, 341.0, 342.0] + [0.0] * 20), 1.0, 0.01)
    assert found.tolist() == [341.0, 341.0, 342.0] + [pytest.approx(12.8)] * 20


def test_who_has_enough_keeps_his_weight():
    """Bids of 1, 3 and 5 are divided as ever."""
    paid = np.array([1024 / 9, 1024 / 3, 5 * 1024 / 9])
    assert raised(paid, 1.0, 0.01).tolist() == paid.tolist()


def test_many_guests_share_a_quarter_of_the_host():
    """A hundred of them on one core would have all of it."""
    found = raised(np.array([1024.0] + [0.0] * 99), 1.0, 0.01)
    assert found[1:].sum() / found.sum() == pytest.approx(99 / 100 * LARGEST_PART)
    assert len(set(found[1:].tolist())) == 1


@pytest.mark.parametrize(
    ('weights', 'cores', 'least'),
    [([], 1.0, 0.01), ([2.0, 9.0], 1.0, 0.0), ([2.0, 9.0], 0.0, 0.01)],
)
def test_nothing_to_raise(weights, cores, least):
    """No guests, no least weight, or a supply that is not known."""
    assert raised(np.array(weights), cores, least).tolist() == weights


@given(WEIGHTS, CORES, LEAST)
def test_everybody_has_enough_and_nobody_is_lowered(weights, cores, least):
    found = raised(weights, cores, least)
    assert (found >= weights).all()
    if found.sum() > 0:
        part = min(least / cores, LARGEST_PART / len(weights))
        assert (found / found.sum() >= part * (1 - 1e-9)).all()


@given(WEIGHTS, CORES, LEAST)
def test_the_order_stays_and_a_second_time_changes_nothing(weights, cores, least):
    """Of two guests, who had more still has at least as much; all that are raised have the same."""
    found = raised(weights, cores, least)
    by_weight = found[np.argsort(weights, kind='stable')]
    assert (np.diff(by_weight) >= 0).all()
    assert len(set(found[found > weights].tolist())) <= 1
    assert raised(found, cores, least) == pytest.approx(found)


@given(WEIGHTS, CORES, LEAST, st.integers(min_value=0, max_value=39), st.floats(1.0, 1000.0))
def test_more_weight_is_never_less(weights, cores, least, row, more):
    """A guest that is given more does not end with less."""
    row %= len(weights)
    higher = weights.copy()
    higher[row] += more
    assert raised(higher, cores, least)[row] >= raised(weights, cores, least)[row] * (1 - 1e-9)
