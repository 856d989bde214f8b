# SPDX-License-Identifier: Apache-2.0
"""N3, N4: what is sent now: alone, together, or later."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.notice.delivery import HOUR, LONGEST_PAUSE, delivery_plan, pause
from tests.support.notice_builders import NOW, queued


def numbers(plan):
    return [[one.number for one in batch] for batch in plan.batches]


def rows(count, **more):
    return [queued(number, **more) for number in range(count)]


def test_each_alone_while_the_hour_has_room():
    """The last message of the hour has all the rest."""
    assert numbers(delivery_plan(rows(3), [], 0, 3, NOW)) == [[0], [1], [2]]
    assert numbers(delivery_plan(rows(5), [], 0, 3, NOW)) == [[0], [1], [2, 3, 4]]
    assert numbers(delivery_plan(rows(5), [NOW, NOW], 0, 3, NOW)) == [[0, 1, 2, 3, 4]]


def test_a_full_hour_waits_for_its_oldest_message():
    """The moment at which the hour has room again."""
    recent = [NOW - 1800, NOW - 1000, NOW - 10]
    plan = delivery_plan(rows(2), recent, 0, 2, NOW)
    assert (plan.batches, plan.wait_until) == ((), NOW - 1000 + HOUR)


def test_a_digest_has_all_that_came_meanwhile():
    """It is due when its first event has waited long enough; the last one has not."""
    waiting = [queued(0, due_at=NOW), queued(1, due_at=NOW + 3000)]
    assert numbers(delivery_plan(waiting, [], HOUR, 20, NOW)) == [[0, 1]]
    assert delivery_plan(waiting, [], HOUR, 20, NOW - 5).wait_until == NOW


def test_a_message_that_has_failed_is_sent_again_as_it_was():
    """What came later waits, so that the order stays; before its time nothing is sent."""
    waiting = [queued(0, message='m', tries=1), queued(1, message='m', tries=1), queued(2)]
    assert numbers(delivery_plan(waiting, [], 0, 20, NOW)) == [[0, 1]]
    later = [queued(0, message='m', due_at=NOW + 30), queued(1)]
    plan = delivery_plan(later, [], 0, 20, NOW)
    assert (plan.batches, plan.wait_until) == ((), NOW + 30)


def test_pauses_grow_to_a_limit():
    assert [pause(n) for n in (1, 2, 3)] == [30, 60, 120]
    assert pause(9) == pause(10**6) == LONGEST_PAUSE


@given(st.integers(1, 60), st.integers(1, 10), st.lists(st.floats(1, 3599), max_size=12))
def test_never_more_than_so_many_an_hour_and_nothing_left_out(count, most, ages):
    recent = sorted(NOW - age for age in ages)
    plan = delivery_plan(rows(count), recent, 0, most, NOW)
    assert len(plan.batches) + len(recent) <= max(most, len(recent))
    sent = [number for batch in numbers(plan) for number in batch]
    assert sent == (list(range(count)) if plan.batches else [])
    assert bool(plan.batches) == (len(recent) < most)
    if not plan.batches:
        left = [at for at in recent if at > plan.wait_until - HOUR]
        assert plan.wait_until > NOW and len(left) < most


@pytest.mark.parametrize('digest', [0.0, 60.0])
def test_nothing_waits(digest):
    assert delivery_plan([], [], digest, 1, NOW).batches == ()
