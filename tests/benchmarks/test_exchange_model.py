# SPDX-License-Identifier: Apache-2.0
"""The formulas of the exchange's cost, and the real messages counted against them."""

import numpy as np
import pytest

from tests.benchmarks.exchange_model import (
    AggregatedCloud,
    Cloud,
    Workload,
    count_broadcast,
    formula,
    table,
)

LARGE = Cloud(hosts=1000, vms=30_000, owners=500)


def test_a_thousand_hosts_by_formula():
    """The figures of the design: the paper's way against sums, and against sums of own owners."""
    assert LARGE.owners_per_host == pytest.approx(29.15, abs=0.005)
    assert formula(LARGE, 'paper').entries == 29_970_000
    assert formula(LARGE, 'paper').messages == 999_000
    assert formula(LARGE, 'broadcast').entries == pytest.approx(29_116_877, abs=1)
    aggregate = formula(LARGE, 'aggregate')
    assert aggregate.entries == pytest.approx(58_292, abs=1)
    assert aggregate.messages == 2_000
    assert aggregate.payload < 1.5e6
    with pytest.raises(KeyError):
        formula(LARGE, 'gossip')


@pytest.mark.parametrize('aggregators', [1, 3])
@pytest.mark.parametrize(
    ('hosts', 'owners', 'shared'), [(10, 50, 1.0), (100, 500, 1.0), (10, 500, 0.42)]
)
def test_messages_counted_against_the_formula(hosts, owners, shared, aggregators):
    """When every VM changes; over random placements, within three standard deviations of a count.

    In a cloud so small that many owners are on one host only (300 VMs of 500 owners) it takes less than
    2 * N * k: what others add to these stays zero and is not sent.
    """
    cloud = Cloud(hosts=hosts, vms=30 * hosts, owners=owners, aggregators=aggregators)
    model = AggregatedCloud(cloud, np.random.default_rng(1))
    model.interval(1.0)  # everybody is new: hosts know the others' part from the next one on
    cost = model.interval(1.0)
    expected = formula(cloud, 'aggregate')
    assert cloud.shared == pytest.approx(shared, abs=0.005)
    assert cost.entries == pytest.approx(expected.entries, rel=3 / expected.entries**0.5)
    assert cost.messages == expected.messages


def test_reports_counted_against_the_formula():
    cloud = Cloud(hosts=100, vms=3000, owners=500)
    cost = count_broadcast(Workload(cloud, np.random.default_rng(1)).reports(1.0))
    expected = formula(cloud, 'broadcast')
    assert cost.entries == pytest.approx(expected.entries, rel=0.05)
    assert cost.messages == expected.messages == 9900


def test_what_does_not_change_costs_heartbeats_only():
    cloud = Cloud(hosts=20, vms=600, owners=50)
    model = AggregatedCloud(cloud, np.random.default_rng(1))
    costs = [model.interval(0.0) for _ in range(6)]
    assert costs[0].entries > 0
    assert [cost.entries for cost in costs[3:]] == [0, 0, 0]
    assert [cost.messages for cost in costs] == [40] * 6
    assert costs[5].payload < costs[0].payload / 3


def test_every_host_knows_the_sums():
    """The model runs the real thing: its hosts end with the sums of all."""
    model = AggregatedCloud(Cloud(hosts=10, vms=100, owners=5), np.random.default_rng(2))
    for _ in range(2):
        model.interval(1.0)
    model.interval(0.0)
    totals = [model.clients[host].totals(30.0) for host in model.workload.hosts]
    sums = {o: s for t in totals for o, s in zip(t.owners, t.sums[:, 0], strict=True)}
    assert {t.hosts for t in totals} == {10} and {t.owner_count for t in totals} == {5}
    for total in totals:
        np.testing.assert_allclose(total.sums[:, 0], [sums[o] for o in total.owners], rtol=0.02)


def test_the_table_has_a_line_per_scheme():
    text = table({name: formula(LARGE, name) for name in ('paper', 'aggregate')})
    assert '29,970,000' in text and '58,292' in text and '719.28' in text
