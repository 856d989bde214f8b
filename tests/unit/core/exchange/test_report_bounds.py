# SPDX-License-Identifier: Apache-2.0
"""How much the report of one host may count: rules H26 and H27."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.exchange.report_bounds import (
    LARGEST,
    NEW_OWNERS,
    OVERCOMMIT,
    counted_owners,
    cut,
    room,
    within,
)
from nova_market.core.exchange.totals import add_up
from tests.support.host_builders import report

METRIC = 'greediness'


def supplies(*numbers):
    return np.array(numbers, dtype=float)[:, None] * np.ones(6)


def test_a_host_holds_little_more_than_the_next_largest():
    assert room(supplies(4.0, 4.0, 1e24)).tolist() == [LARGEST * 4.0] * 6
    assert room(supplies(4.0, 2.0, 1.0)).tolist() == [LARGEST * 2.0] * 6


def test_nobody_can_tell_which_one_of_two_hosts_is_wrong():
    for few in (supplies(), supplies(4.0), supplies(4.0, 1e24)):
        assert np.isinf(room(few.reshape(-1, 6))).all()


def test_use_is_within_supply_and_flavors_within_the_overcommit():
    huge = within(np.full((2, 3, 6), 1e24), np.full(6, 4.0))
    assert huge[:, 0].tolist() == huge[:, 1].tolist() == [[4.0] * 6] * 2
    assert huge[:, 2].tolist() == [[OVERCOMMIT * 4.0] * 6] * 2
    honest = np.array([supplies(4.0, 2.0, 8.0)])
    assert within(honest, np.full(6, 4.0)).tolist() == honest.tolist()


amounts = st.floats(-1e24, 1e24)


@given(st.lists(st.tuples(amounts, amounts), min_size=1, max_size=20), st.floats(0.0, 1e6))
def test_what_is_cut_keeps_its_proportions(rows, most):
    """And what is within is not touched."""
    stated = np.array(rows)
    found = cut(stated, np.full(2, most))
    assert (np.abs(found).sum(axis=0) <= most * (1.0 + 1e-9)).all()
    for column, before in zip(found.T, stated.T, strict=True):
        total = np.abs(before).sum()
        expected = before if total <= most else before * (most / total)
        np.testing.assert_allclose(column, expected)


def test_numbers_that_the_metric_does_not_have_count_as_nothing():
    assert cut(np.array([[1.0, 5.0]]), np.array([2.0])).tolist() == [[1.0, 0.0]]


@given(st.lists(st.integers(0, 50), min_size=3, max_size=30), st.integers(0, 10_000))
def test_invented_owners_count_little(alone, invented):
    """Of N hosts one that invents owners adds two N-ths of what the others have, and at least one."""
    hosts, others = len(alone), sum(alone[1:])
    lied = [alone[0] + invented, *alone[1:]]
    found = counted_owners(sum(lied), np.array(lied, dtype=float), hosts)
    assert found <= others + max(NEW_OWNERS * others / (hosts - 1), 1.0)


def test_owners_of_equal_hosts_all_count():
    assert counted_owners(90, np.full(3, 30.0), 3) == 90
    assert counted_owners(3, np.ones(3), 3) == 3, 'though most have none of the others'
    assert counted_owners(500, np.zeros(0), 3) == 500
    assert counted_owners(1000, np.array([999.0, 1.0]), 2) == 1000, 'of two nobody can tell'


def test_the_report_of_a_host_counts_as_far_as_a_host_can_have_it():
    """What is beyond is cut, and the rest of it counts."""
    honest = [report(h, {'d': (1.0,), h: (1.0,)}, supply=(4.0,) * 6) for h in 'abc']
    invented = {f'new{number}': (0.0,) for number in range(1000)}
    liar = report('liar', {'d': (1e24,), **invented}, supply=(1e24,) * 6, load=(1e24,) * 6)
    totals = add_up([*honest, liar], METRIC, bound=lambda supply, size: 2.0 * supply[:1])
    assert totals.supply.tolist() == [12.0 + LARGEST * 4.0] * 6
    assert totals.load[0] == 3 * honest[0].load[0] + LARGEST * 4.0
    assert totals.sums[totals.owners.index('d'), 0] == pytest.approx(3.0 + 2.0 * LARGEST * 4.0)
    assert totals.owner_count == 4 + 2
