# SPDX-License-Identifier: Apache-2.0
"""Progress of an application: Merkat, eq. (4)."""

import numpy as np
import pytest

from nova_market.core.app.progress import (
    Progress,
    lateness,
    reference_seconds_each,
)
from nova_market.errors import BadAmount


def test_equation_4():
    """600 iterations of 2 s are left of 1000."""
    progress = Progress(total=1000, done=400, seconds_each=2.0)
    assert (progress.part, progress.remaining) == (0.4, 1200.0)


def test_half_the_allocation_takes_twice_as_long():
    """Section 3.2.1: 1 s with a full core, 2 s with half of one."""
    whole, half = (Progress(total=100, done=10, seconds_each=s) for s in (1.0, 2.0))
    assert half.remaining == 2 * whole.remaining


def test_the_reference_time_is_what_meets_the_deadline():
    """Figure 9: it falls when the deadline is moved."""
    progress = Progress(total=1000, done=400, seconds_each=2.0)
    assert reference_seconds_each(progress, 1800.0) == 3.0
    assert reference_seconds_each(progress, -5.0) == 0.0
    assert reference_seconds_each(Progress(total=5, done=5, seconds_each=1.0), 10.0) == np.inf


def test_lateness_is_one_where_the_deadline_is_just_met():
    """0 when done, inf after the deadline."""
    found = lateness(
        np.array([100.0, 50.0, 0.0, 1.0, 0.0]), np.array([100.0, 100.0, 1.0, 0.0, -1.0])
    )
    assert found.tolist() == [1.0, 0.5, 0.0, np.inf, 0.0]


@pytest.mark.parametrize(
    ('total', 'done', 'seconds'), [(10, 11, 1.0), (10, -1, 1.0), (10, 1, np.nan), (np.inf, 1, 1.0)]
)
def test_progress_that_cannot_be_is_refused(total, done, seconds):
    """With the numbers."""
    with pytest.raises(BadAmount, match='iterations'):
        Progress(total=total, done=done, seconds_each=seconds)


def test_nothing_to_do_is_done():
    """Without a division by 0."""
    assert Progress(total=0, done=0, seconds_each=0.0).part == 1.0
