# SPDX-License-Identifier: Apache-2.0
"""Laws of times as people type them."""

from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.timestamp import length_text, stamp
from nova_market.osc.v1.time_argument import duration_argument, moment

TIMES = st.floats(min_value=0, max_value=4e9)
LENGTHS = st.integers(min_value=1, max_value=10**8)


@given(now=TIMES, at=st.integers(min_value=0, max_value=4 * 10**9))
def test_a_time_as_the_api_prints_it_can_be_typed(now, at):
    """Whenever that is, and for any option."""
    for ahead in (False, True):
        assert moment(stamp(at), now, ahead=ahead) == at


@given(now=TIMES, length=LENGTHS)
def test_a_length_of_time_goes_as_far_back_as_forward(now, length):
    """And a plus always goes forward."""
    text = length_text(length)
    assert duration_argument(text) == length
    back, forward = (moment(text, now, ahead=ahead) for ahead in (False, True))
    assert now // 1 - back == forward - now // 1 == length
    assert moment(f'+{text}', now, ahead=False) == forward


@given(now=TIMES)
def test_days_follow_one_another(now):
    """Yesterday, today and tomorrow begin a day apart, and now is in today."""
    yesterday, today, tomorrow = (
        moment(word, now, ahead=False) for word in ('yesterday', 'today', 'tomorrow')
    )
    assert today - yesterday == tomorrow - today == 86_400
    assert today <= moment('now', now, ahead=False) < tomorrow
