# SPDX-License-Identifier: Apache-2.0
"""Servers on fewer hosts (W2)."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nova_market.core.power.consolidation import ConsolidationSettings, consolidated
from nova_market.core.rebalancing.layout import NOWHERE, Layout, LayoutState, load

WATTS = 100.0


def layout(home, wanted, hosts, size=1.0, room=8.0, **columns):
    count = len(home)
    made = Layout(
        host=np.array(home, dtype=np.intp),
        bids=np.ones((1, count)),
        caps=np.array([wanted], dtype=float),
        ideal=np.array([wanted], dtype=float),
        capacity=np.full((1, hosts), 4.0),
        size=np.full((1, count), size),
        room=np.full((1, hosts), room),
        movable=np.ones(count, dtype=bool),
        open=np.ones(hosts, dtype=bool),
        zone=np.full(count, NOWHERE),
        host_zone=np.zeros(hosts, dtype=np.intp),
        apart=np.full(count, NOWHERE),
    )
    return replace(made, **{name: np.array(value) for name, value in columns.items()})


def used(found):
    return sorted(set(found.host.tolist()))


def emptied(placement, base=None, kept=None, **chosen):
    watts = np.full(placement.hosts, WATTS) if base is None else np.array(base)
    return consolidated(placement, watts, ConsolidationSettings(**chosen), kept=kept)


def test_servers_gather_on_one_host():
    """Three hosts with a server of one core each: one is enough, and two moves."""
    found = emptied(layout([0, 1, 2], [1.0, 1.0, 1.0], 3))
    assert len(used(found)) == 1 and len(found.moved) == 2 and found.after == 0.0


def test_hosts_are_filled_so_far_and_no_further():
    """Two of one core are half of a host; three would be three quarters."""
    found = emptied(layout([0, 1, 2, 3], [1.0] * 4, 4), fullest=0.5)
    assert len(used(found)) == 2


def test_the_host_that_saves_most_for_its_copy_is_emptied_first():
    """It saves more watts; with equal watts, the one with less to copy."""
    placement = layout([0, 1], [1.0, 1.0], 2)
    assert used(emptied(placement, base=[50.0, 200.0])) == [0]
    assert used(emptied(layout([0, 0, 1], [1.0] * 3, 2))) == [0]


def test_what_cannot_leave_keeps_its_host():
    """A pinned server, or a host that the calendar needs; half-emptied hosts are put back."""
    pinned = layout([0, 0, 1], [1.0] * 3, 2, movable=[False, True, True])
    assert emptied(pinned).host.tolist() == [0, 0, 0]
    kept = np.array([True, True])
    assert len(emptied(layout([0, 1], [1.0, 1.0], 2), kept=kept).moved) == 0
    full = layout([0, 0, 1], [1.0, 1.0, 1.0], 2, size=3.0, room=6.0)
    assert emptied(full).host.tolist() in ([0, 0, 1], [0, 1, 1])
    assert len(emptied(full).moved) == 0


def test_no_more_moves_than_allowed():
    found = emptied(layout([0, 0, 1, 2], [0.5] * 4, 3), migrations=1)
    assert len(found.moved) == 1


def test_servers_of_a_group_stay_apart():
    found = emptied(layout([0, 1], [1.0, 1.0], 2, apart=[7, 7]))
    assert used(found) == [0, 1]


@settings(max_examples=60)
@given(
    home=st.lists(st.integers(0, 4), min_size=1, max_size=12),
    data=st.data(),
    fullest=st.floats(0.2, 1.0),
)
def test_it_never_overfills(home, data, fullest):
    """Whoever receives stays within RAM and the load; the error is not made worse; used hosts get fewer."""
    wanted = data.draw(st.lists(st.floats(0, 4), min_size=len(home), max_size=len(home)))
    placement = layout(home, wanted, 5, room=12.0)
    found = emptied(placement, fullest=fullest, error=0.0)
    after = LayoutState(replace(placement, host=found.host))
    before = LayoutState(placement)
    assert (after.used <= placement.room).all()
    grown = np.flatnonzero(after.wanted[0] > before.wanted[0] + 1e-9)
    assert (load(after.wanted, placement.capacity)[grown] <= fullest + 1e-9).all()
    assert after.errors.max() <= max(before.errors.max(), 0.0) + 1e-12
    assert len(used(found)) <= len(set(home))
    assert set(found.moved.tolist()) == set(np.flatnonzero(found.host != placement.host).tolist())
