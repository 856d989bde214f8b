# SPDX-License-Identifier: Apache-2.0
"""What the pure part of a round costs, per VM, swept over VMs and owners.

A ratio to the floor: numpy adding up the same load array once per resource is what any method must do.
"""

import time

import numpy as np
import pytest

from nova_market.core.exchange.totals import add_up
from nova_market.core.fairness.explanation import explanations
from nova_market.core.fairness.round import FairnessSettings, decide, partial_sums, view_of, weigh
from nova_market.core.host.load import measure, supply_vector
from nova_market.core.host.sample import BFQ_WEIGHT, CPU_SHARES_V1
from tests.support.host_builders import guest, report, sample, supply

pytestmark = pytest.mark.benchmark

LIMITS = {'cpu': CPU_SHARES_V1, 'disk': BFQ_WEIGHT}


def best(call, times=7):
    """Least of several runs, seconds."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return min(found)


def prepared(vms, owners):
    """The pure phases of one round for a host of `vms` guests in a cloud of `owners` users, to be run."""
    guests = [guest(f'{i:05d}', f'o{i % owners:04d}') for i in range(vms)]
    host = supply(cores=64.0)
    settings = FairnessSettings()
    first = measure(None, sample(0.0, *((g, 1.0) for g in guests)), host)
    look = sample(10.0, *((g, 1.0 + i % 9) for i, g in enumerate(guests)))
    cloud = report(
        'other',
        {f'o{i:04d}': (1.0,) for i in range(owners)},
        supply=tuple(supply_vector(host)),
    )
    totals = add_up([cloud], 'greediness')

    def run():
        measured = measure(first, look, host)
        view, _ = view_of(totals, 1.0, settings)
        weighing = weigh(measured, host, view, settings)
        mine = report('a', partial_sums(weighing), supply=tuple(weighing.supply))
        both = add_up([cloud, mine], 'greediness')
        return decide(weighing, both, {}, LIMITS, host, settings)

    return run


def pure_round(vms, owners):
    """Seconds of the round and of its floor."""
    run = prepared(vms, owners)
    floor = np.random.default_rng(1).uniform(size=(vms, 6))
    return best(run), best(lambda: [floor[:, r].sum() for r in range(6)], times=50)


def test_cost_per_vm_is_flat():
    """Microseconds per VM do not grow with the number of VMs: the cost is linear."""
    print(f'\n{"VMs":>6} {"owners":>7} {"ms":>8} {"us/VM":>7} {"x numpy floor":>14}')
    per_vm = {}
    for vms, owners in ((10, 5), (100, 50), (1000, 50), (1000, 500), (4000, 500)):
        seconds, floor = pure_round(vms, owners)
        per_vm[vms, owners] = 1e6 * seconds / vms
        print(
            f'{vms:6d} {owners:7d} {1e3 * seconds:8.2f} {per_vm[vms, owners]:7.2f} '
            f'{seconds / floor:14.0f}'
        )
    assert per_vm[4000, 500] < 1.5 * per_vm[1000, 500]


def test_explanations_are_linear():
    """A sentence per VM costs the same on a host of 4,000 as on one of 1,000, few owners or many."""
    print(f'\n{"VMs":>6} {"owners":>7} {"ms":>8} {"us/VM":>7}')
    per_vm = {}
    for vms, owners in ((100, 5), (1000, 5), (1000, 500), (4000, 5), (4000, 500)):
        plan = prepared(vms, owners)()
        seconds = best(lambda plan=plan: explanations(plan))
        per_vm[vms, owners] = 1e6 * seconds / vms
        print(f'{vms:6d} {owners:7d} {1e3 * seconds:8.2f} {per_vm[vms, owners]:7.2f}')
    for owners in (5, 500):
        assert per_vm[4000, owners] < 1.5 * per_vm[1000, owners]


def test_owners_of_the_cloud_are_cheap():
    """500 owners in the totals, 30 VMs on the host: what aggregation adds."""
    few, _ = pure_round(30, 5)
    many, _ = pure_round(30, 500)
    print(f'\n30 VMs: {1e3 * few:.2f} ms with 5 owners, {1e3 * many:.2f} ms with 500')
    assert many < 30 * few
