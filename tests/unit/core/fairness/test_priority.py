# SPDX-License-Identifier: Apache-2.0
"""The controller and the paper's mapping."""

import math

import numpy as np
import pytest

from nova_market.core.fairness import priority
from nova_market.core.fairness.competition import Competition
from nova_market.core.fairness.priority import PrioritySettings

D, E = 0, 1
OWNERS = np.array([D, D, E])
SIZE = np.full(3, 1024.0)
AWAKE = np.ones(3)


def weights(**changes):
    arguments = {
        'size': SIZE,
        'base': SIZE,
        'owners': OWNERS,
        'part': AWAKE,
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
    result = weights(part=np.array([1.0, 0.0, 1.0]))
    assert result[0] == pytest.approx(result[2])
    assert result[1] == pytest.approx(result[0] / 2)


def test_flavor_tier_scales_its_owner():
    """quota:cpu_shares of four times the size makes a tier of four, per vCPU."""
    result = weights(base=np.array([4096.0, 4096.0, 1024.0]))
    assert result[0] == pytest.approx(2 * result[2])


def test_entitlement_scales_the_owner():
    result = weights(entitlement=np.array([1.0, 1.0, 3.0]))
    assert result[2] == pytest.approx(3 * (result[0] + result[1]))


def settled(ranked, part=None, use=None, *, start=None, held=1.0, fresh=True, steps=200):
    """x after many steps at the same priorities."""
    ranked = np.array(ranked)
    part = np.ones(len(ranked)) if part is None else np.array(part)
    rivals = Competition(part=part, weight=part * (1.0 if use is None else np.array(use)))
    x = np.zeros(len(ranked)) if start is None else np.array(start)
    for _ in range(steps):
        x = priority.log_weights(
            x, ranked, rivals, np.full(len(x), held), PrioritySettings(), fresh
        )
    return x


def test_half_idle_vm_is_between():
    """Nothing jumps when a VM begins to compete: as it does so, its owner's other VM gives way."""
    quarters = [weights(part=np.array([1.0, part, 1.0]))[0] for part in (0.0, 0.5, 0.75, 1.0)]
    assert quarters == sorted(quarters, reverse=True)
    whole = weights(part=np.array([1.0, 0.5, 1.0]))
    assert whole[0] / whole[2] == pytest.approx(1 / 1.5)


def test_heavier_loses_within_the_span():
    x = settled([50.0, -50.0])
    assert math.exp(x[1] - x[0]) == pytest.approx(PrioritySettings().span)


def test_the_span_makes_nobody_equal_who_differs():
    """Two that are much heavier than a third keep their own distance; only the wide gap is shortened."""
    x = settled([5.0, 4.8, -5.0])
    assert x[1] - x[0] == pytest.approx(PrioritySettings().gain * 0.2)
    assert math.exp(x[2] - x[0]) == pytest.approx(PrioritySettings().span)


def test_span_of_one_leaves_only_the_grouping():
    np.testing.assert_allclose(priority.within_span(np.array([2.0, -1.0]), 0.0), 0.0)


def test_idle_guests_do_not_move_those_that_compete():
    """However many there are and however light or heavy their owners."""
    alone = settled([0.3, -0.3])
    crowd = settled([0.3, -0.3, *[-1.0] * 9, 2.0], [1.0, 1.0, *[0.0] * 10])
    np.testing.assert_allclose(crowd[:2], alone)


def test_idle_guest_of_a_light_owner_has_the_weight_of_the_mean():
    """It had eight times the weight of the busy ones; one whose owner is heavy elsewhere starts low."""
    x = settled([0.3, -0.3, -1.0, 0.5], [1.0, 1.0, 0.0, 0.0])
    assert x[2] == pytest.approx(0.0, abs=1e-12)
    assert x[3] == pytest.approx(-1.0)


def test_the_mean_is_that_of_what_is_used():
    """A guest that hardly uses anything hardly counts, also when it competes."""
    x = settled([0.3, -0.3, -1.0], use=[0.5, 0.5, 0.001])
    assert x[0] == pytest.approx(-0.6, abs=0.003)


def test_differences_count_relative_to_what_competitors_hold():
    """Twice as much each is the same difference; less than a fair part each does not raise the gain."""
    plain = settled([0.3, -0.3])
    np.testing.assert_allclose(settled([0.6, -0.6], held=2.0), plain)
    np.testing.assert_allclose(settled([0.3, -0.3], held=0.1), plain)


def test_weights_decay_when_totals_are_too_old():
    x = settled([5.0, -5.0], start=[1.0, -1.0], fresh=False, steps=30)
    assert np.abs(x).max() < 0.01


def test_centred_emphasis_does_not_charge_twice():
    """An owner's single VM has the priority of its owner, however busy it is; idle VMs beside it or not."""

    def ranked(mode, part):
        heaviness, emphasis = np.full(len(part), 0.3), np.array([2.0, 0.1, 0.1])[: len(part)]
        owners = np.zeros(len(part), dtype=int)
        settings = PrioritySettings(mode=mode)
        return priority.priorities(heaviness, emphasis, owners, np.array(part), settings)

    np.testing.assert_allclose(ranked('centred', [1.0]), 0.3)
    assert ranked('centred', [1.0, 0.0, 0.0])[0] == pytest.approx(0.3)
    assert ranked('centred', [1.0, 1.0, 0.0])[0] > 0.7
    assert ranked('centred', [0.0, 0.0, 0.0])[0] > 0.7
    np.testing.assert_allclose(ranked('paper', [1.0]), 2.3)


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
