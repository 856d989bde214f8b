# SPDX-License-Identifier: Apache-2.0
"""Weights are compared between those that compete, and keep their order (rules H20 to H22)."""

from math import log

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.fairness.competition import Competition
from nova_market.core.fairness.priority import PrioritySettings, log_weights, within_span

SETTINGS = PrioritySettings()
SPAN = log(SETTINGS.span)

heaviness = st.floats(-20.0, 20.0).map(lambda value: round(value, 6))
several = st.lists(heaviness, min_size=1, max_size=12)


def step(ranked, part, use):
    part = np.array(part)
    rivals = Competition(part=part, weight=part * np.array(use))
    start, held = np.zeros(len(part)), np.full(len(part), 10.0)
    return log_weights(start, np.array(ranked), rivals, held, SETTINGS, fresh=True)


@given(several, st.floats(0.01, 10.0))
def test_span_holds_and_nobody_becomes_equal(values, span):
    """Gaps are shortened, never widened or closed, and only when all together are wider than the span."""
    wanted = np.array(values)
    kept = within_span(wanted, span)
    assert np.ptp(np.append(kept, 0.0)) <= span + 1e-9
    order = np.argsort(wanted)
    gaps, left = np.diff(wanted[order]), np.diff(kept[order])
    assert (left <= gaps + 1e-9).all()
    assert ((left > 0) == (gaps > 0)).all()
    if np.ptp(np.append(wanted, 0.0)) <= span:
        np.testing.assert_allclose(kept, wanted, atol=1e-9)


@given(several, st.lists(heaviness, max_size=20), st.data())
def test_idle_guests_change_nothing_between_those_that_compete(busy, idle, data):
    """Whatever their owners weigh; and none of them is above the mean."""
    use = [data.draw(st.floats(0.05, 1.0)) for _ in busy]
    alone = step(busy, [1.0] * len(busy), use)
    crowd = step(busy + idle, [1.0] * len(busy) + [0.0] * len(idle), use + [0.03] * len(idle))
    np.testing.assert_allclose(crowd[: len(busy)], alone, atol=1e-9)
    assert (crowd[len(busy) :] <= 0.0).all()


@given(several, st.integers(0, 11), st.floats(0.0, 0.98))
def test_competing_a_little_more_changes_a_little(values, which, part):
    """No jump of a weight while a guest begins to compete."""
    which %= len(values)
    parts = np.ones(len(values))
    found = []
    for more in (0.0, 0.02):
        parts[which] = part + more
        found.append(step(values, parts, np.full(len(values), 0.3)))
    np.testing.assert_allclose(found[0], found[1], atol=0.08)
