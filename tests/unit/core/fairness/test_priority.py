# SPDX-License-Identifier: Apache-2.0
"""The controller and the paper's mapping."""

import math

import numpy as np
import pytest

from nova_market.core.fairness import priority
from nova_market.core.fairness.priority import PrioritySettings

D, E = 0, 1
OWNERS = np.array([D, D, E])
SIZE = np.full(3, 1024.0)
AWAKE = np.ones(3, dtype=bool)


def weights(**changes):
    arguments = {
        'size': SIZE,
        'base': SIZE,
        'owners': OWNERS,
        'active': AWAKE,
        'entitlement': np.ones(3),
        'x': np.zeros(3),
        'settings': PrioritySettings(),
    }
    return priority.relative_weights(**(arguments | changes))


def test_grouping_halves_the_host():
    """Figure 3 at once: two VMs of d together weigh what the one of e does; the mean stays 1."""
    result = weights()
    np.testing.assert_allclose(result, [0.75, 0.75, 1.5])


def test_without_grouping_size_counts():
    np.testing.assert_allclose(weights(settings=PrioritySettings(grouping=False)), 1.0)


def test_idle_vm_does_not_dilute_its_owner():
    """d's busy VM keeps all of d's weight; the idle one gets what it would have awake."""
    result = weights(active=np.array([True, False, True]))
    assert result[0] == pytest.approx(result[2])
    assert result[1] == pytest.approx(result[0] / 2)


def test_flavor_tier_scales_its_owner():
    """quota:cpu_shares of four times the size makes a tier of four, per vCPU."""
    result = weights(base=np.array([4096.0, 4096.0, 1024.0]))
    assert result[0] == pytest.approx(2 * result[2])


def test_entitlement_scales_the_owner():
    result = weights(entitlement=np.array([1.0, 1.0, 3.0]))
    assert result[2] == pytest.approx(3 * (result[0] + result[1]))


def test_heavier_loses_within_the_span():
    settings = PrioritySettings()
    x = np.zeros(2)
    for _ in range(200):
        x = priority.log_weights(x, np.array([50.0, -50.0]), settings, fresh=True)
    assert math.exp(x[1] - x[0]) == pytest.approx(settings.span)


def test_weights_decay_when_totals_are_too_old():
    settings = PrioritySettings()
    x = np.array([1.0, -1.0])
    for _ in range(30):
        x = priority.log_weights(x, np.array([5.0, -5.0]), settings, fresh=False)
    assert np.abs(x).max() < 0.01


def test_centred_emphasis_does_not_charge_twice():
    """An owner's single VM has the priority of its owner, however busy it is."""
    ranked = priority.priorities(
        np.array([0.3]), np.array([2.0]), np.array([0]), PrioritySettings()
    )
    np.testing.assert_allclose(ranked, 0.3)
    literal = priority.priorities(
        np.array([0.3]), np.array([2.0]), np.array([0]), PrioritySettings(mode='paper')
    )
    np.testing.assert_allclose(literal, 2.3)


def test_small_changes_are_not_written():
    assert not priority.worth_writing(1050, 1024)
    assert priority.worth_writing(1100, 1024)
    assert priority.worth_writing(1, 0) is True


@pytest.mark.parametrize(
    ('heaviness', 'p'), [(0.0, 0.0), (0.5, 25.0), (9.0, 50.0), (-0.2, -25.0), (-9.0, -50.0)]
)
def test_paper_priority(heaviness, p):
    assert priority.paper_priorities(np.array([heaviness]))[0] == pytest.approx(p)


def test_paper_ranges():
    """The best priority gets the top of the range, the worst the bottom (section IV-E)."""
    extremes = np.array([-50.0, 50.0, 0.0])
    np.testing.assert_allclose(priority.paper_values(extremes, 100, 1000), [1000, 100, 550])
    np.testing.assert_allclose(
        priority.paper_values(extremes, priority.MEMORY_FLOOR, np.full(3, 2.0**30))[:2],
        [2.0**30, 10 * 2**20],
    )
