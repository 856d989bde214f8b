# SPDX-License-Identifier: Apache-2.0
"""Columns of a selection pass are checked when they are made."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nova_market.core.job.columns import Placement, Queues
from nova_market.core.job.policy_interface import PolicyState
from nova_market.errors import BadSnapshot
from tests.support.job_builders import Job, Run, snapshot


def test_the_builder_takes_what_runs_from_the_hosts() -> None:
    """Two servers of two cores on the second host leave four of eight."""
    seen = snapshot([Job()], [Run(hosts=(1, 1), cores=2)], hosts=(8, 8))
    assert seen.hosts.free[0].tolist() == [8, 4]


@pytest.mark.parametrize(
    ('column', 'value', 'found'),
    [
        ('servers', np.array([0], dtype=np.int64), 'servers holds a number that is not at least 1'),
        ('amount', np.full((3, 1), np.nan), 'amount holds a number that is not at least 0'),
        ('amount', np.ones((1, 1)), r'amount has the shape \(1, 1\); \(3, 1\) is needed'),
        (
            'priority',
            np.ones(2, dtype=np.int64),
            r'priority has the shape \(2,\); \(1,\) is needed',
        ),
        ('time_limit', np.zeros(1), 'time_limit holds a number that is not above 0'),
        ('submitted', np.full(1, np.nan), 'submitted holds NaN'),
    ],
)
def test_a_bad_column_is_named(column: str, value: Any, found: str) -> None:
    """The error names the column and what is wrong with it."""
    waiting = snapshot([Job()]).waiting
    with pytest.raises(BadSnapshot, match=found):
        replace(waiting, **{column: value})


def test_a_row_that_does_not_exist_is_named() -> None:
    """A job of queue 3 where there are two queues."""
    with pytest.raises(BadSnapshot, match=r'waiting\.queue names the row 3; there are 2'):
        snapshot([Job(queue=3)], shares=(0.5, 0.5))


def test_a_share_above_the_whole_is_refused() -> None:
    rows = np.zeros(1, dtype=np.intp)
    with pytest.raises(BadSnapshot, match='share holds a number above 1'):
        Queues(share=np.array([1.5]), aggregate=rows, short_below=np.ones(1), policy=rows)


def test_an_order_that_misses_a_queue_is_refused() -> None:
    """The order of queues names each queue once."""
    with pytest.raises(BadSnapshot, match='no permutation of the rows of 2 queues'):
        snapshot([], shares=(0.5, 0.5), state=PolicyState(order=np.array([0, 0], dtype=np.intp)))


def test_a_placement_without_servers_is_refused() -> None:
    rows = np.zeros(1, dtype=np.intp)
    with pytest.raises(BadSnapshot, match='servers'):
        Placement(job=rows, host=rows, servers=np.zeros(1, dtype=np.int64))
