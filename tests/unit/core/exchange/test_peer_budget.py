# SPDX-License-Identifier: Apache-2.0
"""What one peer may cost a host: rule H25."""

import pytest

from nova_market.adapters.transport.wire_format import MAX_FRAME
from nova_market.core.exchange.peer_budget import (
    BYTES,
    BYTES_A_SECOND,
    CONNECTIONS,
    CUT_OFF,
    FORGIVEN,
    FRAME,
    PATIENCE,
    PROCESSOR,
    PeerBudgets,
)

SMALL = 200


def test_a_host_that_sends_what_hosts_send_is_never_over_its_budget():
    """An update and its retransmission, and replies of the same size, each second for an hour."""
    budgets = PeerBudgets()
    assert budgets.connect('a', 0.0)
    for second in range(3600):
        for size in (250_000, 250_000):
            assert budgets.frame('a', size, float(second))
        budgets.sent('a', 250_000, float(second))
    assert budgets.newly_cut_off() == []


@pytest.mark.parametrize('size', [SMALL, 20_000, MAX_FRAME])
def test_what_is_taken_of_a_peer_has_a_bound(size):
    """However long its frames are: what fits in a minute is the bucket and what flows into it."""
    budgets, taken = PeerBudgets(), 0
    for moment in range(6000):
        taken += budgets.frame('a', size, moment / 100.0)
    assert taken <= (BYTES + 60 * BYTES_A_SECOND) / (size + FRAME) + 1
    assert budgets.frame('b', size, 60.0), 'each peer has its own'


def test_who_goes_on_is_cut_off_and_comes_back():
    budgets = PeerBudgets()
    sent = 0
    while not budgets.cut_off('a', 0.0):
        budgets.frame('a', MAX_FRAME, 0.0)
        sent += MAX_FRAME
        assert sent <= BYTES + PATIENCE + MAX_FRAME
    assert budgets.newly_cut_off() == ['a'] and budgets.newly_cut_off() == []
    assert not budgets.connect('a', CUT_OFF - 1.0) and not budgets.frame('a', SMALL, CUT_OFF - 1.0)
    assert budgets.connect('a', CUT_OFF) and budgets.frame('a', SMALL, CUT_OFF)


def test_a_peer_that_is_over_its_budget_for_a_moment_is_not_cut_off():
    budgets = PeerBudgets()
    taken = [budgets.frame('a', MAX_FRAME, 0.0) for _ in range(6)]
    assert taken == [True] * 4 + [False] * 2, 'a mailbox full of the longest frames is taken'
    assert budgets.frame('a', MAX_FRAME, 10.0) and budgets.newly_cut_off() == []


def test_replies_count_too():
    """A small update may ask for a large reply."""
    budgets = PeerBudgets()
    assert budgets.frame('a', SMALL, 0.0)
    budgets.sent('a', BYTES, 0.0)
    assert not budgets.frame('a', SMALL, 0.0)
    assert budgets.frame('a', SMALL, 1.0)


def test_what_a_frame_takes_of_the_processor_counts():
    """However short the frames are: a tenth of a core, once the bucket is empty."""
    budgets, worked = PeerBudgets(), 0.0
    for moment in range(10_000):
        if budgets.frame('a', SMALL, moment / 100.0):
            budgets.work('a', 0.01, moment / 100.0)
            worked += 0.01
    assert worked <= (BYTES + 100 * BYTES_A_SECOND) / PROCESSOR + 0.01
    assert worked > 5.0


def test_each_part_of_a_message_counts_as_a_frame():
    """A million parts of nothing are a message, too."""
    budgets = PeerBudgets()
    assert not budgets.frame('a', 0, 0.0, parts=1_000_000)
    assert budgets.cut_off('a', 0.0)


def test_a_peer_does_not_pay_for_connections_that_were_ended_to_cut_off_another_one():
    """All others connect again, each time."""
    budgets = PeerBudgets()
    for time in range(100):
        now = CUT_OFF * time
        assert budgets.connect('a', now) and budgets.connect('bad', now)
        budgets.end('bad', now)
        budgets.disconnect_all()
        assert not budgets.connect('bad', now)


def test_connections_of_a_peer_have_a_bound():
    """Those that have ended count no more; one whose end was never told is forgiven in an hour."""
    budgets = PeerBudgets()
    for moment in range(1000):
        assert budgets.connect('a', float(moment))
        budgets.disconnect('a', float(moment))
    assert all(budgets.connect('a', 1000.0) for _ in range(CONNECTIONS))
    assert not budgets.connect('a', 1000.0)
    assert budgets.newly_cut_off() == ['a']
    silent = PeerBudgets()
    assert all(silent.connect('a', FORGIVEN * hour) for hour in range(100))
