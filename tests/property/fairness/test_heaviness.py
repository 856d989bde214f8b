# SPDX-License-Identifier: Apache-2.0
"""The properties of the default metric on random hosts (IFI-2016.04 section III; P2 to P10)."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nova_market.core.fairness.cloud_norm import CloudNorm
from nova_market.core.fairness.heaviness import Greediness

RESOURCES = 3
METRIC = Greediness()

amounts = st.floats(0.01, 10.0)
row = hnp.arrays(float, RESOURCES, elements=amounts)
neighbours = hnp.arrays(float, st.tuples(st.integers(1, 4), st.just(RESOURCES)), elements=amounts)
ratios = hnp.arrays(float, RESOURCES, elements=st.floats(0.0, 3.0))
clouds = st.builds(
    lambda supply, users: CloudNorm(
        supply=supply, weights=np.full(RESOURCES, 1 / RESOURCES), users=users
    ),
    hnp.arrays(float, RESOURCES, elements=st.floats(5.0, 500.0)),
    st.integers(1, 20),
)


def first(cloud, endowment, load, others_e, others_l):
    return METRIC.heaviness(np.vstack([load, others_l]), np.vstack([endowment, others_e]), cloud)[0]


def loaded(others, scale):
    return others * scale


@given(clouds, row, row, neighbours, ratios)
def test_p2_non_minimalistic(cloud, x, y, others, scale):
    """At the same load the VM whose endowment fits is lighter than the one that is too small."""
    fitted = first(cloud, x + y, x + y, others, loaded(others, scale))
    assert fitted < first(cloud, x, x + y, others, loaded(others, scale))


@given(clouds, row, neighbours, ratios)
def test_p3_heaviness_is_positive(cloud, e, others, scale):
    assert first(cloud, e, np.zeros(RESOURCES), others, loaded(others, scale)) > 0


@given(clouds, row, st.floats(0.0, 0.95), neighbours)
def test_p4_using_less_is_lighter_even_without_contention(cloud, e, part, others):
    assert METRIC.dynamic(np.vstack([e * part, others]), np.vstack([e, others]), cloud)[0] < 0


@given(clouds, row, ratios, st.integers(0, RESOURCES - 1), st.floats(0.01, 2.0), neighbours, ratios)
def test_p5_strictly_increasing_in_load(cloud, e, part, resource, more, others, scale):
    load = e * part
    heavier = load.copy()
    heavier[resource] += more
    assert first(cloud, e, load, others, loaded(others, scale)) < first(
        cloud, e, heavier, others, loaded(others, scale)
    )


@given(clouds, row, st.floats(0.1, 3.0), neighbours, ratios)
def test_p6_configuration_incentive(cloud, load, size, others, scale):
    """The cheapest endowment for a load is the load."""
    assume(abs(size - 1) > 0.01)
    best = first(cloud, load, load, others, loaded(others, scale))
    assert best < first(cloud, load * size, load, others, loaded(others, scale))


@given(clouds, row, row, ratios, st.floats(0.05, 0.95), neighbours, ratios)
def test_p7_no_gain_by_under_sizing(cloud, busy, idle, idle_part, part, others, scale):
    """A user who under-sizes a busy VM never gets lighter, whatever the other VM leaves unused."""
    load = np.vstack([busy, np.minimum(idle_part, 1.0) * idle, loaded(others, scale)])
    honest = METRIC.heaviness(load, np.vstack([busy, idle, others]), cloud)[:2].sum()
    dealt = METRIC.heaviness(load, np.vstack([busy * part, idle, others]), cloud)[:2].sum()
    assert honest < dealt


@given(clouds, row, neighbours, ratios)
def test_p8_exact_fit_costs_nothing_more(cloud, e, others, scale):
    dynamic = METRIC.dynamic(np.vstack([e, loaded(others, scale)]), np.vstack([e, others]), cloud)
    assert abs(dynamic[0]) < 1e-12


@given(
    clouds,
    row,
    ratios,
    neighbours,
    ratios,
    hnp.arrays(float, RESOURCES, elements=st.floats(0.01, 100.0)),
)
def test_p9_units_do_not_matter(cloud, e, part, others, scale, unit):
    other = CloudNorm(supply=cloud.supply * unit, weights=cloud.weights, users=cloud.users)
    one = first(cloud, e, e * part, others, loaded(others, scale))
    two = first(other, e * unit, e * part * unit, others * unit, loaded(others, scale) * unit)
    assert np.isclose(one, two, rtol=1e-9)


@given(clouds, row, neighbours, ratios, st.integers(1, 9))
def test_p10_idle_vms_cost(cloud, e, others, scale, count):
    """Utilisation incentive: an idle VM costs at least (1 - gamma) of its static heaviness."""
    idle = np.tile(e, (count, 1))
    load = np.vstack([np.zeros_like(idle), loaded(others, scale)])
    cost = METRIC.heaviness(load, np.vstack([idle, others]), cloud)[:count].sum()
    assert cost >= count * (1 - METRIC.gamma) * float(e @ cloud.norm) * (1 - 1e-9)
