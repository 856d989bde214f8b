# SPDX-License-Identifier: Apache-2.0
"""A round of decisions, closed over a fluid model of the hosts.

Expected values were derived independently of this code (linear feedback on the shares).
"""

import numpy as np
import pytest

from nova_market.core.exchange.totals import add_up
from nova_market.core.fairness.explanation import explanations, summary
from nova_market.core.fairness.priority import PrioritySettings
from nova_market.core.fairness.round import (
    FairnessSettings,
    decide,
    nova_value,
    partial_sums,
    view_of,
    weigh,
)
from nova_market.core.host.load import measure, supply_vector
from nova_market.core.host.sample import BFQ_WEIGHT, CPU_SHARES_V1, CPU_WEIGHT_V2, Limits
from tests.support.fluid_host import FluidHost, presence
from tests.support.host_builders import MIB, guest, report, sample, supply

MEMORY = Limits(minimum=0, maximum=2**53, default=2**53)


def run(hosts, demands, seconds=900, delay=0):
    """demands: function (host name, now) -> cores wanted. Returns shares by host, (rounds, vms)."""
    history = [add_up([presence(host) for host in hosts], 'greediness')]
    shares = {host.name: [] for host in hosts}
    for now in range(0, seconds, 10):
        for host in hosts:
            shares[host.name].append(host.run(float(now), demands(host.name, now)))
        history.append(add_up([host.report(history[-1]) for host in hosts], 'greediness'))
        for host in hosts:
            host.decide(history[max(len(history) - 1 - delay, 1)])
    return {name: np.array(rows) for name, rows in shares.items()}


def figure3(delay=0, staged=False, **changes):
    settings = FairnessSettings(**({'resources': ('cpu',)} | changes))
    guests = (guest('d1', 'd'), guest('d2', 'd'), guest('e1', 'e'))
    host = FluidHost('a', guests, settings, supply(disk_read_bps=150e6))

    def demand(_, now):
        return (1, 0, 0) if staged and now < 180 else (1, 1, 1)

    return run([host], demand, delay=delay)['a']


@pytest.mark.parametrize(
    ('changes', 'expected'),
    [
        ({}, 0.500),
        ({'priority': PrioritySettings(grouping=False)}, 0.442),
        ({'priority': PrioritySettings(grouping=False, gain=4.0, smoothing=0.075)}, 0.465),
        ({'resources': ('cpu', 'disk_read')}, 0.550),
    ],
)
def test_figure3_fluid(changes, expected):
    """e's VM tends to the share derived for each variant."""
    assert figure3(**changes)[40:, 2].mean() == pytest.approx(expected, abs=0.003)


@pytest.mark.parametrize('delay', [0, 1, 2])
def test_figure3_staged(delay):
    """While only d1 runs it has the whole CPU. When the others wake, each has its part at once (d1's weight
    as it was, d2 half of it, e 1), then e is favoured as the lighter one, then all is even.

    Holds also when totals arrive one or two intervals late; judged from 400 s on.
    """
    shares = figure3(delay, staged=True)
    np.testing.assert_allclose(shares[:18, 0], 1.0)
    assert shares[18, 2] == pytest.approx(0.4, abs=0.01)
    assert 0.53 < shares[19:24, 2].min() < shares[19:24, 2].max() < 0.75
    assert np.abs(shares[40:, 2] - 0.5).max() < 0.03


def test_figure4_fluid():
    """Two hosts: e also runs on b, so on a the share of d rises to about 0.68."""
    settings = FairnessSettings(resources=('cpu',))
    a = FluidHost('a', (guest('d1', 'd'), guest('e1', 'e')), settings)
    b = FluidHost('b', (guest('e2', 'e'), guest('f1', 'f')), settings)
    shares = run([a, b], lambda name, now: (1, 1) if name == 'a' else (1, 0.1))
    assert shares['a'][40:, 0].mean() > 0.6
    assert shares['b'][40:, 0].mean() == pytest.approx(0.9, abs=0.01)


def one_round(guests, limits, settings=None, now_used=None, totals=None, state=None):
    settings = settings or FairnessSettings(resources=('cpu',))
    offered = supply(cores=2.0)
    start = measure(None, sample(0.0, *((g, 0.0) for g in guests)), offered)
    used = now_used or [5.0] * len(guests)
    measured = measure(start, sample(10.0, *zip(guests, used, strict=True)), offered)
    first = report(
        'a', supply=tuple(supply_vector(offered)), owners={g.owner: (0.0,) for g in guests}
    )
    view, _ = view_of(add_up([first], 'greediness'), 1.0, settings)
    weighing = weigh(measured, offered, view, settings)
    mine = report('a', supply=tuple(weighing.supply), owners=partial_sums(weighing))
    totals = totals or add_up([mine], 'greediness')
    return decide(weighing, totals, state or {}, limits, offered, settings)


def test_lone_guest_keeps_novas_value():
    plan = one_round([guest('d1', 'd')], {'cpu': CPU_SHARES_V1, 'disk': BFQ_WEIGHT})
    assert plan.wanted['cpu'].tolist() == [1024]
    assert plan.wanted['disk'].tolist() == [100]


def test_values_are_centred_on_novas_and_stay_within_limits():
    guests = [guest('d1', 'd', base_shares=4096), guest('d2', 'd'), guest('e1', 'e')]
    for limits in (CPU_SHARES_V1, CPU_WEIGHT_V2):
        plan = one_round(guests, {'cpu': limits})
        total = sum(nova_value('cpu', g, limits) for g in guests)
        assert plan.wanted['cpu'].sum() == pytest.approx(total, abs=3)
        assert (plan.wanted['cpu'] >= limits.minimum).all()


def test_no_guests_is_a_round_too():
    plan = one_round([], {'cpu': CPU_SHARES_V1, 'memory': MEMORY})
    assert plan.wanted['cpu'].tolist() == [] and plan.wanted['memory'].tolist() == []
    assert summary(plan).startswith('0 guests')


def test_memory_is_never_limited_below_the_working_set():
    guests = [guest('d1', 'd'), guest('e1', 'e')]
    plan = one_round(guests, {'cpu': CPU_SHARES_V1, 'memory': MEMORY})
    assert (plan.wanted['memory'] >= 64 * MIB).all()
    assert (plan.wanted['memory'] <= 128 * MIB).all()


def test_paper_mode_uses_the_papers_ranges():
    settings = FairnessSettings(resources=('cpu',), priority=PrioritySettings(mode='paper'))
    plan = one_round(
        [guest('d1', 'd'), guest('d2', 'd'), guest('e1', 'e')],
        {'cpu': CPU_SHARES_V1, 'disk': BFQ_WEIGHT},
        settings,
    )
    assert (plan.wanted['cpu'] >= 2).all() and (plan.wanted['cpu'] <= 100).all()
    assert (plan.wanted['disk'] >= 100).all() and (plan.wanted['disk'] <= 1000).all()
    assert plan.wanted['cpu'][2] > plan.wanted['cpu'][0]


def test_old_totals_let_weights_decay():
    guests = [guest('d1', 'd'), guest('e1', 'e')]
    state = {guests[0].incarnation: -1.0, guests[1].incarnation: 1.0}
    totals = add_up(
        [report('a', {'d': (1.0,), 'e': (0.1,)}, supply=(2.0,) * 6)], 'greediness', age=31.0
    )
    plan = one_round(guests, {'cpu': CPU_SHARES_V1}, totals=totals, state=state)
    assert not plan.fresh
    assert plan.x.tolist() == pytest.approx([-0.85, 0.85])
    assert 'no totals for 31 s' in explanations(plan)[0]


def test_quota_entitlement():
    settings = FairnessSettings(resources=('cpu',), entitlement='quota')
    totals = add_up(
        [
            report(
                'a',
                {'d': (1.0,), 'e': (1.0,)},
                supply=(2.0,) * 6,
                quotas={'d': (30, 1), 'e': (10, 1)},
            )
        ],
        'greediness',
    )
    plan = one_round(
        [guest('d1', 'd'), guest('e1', 'e')], {'cpu': CPU_SHARES_V1}, settings, totals=totals
    )
    light = np.exp(plan.x)
    assert plan.weights[0] / plan.weights[1] == pytest.approx(3 * light[0] / light[1])


def test_explanations_name_the_ground():
    guests = [guest('d1', 'd', base_shares=2048), guest('d2', 'd'), guest('e1', 'e', fallback=True)]
    plan = one_round(guests, {'cpu': CPU_SHARES_V1}, now_used=[9.0, 0.0, 5.0])
    first, second, third = explanations(plan)
    assert 'heavier than the mean' in first
    assert 'shares with 1 more of its owner, 1 of 2 busy' in first
    assert 'flavor asks for 2048 shares' in first
    assert 'idle' in second and 'idle' not in first
    assert 'shares with' not in third
    assert 'owner unknown' in third
    assert summary(plan).startswith('3 guests of 2 owners, totals of 1 hosts: d h=')
