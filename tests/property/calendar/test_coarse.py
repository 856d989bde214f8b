# SPDX-License-Identifier: Apache-2.0
"""A calendar in fewer steps never has more free than the one it was made of."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.calendar.booking import bookings
from nova_market.core.calendar.calendar import booked, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.calendar.coarse import coarsened
from nova_market.core.calendar.start import least_free

HOSTS = 3

_bookings = st.lists(
    st.tuples(
        st.integers(0, HOSTS - 1),
        st.integers(0, 60),
        st.integers(1, 20),
        st.sampled_from([1.0, 2.0, 2.0**30]),
    ),
    max_size=60,
)


def calendar_of(taken):
    made = bookings(
        host=[one[0] for one in taken],
        start=[float(one[1]) for one in taken],
        end=[float(one[1] + one[2]) for one in taken],
        amounts=np.array([[one[3]] * 3 for one in taken]).reshape(-1, 3).T,
    )
    return booked(unbooked(capacity(np.zeros((3, HOSTS)))), made)


@given(taken=_bookings, most=st.integers(3, 9))
def test_nothing_is_free_that_was_not_free_before(taken, most):
    """At any time; of each host so many steps are left at most, and what is after all bookings is exact."""
    fine = calendar_of(taken)
    coarse = coarsened(fine, most)
    assert np.diff(coarse.offsets).max() <= max(most, 3)
    for start in range(-1, 82):
        before, after = (least_free(one, float(start), start + 1.0) for one in (fine, coarse))
        assert (after <= before).all()
    assert (least_free(coarse, 81.0, 1e9) == 0.0).all()
    assert (least_free(coarse, -9.0, 0.0) == least_free(fine, -9.0, 0.0)).all()


@given(taken=_bookings)
def test_hosts_with_few_steps_stay_as_they_are(taken):
    fine = calendar_of(taken)
    assert coarsened(fine, 200) is fine
    few = coarsened(fine, 9)
    for host in range(HOSTS):
        rows = slice(fine.offsets[host], fine.offsets[host + 1])
        if rows.stop - rows.start <= 9:
            same = slice(few.offsets[host], few.offsets[host + 1])
            assert fine.times[rows].tolist() == few.times[same].tolist()
