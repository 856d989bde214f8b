# SPDX-License-Identifier: Apache-2.0
"""One host of N that reports what it likes: rules H26 to H29 of doc/source/specs/fairness.rst.

On a fluid model of hosts: the part of the cloud's CPU that each owner has on the other hosts, with a liar and
without one. tests/benchmarks/bench_one_liar.py measures larger clouds and more lies.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nova_market.core.exchange.report_bounds import CloudSize
from nova_market.core.exchange.totals import add_up
from nova_market.core.fairness.cloud_norm import CloudNorm, resource_weights
from nova_market.core.fairness.endowment import cloud_running, host_share, host_share_uncapped
from nova_market.core.fairness.heaviness import Greediness
from nova_market.core.fairness.round import FairnessSettings, most_reported
from nova_market.core.resource import RESOURCES
from tests.support.exchange.correspondence import METRIC
from tests.support.exchange.liar import (
    METRICS,
    SETTINGS,
    Aggregated,
    Broadcast,
    Layout,
    Lie,
    extremes,
    moved,
)

LAYOUT = Layout(hosts=8, owners=2)

factor = st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e24])
amount = st.sampled_from([-1e24, -1.0, 0.0, 0.5, 2.0, 1e24])
lies = st.builds(
    lambda sums, supply, load, virtual, invented: Lie(
        sums=tuple((f'o{number}', one) for number, one in enumerate(sums)),
        supply=supply,
        load=load,
        virtual=virtual,
        invented=invented,
    ),
    st.lists(amount, max_size=LAYOUT.owners),
    factor,
    factor,
    factor,
    st.tuples(st.sampled_from([0, 1, 100]), amount),
)


@pytest.mark.parametrize('metric', METRICS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize('name', ['heavy', 'light', 'all at once'])
def test_one_host_of_n_moves_the_part_of_an_owner_by_2_of_n_at_most(metric, name):
    layout = replace(LAYOUT, settings=replace(SETTINGS, metric=metric))
    assert moved(layout, extremes(layout)[name]) <= 2.0 / layout.hosts


@given(lies)
@settings(max_examples=5, deadline=None)
def test_no_other_lie_moves_more(lie):
    assert moved(LAYOUT, lie) <= 2.0 / LAYOUT.hosts


@pytest.mark.parametrize('aggregators', [1, 2])
def test_the_same_holds_with_aggregators(aggregators):
    for name in ('heavy', 'huge and heavy'):
        post = Aggregated(LAYOUT, aggregators)
        assert moved(LAYOUT, extremes(LAYOUT)[name], post) <= 2.0 / LAYOUT.hosts, name


def test_without_the_bounds_one_report_takes_a_share_on_all_hosts():
    """What the tests above would see."""
    post = Broadcast(LAYOUT)
    post.totals = lambda host, now: add_up(post.reports.values(), METRIC)
    assert moved(LAYOUT, extremes(LAYOUT)['heavy'], post) > 2.0 / LAYOUT.hosts


ENDOWMENTS = (host_share, host_share_uncapped, cloud_running)


@given(
    st.lists(st.tuples(st.integers(1, 64), st.floats(0.0, 64.0)), min_size=1, max_size=40),
    st.integers(1, 64),
    st.sampled_from(METRICS),
    st.sampled_from(ENDOWMENTS),
    st.integers(1, 500),
)
@example([(1, 64.0)], 64, Greediness(), host_share, 1)
def test_an_honest_report_is_never_cut(guests, cores, metric, endowment, hosts):
    """Whatever its guests use: the bound is what a host of its size can cause."""
    made = FairnessSettings(resources=('cpu', 'memory'), metric=metric, endowment=endowment)
    supply = np.full(len(RESOURCES), float(cores))
    vcpus = np.array([one for one, _ in guests], dtype=float)
    # guests together use what the host has, at most
    wanted = np.array([use for _, use in guests])
    used = wanted * min(1.0, cores / max(wanted.sum(), 1e-9))
    load, virtual = (np.repeat(n[:, None], len(RESOURCES), axis=1) for n in (used, vcpus))
    size = CloudSize(supply=hosts * supply, load=hosts * load.sum(axis=0), owners=hosts)
    view = CloudNorm(
        supply=size.supply,
        weights=resource_weights(made.resources, size.supply, size.load, made.weighting),
        users=size.owners,
        load=size.load,
        virtual=hosts * virtual.sum(axis=0),
    )
    given_ = endowment(virtual, supply, view)
    partials = metric.partial(load, given_, view)
    most = most_reported(supply, size, made)
    stated = np.abs(partials).sum(axis=0)
    assert (stated <= most[: len(stated)] * (1.0 + 1e-9)).all()
