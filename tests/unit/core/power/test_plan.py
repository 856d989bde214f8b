# SPDX-License-Identifier: Apache-2.0
"""Which hosts are powered down and woken (W3)."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.power.plan import HostsPower, Power, PowerSettings, power_plan
from nova_market.errors import BadPower

SETTINGS = PowerSettings(
    fullest=0.5, spare=1, idle=600, least_off=600, wake=120, margin=60, at_most=2
)
INF = float('inf')


def hosts(states, **columns):
    count = len(states)
    made = HostsPower(
        state=np.array(states, dtype=np.int64),
        empty_for=np.full(count, 1000.0),
        needed_in=np.full(count, INF),
        bound=np.zeros(count, dtype=bool),
        capacity=np.full((1, count), 10.0),
        base_w=np.full(count, 100.0),
    )
    return replace(made, **{name: np.array(value) for name, value in columns.items()})


def plan(found, demand=0.0, **settings):
    return power_plan(found, np.array([demand]), replace(SETTINGS, **settings))


def test_empty_hosts_that_nobody_needs_go_the_dearest_first():
    """Two at once; one stays as a spare."""
    found = plan(hosts([Power.ON] * 4, base_w=[100.0, 300.0, 200.0, 50.0]))
    assert found.down.tolist() == [1, 2]
    assert found.why[1].startswith('powered down: empty for 1000 s')
    assert plan(hosts([Power.ON] * 2), at_most=9).down.tolist() == [0, 1]
    assert len(plan(hosts([Power.ON] * 2), 1.0, at_most=9).down) == 0


@pytest.mark.parametrize(
    'columns',
    [
        {'empty_for': [0.0, 1000.0, 1000.0]},
        {'empty_for': [599.0, 1000.0, 1000.0]},
        {'bound': [True, False, False]},
        {'needed_in': [780.0, INF, INF]},
        {'state': [Power.LEAVING, Power.ON, Power.ON]},
    ],
    ids=str,
)
def test_who_stays(columns):
    """In use, empty for too short a time, excluded, needed soon, or on its way down already."""
    found = plan(hosts([Power.ON] * 3, base_w=[999.0, 1.0, 1.0], **columns))
    assert 0 not in found.down.tolist()


def test_hosts_are_woken_in_time_for_the_calendar():
    """Also when as many as may change do: a lease does not wait."""
    states = [Power.OFF, Power.OFF, Power.LEAVING, Power.WAKING, Power.ON]
    found = plan(hosts(states, needed_in=[181.0, 179.0, INF, INF, INF]))
    assert found.wake.tolist() == [1] and 'the calendar needs it in 179 s' in found.why[1]
    assert not len(found.down)


def test_hosts_on_their_way_down_are_called_back():
    """For the calendar, and for demand before others are woken; they change already."""
    states = [Power.LEAVING, Power.LEAVING, Power.OFF, Power.ON]
    found = plan(hosts(states, needed_in=[INF, 179.0, INF, INF]))
    assert found.wake.tolist() == [1]
    found = plan(hosts(states, base_w=[200.0, 300.0, 1.0, 1.0]), 12.0)
    assert found.wake.tolist() == [0, 1]


def test_hosts_are_woken_for_demand_the_cheapest_first():
    """12 wanted of 10 each, half filled and one to spare: four must be on."""
    found = plan(hosts([Power.ON] * 2 + [Power.OFF] * 3, base_w=[1, 1, 300.0, 100.0, 200.0]), 12.0)
    assert found.wake.tolist() == [3, 4] and not found.short


def test_a_cloud_that_is_full_says_so():
    """Everything is woken, no more at once than may be, and nothing goes down."""
    found = plan(hosts([Power.ON, Power.OFF, Power.OFF, Power.OFF]), 99.0)
    assert len(found.wake) == 2 and found.short and not len(found.down)


def test_hosts_that_failed_are_not_counted_on():
    found = plan(hosts([Power.ON, Power.FAILED, Power.OFF]), 1.0)
    assert found.wake.tolist() == [2]


@given(
    states=st.lists(st.sampled_from(list(Power)), min_size=1, max_size=12),
    demand=st.floats(0, 80),
    data=st.data(),
)
def test_what_is_left_is_enough(states, demand, data):
    """Nothing goes down that the rest, less its largest host, could not do without; bounds are kept."""
    rows = st.lists(st.floats(1, 30), min_size=len(states), max_size=len(states))
    found = hosts(states, capacity=[data.draw(rows)], base_w=data.draw(rows))
    made = plan(found, demand)
    there = np.isin(found.state, (Power.ON, Power.WAKING))
    there[made.wake] = True
    there[made.down] = False
    if len(made.down):
        left = np.sort(found.capacity[0, there])[:-1].sum()
        assert left * SETTINGS.fullest >= demand
    changing = int(np.isin(found.state, (Power.LEAVING, Power.WAKING)).sum())
    begin = len(made.down) + int((found.state[made.wake] == Power.OFF).sum())
    assert begin <= max(SETTINGS.at_most - changing, 0)
    assert (found.state[made.down] == Power.ON).all()
    assert np.isin(found.state[made.wake], (Power.OFF, Power.LEAVING)).all()
    assert set(made.why) == {*made.down.tolist(), *made.wake.tolist()}


@pytest.mark.parametrize(
    'wrong',
    [
        {'fullest': 0.0},
        {'fullest': 1.1},
        {'spare': -1},
        {'at_most': 0},
        {'idle': -1.0},
        {'wake': INF},
    ],
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(BadPower, match='give'):
        PowerSettings(**wrong)
