# SPDX-License-Identifier: Apache-2.0
"""L1, L6: whatever clock and hosts do, a lease goes forward and each micro-credit is accounted for."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from nova_market.core.lease.billing import hold
from nova_market.core.lease.life import LifeSettings, deleted, failed, next_step
from nova_market.core.lease.record import OVER, LeaseState
from nova_market.core.ledger.posting import BANK, ESCROW, Book
from tests.support.lease_records import HOUR, NOW, lease

ORDER = list(LeaseState)
FUNDS = 10**9
LIFE = LifeSettings(charge_period=HOUR / 2, full_refund_within=HOUR)

TIMES = st.lists(
    st.tuples(
        st.integers(-2 * 3600, 12 * 3600),
        st.sampled_from([frozenset({'h0'}), frozenset(), None]),
    ),
    max_size=12,
)
"""Looks at a lease: seconds after NOW, in any order, and the hosts that can be used then."""


@given(
    TIMES,
    st.integers(0, 10**7),
    st.floats(0.1, 6.0),
    st.sampled_from(['ends', 'deleted', 'failed']),
    st.integers(0, 12 * 3600),
)
@settings(max_examples=300, deadline=None)
def test_a_lease_goes_forward_and_its_money_adds_up(looks, cost, hours, way, end):
    """At any moment escrow holds cost - charged - refunded; at the end nothing; nothing is negative."""
    one = lease(cost=cost, hours=hours)
    book = Book({'project:red': FUNDS})
    book.post_all(hold(one))
    steps = [(NOW + at, good) for at, good in looks]
    for at, good in steps:
        step = next_step(one, at, good, LIFE)
        if step is None:
            continue
        book.post_all(step.postings)
        assert ORDER.index(step.after.state) >= ORDER.index(one.state)
        assert step.after.charged >= one.charged and step.after.refunded >= one.refunded
        one = _written(step)
        assert book.balance(ESCROW) == one.held >= 0
        assert next_step(one, at, good, LIFE) is None
    if not one.over:
        at = NOW + end
        last = (
            deleted(one, at, LIFE, 'u')
            if way == 'deleted'
            else failed(one, at, 'x')
            if way == 'failed'
            else None
        )
        last = last or next_step(one, one.end + 10 * HOUR, frozenset(), LIFE)
        assert last is not None
        book.post_all(last.postings)
        one = _written(last)
    assert one.state in OVER and one.charged + one.refunded == cost
    assert book.balance(ESCROW) == 0 and book.balance(BANK) == one.charged
    assert book.balance('project:red') == FUNDS - one.charged


def _written(step):
    """As the store would keep it."""
    return replace(step.after, revision=step.before.revision + 1)
