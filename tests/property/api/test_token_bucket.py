# SPDX-License-Identifier: Apache-2.0
"""A bucket gives no more than its rate allows in any span of time, and gives all of that."""

from hypothesis import given
from hypothesis import strategies as st

from nova_market.api.token_bucket import MOST_OWED, Rate, owe, take

rates = st.builds(
    lambda per_second, burst: Rate(per_second=per_second, burst=burst),
    per_second=st.floats(0.01, 1000),
    burst=st.floats(1, 1000),
)
requests = st.lists(st.tuples(st.floats(0, 10), st.integers(1, 50)), max_size=40)


def after(rate, asked, now):
    """(time, when the bucket is full) after these requests from `now` on."""
    full_at = 0.0
    for pause, cost in asked:
        now += pause
        full_at, _ = take(full_at, cost, rate, now)
    return now, full_at


def taken(rate, asked):
    """(time, cost, whether it was served) of each request; asked: (pause before it, cost)."""
    now, full_at, found = 1000.0, 0.0, []
    for pause, cost in asked:
        now += pause
        full_at, wait = take(full_at, cost, rate, now)
        found.append((now, min(cost, rate.burst), not wait))
    return found


@given(rates, requests)
def test_no_span_of_time_has_more_than_a_full_bucket_and_what_flows_in(rate, asked):
    """Whenever the span begins and ends."""
    found = taken(rate, asked)
    for first in range(len(found)):
        total = 0.0
        for at, cost, served in found[first:]:
            total += cost if served else 0
            most = rate.burst + rate.per_second * (at - found[first][0])
            assert total <= most * (1 + 1e-6) + rate.per_second * 1e-5


@given(rates, requests, st.integers(1, 5000))
def test_after_the_wait_the_same_request_is_served(rate, asked, cost):
    """Also one that costs more than a bucket can have; a request that was refused takes nothing."""
    now, full_at = after(rate, asked, 1000.0)
    then, wait = take(full_at, cost, rate, now)
    if wait:
        assert then == full_at
        assert take(full_at, cost, rate, now + wait / 2)[1] > 0
        assert take(full_at, cost, rate, now + wait + 1e-6)[1] == 0
    assert wait <= rate.longest * (1 + 1e-9)


@given(rates, requests, st.floats(0, 1e6))
def test_a_clock_that_was_set_back_locks_nobody_out(rate, asked, owed):
    """At most until the bucket has been filled twice: it may be empty, and as much may be owed."""
    now, full_at = after(rate, asked, 1e9)
    full_at = owe(full_at, owed, rate, now)
    longest = (1 + MOST_OWED) * rate.longest * (1 + 1e-9)
    assert take(full_at, rate.burst, rate, now)[1] <= longest + 1e-6
    assert take(full_at, rate.burst, rate, 5.0)[1] <= longest
