# SPDX-License-Identifier: Apache-2.0
"""Heaviness against worked vectors: the greediness metric's four parameter sets, DRF, BBF, asset."""

import json
import pathlib

import numpy as np
import pytest

from nova_market.core.fairness import metric_check
from nova_market.core.fairness.cloud_norm import CloudNorm, actual_quotas, resource_weights
from nova_market.core.fairness.endowment import host_share, host_share_uncapped, virtual_resources
from nova_market.core.fairness.heaviness import (
    Asset,
    Bottleneck,
    DominantResource,
    Greediness,
    Greediness2016,
    Metric,
)
from nova_market.errors import UnsoundMetric

VECTORS = json.loads(
    (pathlib.Path(__file__).parents[3] / 'data' / 'fairness_vectors.json').read_text()
)


class Later1(Greediness):
    """The ring service's default set."""

    c0 = 0.0


class Later0(Greediness):
    beta, gamma, c0 = 2.0, 1.0, 0.0


SETS = {
    'v1(b=1,g=1,c0=0)': Greediness2016,
    'dcf1(b=4/3,g=2/3,c0=0)': Later1,
    'dcf0(b=2,g=1,c0=0)': Later0,
    'rec(b=4/3,g=2/3,c0=.6)': Greediness,
}


def cloud_with_norm(norm):
    """A cloud in which CloudNorm.norm is the given vector."""
    norm = np.array(norm, dtype=float)
    return CloudNorm(supply=np.ones(len(norm)) / norm, weights=np.ones(len(norm)), users=1)


@pytest.mark.parametrize('name', SETS)
@pytest.mark.parametrize('vector', VECTORS, ids=lambda v: v['name'])
def test_worked_vectors(vector, name):
    """Endowment, d, h_v and the sums per owner agree with every vector, in every parameter set."""
    host, virtual, load = (np.array(vector[key], dtype=float) for key in ('host', 'vr', 'load'))
    cloud = cloud_with_norm(vector['norm'])
    endowment = host_share_uncapped(virtual, host, cloud)
    np.testing.assert_allclose(endowment, vector['endowment'], atol=1e-8)
    metric, expected = SETS[name](), vector[name]
    np.testing.assert_allclose(endowment @ cloud.norm, vector['s(e)'], atol=1e-8)
    np.testing.assert_allclose(metric.dynamic(load, endowment, cloud), expected['d'], atol=1e-8)
    heaviness = metric.heaviness(load, endowment, cloud)
    np.testing.assert_allclose(heaviness, expected['h_v'], atol=1e-8)
    for owner, total in expected['sum_h_by_owner'].items():
        mine = [h for h, o in zip(heaviness, vector['owner'], strict=True) if o == owner]
        assert sum(mine) == pytest.approx(total, abs=1e-8)


@pytest.mark.parametrize(
    ('metric', 'expected'),
    [
        (Greediness2016(), (1.0, 0.8)),
        (Later1(), (1.0, 14 / 15)),
        (Later0(), (1.0, 1.0)),
        (Greediness(), (0.88, 0.8933)),
    ],
)
def test_self_dealing_vector(metric, expected):
    """TV9: under-sizing one's busy VM pays with the early sets and costs with the default."""
    load = np.array([[0.6], [0.1]])
    cloud = cloud_with_norm([1.0])
    for endowed, total in zip((0.6, 0.4), expected, strict=True):
        endowment = np.array([[endowed], [0.4]])
        assert metric.heaviness(load, endowment, cloud).sum() == pytest.approx(total, abs=1e-4)


def test_dominant_share_of_the_drf_paper():
    """TV10: CRS (9, 18), A three times (1, 4), B twice (3, 1): both dominant shares are 2/3."""
    cloud = CloudNorm(supply=np.array([9.0, 18.0]), weights=np.array([0.5, 0.5]), users=2)
    metric = DominantResource()
    load = np.array([[1.0, 4.0]] * 3 + [[3.0, 1.0]] * 2)
    partial = metric.partial(load, np.zeros_like(load), cloud)
    sums = np.array([partial[:3].sum(axis=0), partial[3:].sum(axis=0)])
    np.testing.assert_allclose(metric.user(sums, np.zeros((2, 2)), cloud), [2 / 3, 2 / 3])


def test_bottleneck_heaviness():
    """Eq. 5 counts bottleneck resources only, relative to the actual quota; none: 0."""
    supply, weights = np.array([10.0, 10.0]), np.array([0.5, 0.5])
    quota = np.array([[5.0, 5.0], [5.0, 5.0]])
    sums = np.array([[7.5, 1.0], [2.5, 6.0]])
    busy = CloudNorm(supply=supply, weights=weights, users=2, load=np.array([10.0, 7.0]))
    np.testing.assert_allclose(Bottleneck().user(sums, quota, busy), [1.5, 0.5])
    calm = CloudNorm(supply=supply, weights=weights, users=2, load=np.array([9.0, 7.0]))
    np.testing.assert_allclose(Bottleneck().user(sums, quota, calm), [0.0, 0.0])


def test_user_heaviness_falls_with_quota():
    """Eq. 3 and 4: of two users with the same VM the one with the larger quota is lighter."""
    supply = np.array([12.0, 12.0])
    quota, _ = actual_quotas(['a', 'b'], {'a': (10, 1024), 'b': (5, 512)}, np.pad(supply, (0, 4)))
    cloud = CloudNorm(
        supply=np.pad(supply, (0, 4)), weights=np.array([0.5, 0.5, 0, 0, 0, 0]), users=2
    )
    heaviness = Greediness().user(np.array([[1.0], [1.0]]), quota, cloud)
    assert heaviness[0] < heaviness[1]
    assert quota[:, 0].sum() == pytest.approx(12.0)
    assert quota[0, 0] == pytest.approx(8.0)


def test_unlimited_quotas():
    """-1 counts as the largest finite quota; all unlimited: everybody the same; missing: unlimited."""
    supply = np.array([8.0, 8.0 * 2**30, 0, 0, 0, 0])
    mixed, _ = actual_quotas(
        ['a', 'b', 'c'], {'a': (-1, -1), 'b': (4, 4096), 'c': (2, 2048)}, supply
    )
    np.testing.assert_allclose(mixed[:, 0], [3.2, 3.2, 1.6])
    equal, total = actual_quotas(['a', 'b'], {'a': (-1, -1)}, supply)
    np.testing.assert_allclose(equal[:, 0], [4.0, 4.0])
    assert total[0] == pytest.approx(2 * 8.0 * 4.0)
    none, _ = actual_quotas(['a', 'b'], {'a': (0, 0), 'b': (0, 0)}, supply)
    np.testing.assert_allclose(none[:, 0], [4.0, 4.0])


def test_norm_leaves_out_what_has_no_supply():
    supply = np.array([4.0, 0.0, 8.0, 0, 0, 0])
    weights = resource_weights(('cpu', 'memory', 'disk_read'), supply, np.zeros(6))
    np.testing.assert_allclose(weights, [0.5, 0, 0.5, 0, 0, 0])
    scarce = resource_weights(
        ('cpu', 'disk_read'), supply, np.array([0.9, 0, 0.0, 0, 0, 0]), 'scarcity'
    )
    assert scarce[0] == pytest.approx(10 * scarce[2])
    view = CloudNorm(supply=supply, weights=weights, users=2)
    np.testing.assert_allclose(view.norm, [0.25, 0, 0.125, 0, 0, 0])


def test_endowment_is_capped_at_the_flavor():
    """A lone small guest on a large host is endowed with what its flavor names."""
    supply = np.array([64.0, 100.0, 50.0, 0, 0, 0])
    virtual = virtual_resources(np.array([1.0]), np.array([2.0]), supply, 1.0)
    cloud = CloudNorm(supply=supply, weights=np.ones(6) / 6, users=1)
    assert host_share(virtual, supply, cloud)[0, 0] == 1.0
    assert host_share_uncapped(virtual, supply, cloud)[0, 0] == 64.0
    assert host_share(virtual, supply, cloud)[0, 2] == pytest.approx(50.0 / 64)


def test_undeclared_resources_are_split():
    """The paper's example: 10 Gbit/s and four VMs make 2.5 each; by vCPU they follow the flavor."""
    supply = np.array([2.0, 8.0, 0, 0, 10.0, 10.0])
    vcpus, memory = np.array([1.0, 1.0, 1.0, 1.0]), np.full(4, 2.0)
    np.testing.assert_allclose(virtual_resources(vcpus, memory, supply, 1.0, 'equal')[:, 5], 2.5)
    np.testing.assert_allclose(
        virtual_resources(np.array([1.0, 3.0]), memory[:2], supply, 1.0)[:, 5], [2.5, 7.5]
    )


@pytest.mark.parametrize(
    'metric', [Greediness(), Greediness2016(), Asset(), DominantResource(), Bottleneck()]
)
def test_built_in_metrics_say_what_they_break(metric):
    """What a metric breaks is exactly what it waives (or, for rare cases, less)."""
    metric_check.check(metric, type(metric).__name__)
    assert set(metric_check.broken(metric)) <= metric.waives


def test_default_metric_is_sound_and_the_2016_one_is_not():
    assert not metric_check.broken(Greediness())
    assert 'non-minimalistic' in metric_check.broken(Greediness2016())


def test_drf_and_bbf_give_no_incentive_to_configure():
    """Section III-D: neither captures the configuration nor the utilisation incentive."""
    for metric in (DominantResource(), Bottleneck()):
        assert {'configuration', 'positive'} <= set(metric_check.broken(metric))


class Wrong(Greediness):
    """d overweighs nothing above the endowment: breaks the non-minimalistic condition."""

    beta = 1.0


def test_unsound_plugin_is_refused_with_the_inequality():
    with pytest.raises(
        UnsoundMetric, match=r"'wrong' breaks .*'non-minimalistic'.*h_v\(e=x\+y, l=x\+y\) < h_v"
    ):
        metric_check.check(Wrong(), 'wrong')


def test_metric_must_be_written():
    with pytest.raises(NotImplementedError):
        Metric().heaviness(np.zeros((1, 6)), np.zeros((1, 6)), cloud_with_norm([1.0] * 6))
