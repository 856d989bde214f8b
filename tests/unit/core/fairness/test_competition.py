# SPDX-License-Identifier: Apache-2.0
"""Which guests compete for their host."""

import numpy as np
import pytest

from nova_market.core.fairness.competition import competition
from nova_market.core.resource import CPU, MEMORY, vector

NORM = vector(cpu=2.0)


def part(cpu, ready=0.0, due=0.5, *, seen=True, norm=NORM, trace=0.05, **used):
    load, endowment = vector(cpu=cpu, **used), vector(cpu=due, memory=1.0, disk_read=100.0)
    rivals = competition(
        load[None],
        endowment[None],
        np.array([ready]),
        np.array([seen]),
        norm,
        core_score=1.0,
        idle=trace,
        idle_cores=trace,
    )
    return float(rivals.part[0])


@pytest.mark.parametrize(
    ('cpu', 'ready', 'expected'),
    [
        (0.028, 0.085, 0.0),
        (0.016, 0.542, 0.0),
        (0.013, 1.0, 1.0),
        (0.415, 1.0, 1.0),
        (0.075, 0.1, 0.5),
        (0.2, 0.2, 1.0),
    ],
    ids=['idle', 'idle and light', 'starved', 'busy', 'between', 'has all it wants'],
)
def test_measured_guests(cpu, ready, expected):
    """As measured with seven guests on one core under emulation (the first four)."""
    assert part(cpu, ready, due=1 / 7) == pytest.approx(expected)


def test_trace_grows_with_the_endowment():
    """Eight vCPUs that use a fifth of a core are idle; one vCPU is not."""
    assert part(0.2, due=8.0) == 0.0
    assert part(0.2, due=1.0) == 1.0


def test_guest_not_measured_yet_competes():
    assert part(0.0, seen=False) == 1.0


def test_other_resources_count_when_the_metric_counts_them():
    """A guest that loads the disk alone competes; memory that lies there doesn't."""
    assert part(0.0, disk_read=50.0) == 0.0
    assert part(0.0, disk_read=50.0, norm=vector(cpu=1.0, disk_read=0.01)) == 1.0
    assert part(0.0, memory=1.0, norm=vector(cpu=1.0, memory=1.0)) == 0.0


def test_weight_is_the_value_of_what_is_used():
    """Memory is not in it: everybody holds some."""
    load = np.array([vector(cpu=0.5, memory=7.0), vector(cpu=0.01, memory=7.0)])
    norm = NORM.copy()
    norm[MEMORY] = 1.0
    rivals = competition(
        load,
        np.full_like(load, 0.1),
        np.zeros(2),
        np.ones(2, dtype=bool),
        norm,
        core_score=1.0,
        idle=0.05,
        idle_cores=0.05,
    )
    np.testing.assert_allclose(rivals.weight, [0.5 * norm[CPU], 0.0])
    assert rivals.mean(np.array([3.0, 9.0])) == pytest.approx(3.0)


def test_without_competition_all_count():
    """And no guests have the mean 0."""
    nobody = competition(
        np.zeros((2, len(NORM))),
        np.ones((2, len(NORM))),
        np.zeros(2),
        np.ones(2, dtype=bool),
        NORM,
        core_score=1.0,
        idle=0.05,
        idle_cores=0.05,
    )
    assert nobody.mean(np.array([3.0, 9.0])) == pytest.approx(6.0)
    assert nobody.mean(np.zeros(0)) == 0.0


@pytest.mark.parametrize(('cpu', 'expected'), [(0.0, 0.0), (1e-6, 1.0)])
def test_without_a_trace_all_who_use_anything_compete(cpu, expected):
    """Both thresholds may be set to 0."""
    assert part(cpu, trace=0.0) == expected
