# SPDX-License-Identifier: Apache-2.0
"""What a start takes over from a run that was killed."""

import pytest

from nova_market.core.fairness.priority import PrioritySettings
from nova_market.core.fairness.takeover import not_measured_yet, surviving_log_weights
from nova_market.core.host.load import measure
from tests.support.host_builders import guest, sample, supply

SETTINGS = PrioritySettings(smoothing=0.15)


@pytest.mark.parametrize(
    ('intervals', 'rest'), [(0.0, 1.0), (1.0, 0.85), (4.0, 0.85**4), (-3.0, 1.0), (1e6, 0.0)]
)
def test_log_weights_decay_as_without_totals(intervals, rest):
    """A clock that was set back is as if no time had passed."""
    x = {('g1', 1): 1.0, ('g2', 1): -2.0}
    found = surviving_log_weights(x, {('g1', 1), ('g2', 1)}, intervals, SETTINGS)
    assert found == {('g1', 1): pytest.approx(rest), ('g2', 1): pytest.approx(-2.0 * rest)}


def test_log_weights_of_others_are_dropped():
    """Of a guest that was started anew: its domain id is another."""
    assert surviving_log_weights({('g1', 1): 1.0}, {('g1', 2)}, 0.0, SETTINGS) == {}


def test_guests_are_kept_until_they_are_measured():
    old, new = guest('g1', 'd'), guest('g2', 'd')
    first = measure(None, sample(0.0, (old, 1.0), (new, 1.0)), supply())
    assert not_measured_yet(first, {old.incarnation}) == {'g1'}
    second = measure(first, sample(10.0, (old, 2.0), (new, 2.0)), supply())
    assert not_measured_yet(second, {old.incarnation}) == frozenset()
