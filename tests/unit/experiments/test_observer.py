# SPDX-License-Identifier: Apache-2.0
"""The observer of experiments: a counter that was not read anew has no rate."""

import pytest

from nova_market.experiments.guests.observer import Odometer


@pytest.mark.parametrize(
    ('before', 'now', 'rate'),
    [
        (None, (5, 1.0), None),
        ((5, 1.0), (9, 3.0), 2.0),
        ((5, 1.0), (5, 3.0), 0.0),
        ((5, 1.0), (5, 1.0), None),
    ],
    ids=['first', 'newer', 'at rest', 'not read anew'],
)
def test_a_rate_needs_a_newer_reading(before, now, rate):
    """Nothing done and nothing known are two things."""
    earlier = before and Odometer(value=before[0], time=before[1])
    assert Odometer(value=now[0], time=now[1]).rate_since(earlier) == rate
