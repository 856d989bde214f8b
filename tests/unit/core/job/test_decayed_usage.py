# SPDX-License-Identifier: Apache-2.0
"""Usage that halves: the formula against a sum over seconds, however often it is computed."""

import numpy as np
import pytest

from nova_market.core.job.decayed_usage import by_owner, decayed, used_until

HALF = 1000.0


def test_a_core_second_of_one_half_life_ago_counts_half() -> None:
    """One core during one second that ended 1000 seconds ago."""
    found = used_until(np.ones(1), np.zeros(1), np.ones(1), 1000.5, HALF)
    assert found[0] == pytest.approx(0.5, rel=1e-6)


def test_it_is_the_sum_of_its_seconds() -> None:
    """Three cores for 100 seconds, that ended 50 seconds ago."""
    found = used_until(np.array([3.0]), np.array([0.0]), np.array([100.0]), 150.0, HALF)
    seconds = np.arange(100) + 0.5
    assert found[0] == pytest.approx(3 * np.exp2(-(150.0 - seconds) / HALF).sum(), rel=1e-6)


def test_a_job_that_runs_counts_until_now() -> None:
    """Its end lies ahead; what has not begun counts nothing."""
    found = used_until(np.ones(2), np.array([0.0, 50.0]), np.array([np.inf, 60.0]), 10.0, HALF)
    assert found[0] == pytest.approx(10.0, rel=1e-2)
    assert found[1] == 0.0


def test_an_old_sum_brought_forward_is_the_sum() -> None:
    """It does not matter when somebody looks."""
    cores, begin, end = np.array([2.0]), np.array([0.0]), np.array([100.0])
    early = used_until(cores, begin, end, 100.0, HALF)
    assert decayed(early, 400.0, HALF) == pytest.approx(used_until(cores, begin, end, 500.0, HALF))


def test_sums_by_owner() -> None:
    total = by_owner(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1], dtype=np.intp), 3)
    assert total.tolist() == [2.0, 5.0, 0.0]
