# SPDX-License-Identifier: Apache-2.0
"""Weighted max-min division and the memory guarantees made of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.fairness.memory_guarantee import GUARANTEED, SLACK, guarantees, spared
from nova_market.core.share import fair_shares


def test_paper_example():
    """Section IV-E: priorities 1 and 2 give 1/3 and 2/3."""
    np.testing.assert_allclose(
        fair_shares(np.array([1.0, 2.0]), np.array([9.0, 9.0]), 1.0), [1 / 3, 2 / 3]
    )


def test_what_a_capped_claimant_leaves_is_divided_again():
    shares = fair_shares(np.array([1.0, 1.0, 2.0]), np.array([0.1, 9.0, 9.0]), 1.0)
    np.testing.assert_allclose(shares, [0.1, 0.3, 0.6])


def test_nothing_to_divide():
    assert not fair_shares(np.array([0.0, 0.0]), np.array([1.0, 1.0]), 1.0).any()
    assert not fair_shares(np.array([1.0]), np.array([1.0]), 0.0).any()
    assert fair_shares(np.zeros(0), np.zeros(0), 1.0).shape == (0,)


claims = st.lists(st.tuples(st.floats(0.0, 100.0), st.floats(0.0, 50.0)), min_size=1, max_size=30)


@given(claims, st.floats(0.0, 200.0))
def test_conservation_caps_and_fairness(claims, capacity):
    """All of the capacity is given unless caps forbid; nobody below its cap envies a share per weight."""
    weights, caps = (np.array(column) for column in zip(*claims, strict=True))
    weights = np.where(weights < 1e-6, 0.0, weights)
    shares = fair_shares(weights, caps, capacity)
    assert (shares <= caps + 1e-9).all() and (shares >= 0).all()
    assert shares.sum() == pytest.approx(min(capacity, caps[weights > 0].sum()), abs=1e-6)
    hungry = (weights > 0) & (shares < caps - 1e-9)
    if hungry.any():
        level = (shares[hungry] / weights[hungry]).min()
        assert (shares[weights > 0] / weights[weights > 0] <= level * (1 + 1e-6) + 1e-9).all()


def test_working_sets_come_first():
    """A light guest's weight does not take a heavy one's working set while everything fits."""
    working, size = np.array([50.0, 10.0]), np.array([100.0, 100.0])
    given = guarantees(working, size, np.array([1.0, 16.0]), 100.0)
    assert given[0] >= 50.0 * SLACK - 1e-9
    assert given.sum() == pytest.approx(GUARANTEED * 100.0)


def test_soft_limit_is_never_below_the_working_set():
    working, size = np.array([80.0, 60.0]), np.array([80.0, 100.0])
    given = guarantees(working, size, np.array([1.0, 1.0]), 100.0)
    limits = spared(given, working, size)
    assert given[0] < 80.0
    assert limits[0] == 80.0
    assert limits[1] >= 60.0
