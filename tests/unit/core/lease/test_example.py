# SPDX-License-Identifier: Apache-2.0
"""The example of CloudAlloc, section 2, by its numbers."""

import numpy as np
import pytest

from nova_market.core.lease.exact import exact
from nova_market.core.lease.greedy import greedy, greedy_consistent
from nova_market.core.lease.power import consistent_key, printed_key, watts
from nova_market.core.lease.search import search
from tests.support.lease_builders import asks, papers_example


def test_the_keys_are_those_of_the_paper():
    """In kilowatts; n2 is first, then n1, then n3."""
    nodes, _ = papers_example()
    np.testing.assert_allclose(printed_key(nodes) / 1000, [0.2725, 0.26625, 0.3175])


def test_the_consistent_key_orders_them_otherwise():
    """Watts of a busy core of a full host: n3 comes close to n1."""
    nodes, _ = papers_example()
    np.testing.assert_allclose(consistent_key(nodes), [430 / 8, 380 / 8, 440 / 8])


@pytest.mark.parametrize('algorithm', [greedy, greedy_consistent, search, exact])
def test_all_three_workloads_go_to_n2(algorithm):
    """w3 arrives at 4, when w2 has just ended: intervals are half open.

    Energy: n2 is on from 1 to 6; 250 W x 4/8 for 2 s and for 3 s, and x 2/8 for 2 s.
    """
    nodes, workloads = papers_example()
    plan = algorithm(asks(nodes, *workloads))
    assert [place.hosts for place in plan.places] == [(1,), (1,), (1,)]
    assert plan.cost == pytest.approx(130 * 5 + 125 * 2 + 125 * 3 + 62.5 * 2)


def test_a_third_disk_goes_elsewhere():
    """n2 has two: a workload from 3 to 4 that wants a disk gets n1, the next in the order."""
    nodes, (w1, w2, _) = papers_example()
    third = type(w1)(**{name: getattr(w1, name) for name in w1.__slots__} | {'id': 'w4'})
    plan = greedy(asks(nodes, w1, w2, third))
    assert [place.hosts for place in plan.places] == [(1,), (1,), (0,)]


def test_watts_are_linear_in_the_load():
    """Base and a part of the peak while it is on; nothing when it is off; never above a full load."""
    nodes, _ = papers_example()
    busy = np.array([[0.0, 4.0], [8.0, 16.0], [0.0, 0.0]])
    on = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.5]])
    assert watts(nodes, busy, on).tolist() == [[180.0, 305.0], [380.0, 380.0], [0.0, 70.0]]
