# SPDX-License-Identifier: Apache-2.0
"""What HiGHS answers for small programs that are solved by hand."""

import math

import numpy as np
import pytest

from nova_market.adapters.solver.highs import highs
from nova_market.core.lease.program import Program


def program(*, integer: bool, low=-math.inf, high=3.5, equal=None) -> Program:
    """Most of x + 2 y with x + y <= high and, where given, x = equal; both at most 10."""
    rows = [0, 0] + ([1] if equal is not None else [])
    columns = [0, 1] + ([0] if equal is not None else [])
    return Program(
        cost=np.array([-1.0, -2.0]),
        most=np.full(2, 10.0),
        integer=np.full(2, integer),
        row=np.array(rows), column=np.array(columns), value=np.ones(len(rows)),
        low=np.array([low] + ([equal] if equal is not None else [])),
        high=np.array([high] + ([equal] if equal is not None else [])),
    )  # fmt: skip


def test_a_linear_program_has_its_duals():
    """One more in the first row saves 2; x = 1 loses 1 for each x."""
    found = highs(program(integer=False, equal=1.0), seconds=math.inf, gap=0.0)
    assert found.cost == pytest.approx(-6.0) == found.bound
    np.testing.assert_allclose(found.x, [1.0, 2.5])
    np.testing.assert_allclose(found.duals, [-2.0, 1.0])


def test_a_lower_limit_has_a_dual_above_zero():
    """At least 2 of the dearer: cost rises by what a unit costs."""
    needed = Program(
        cost=np.array([3.0]), most=np.array([10.0]), integer=np.array([False]),
        row=np.array([0]), column=np.array([0]), value=np.ones(1),
        low=np.array([2.0]), high=np.array([math.inf]),
    )  # fmt: skip
    found = highs(needed, seconds=math.inf, gap=0.0)
    assert found.cost == pytest.approx(6.0)
    np.testing.assert_allclose(found.duals, [3.0])


def test_an_integer_program_has_its_bound():
    found = highs(program(integer=True), seconds=10.0, gap=0.0)
    np.testing.assert_allclose(found.x, [0.0, 3.0])
    assert found.cost == pytest.approx(-6.0) and found.bound == pytest.approx(-6.0)


@pytest.mark.parametrize('integer', [True, False])
def test_what_has_no_solution_gives_none(integer):
    """x = 11 is above its limit."""
    assert highs(program(integer=integer, equal=11.0), seconds=10.0, gap=0.0) is None
