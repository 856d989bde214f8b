# SPDX-License-Identifier: Apache-2.0
"""Suggested bids (P1, P3): enough in the round by which they are made, and hardly more than that."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nova_market.core.ledger.money import MICRO
from nova_market.core.market.bid_suggestion import bid_suggestion
from nova_market.core.market.price import ResourceMarket, allocations, clearing_price
from nova_market.core.market.record import PriceRecord
from nova_market.errors import BadAmount

BIDS = st.lists(st.integers(1, 10 * MICRO), max_size=6)


def market_of(bids, capacity, reserve):
    """Bidders that take whatever their bids buy."""
    return ResourceMarket(
        bids=np.array(bids, dtype=float),
        caps=np.full(len(bids), 1e9),
        capacity=capacity,
        reserve=reserve,
    )


def record_of(market):
    price = clearing_price(market)
    taken = float(allocations(market, price).sum())
    return PriceRecord(
        period=1,
        resource='cpu',
        price=price,
        bid_price=price,
        capacity=market.capacity,
        allocated=taken,
        bids=int(market.bids.sum()),
    )


@given(
    others=BIDS,
    own=st.integers(0, 10 * MICRO),
    part=st.floats(0.01, 0.9),
    capacity=st.floats(1, 64),
    reserve=st.floats(1, MICRO),
)
def test_the_suggested_bid_buys_what_was_asked_for(others, own, part, capacity, reserve):
    """Put among the bids of the others in place of the own one, it gets the amount; less of it gets less."""
    before = market_of([*others, own] if own else others, capacity, reserve)
    record = record_of(before)
    price = record.price
    held = float(allocations(before, price)[-1]) if own else 0.0
    amount = part * capacity
    found = bid_suggestion(record, amount, reserve, held)
    after = market_of([*others, found.bid], capacity, reserve)
    got = float(allocations(after, clearing_price(after))[-1])
    assert got >= amount * (1 - 1e-6)
    if found.bid > 10:
        lower = market_of([*others, found.bid * 0.9], capacity, reserve)
        assert float(allocations(lower, clearing_price(lower))[-1]) < amount
    assert found.bid >= reserve * amount * (1 - 1e-6)


@given(others=st.integers(1, 10 * MICRO), capacity=st.floats(1, 64))
def test_more_is_never_cheaper(others, capacity):
    """The bid grows with the amount, and all that others want too cannot be bought."""
    record = record_of(market_of([others], capacity, 1.0))
    assume(record.allocated > 0.5 * capacity)
    bids = [bid_suggestion(record, part * capacity, 1.0).bid for part in (0.1, 0.3, 0.6, 0.9)]
    assert bids == sorted(bids)
    with pytest.raises(BadAmount, match=r'give less than'):
        bid_suggestion(record, capacity, 1.0)


@pytest.mark.parametrize(
    ('allocated', 'amount', 'bid', 'why'),
    [
        (0.0, 2.0, MICRO, 'cpu: nobody else pays for any: 1 buys 2 of 4 cores'),
        (
            1.0, 2.0, MICRO,
            'cpu: 3 of 4 cores are not taken by others: at the price of 0.5 each, 1 buys 2',
        ),
        (
            4.0, 2.0, 2 * MICRO,
            'cpu: the others pay 2 for 4 of 4 cores: to have 2 you bid 2, which makes the price 1 instead',
        ),
    ],
)  # fmt: skip
def test_the_reason_has_the_numbers(allocated, amount, bid, why):
    """Nobody there, idle cores at the reserve price, and others who give way."""
    found = bid_suggestion(half_a_credit(allocated), amount, MICRO / 2)
    assert found.bid == bid and found.why.startswith(why)


def test_who_wants_less_than_he_has_is_shown_the_lower_price():
    """His bid made the price; what he would pay is not that any more."""
    found = bid_suggestion(half_a_credit(4.0), 1.0, MICRO / 10, own=3.0)
    assert (found.bid, found.price) == (166_667, MICRO / 2)
    assert found.why == (
        'cpu: 3 of 4 cores are not taken by others: at the price of 0.166667 each, 0.166667 buys 1'
    )


def half_a_credit(allocated):
    """The price of four cores, of which so many are taken."""
    return PriceRecord(
        period=1, resource='cpu', price=MICRO / 2, bid_price=MICRO / 2, capacity=4.0,
        allocated=allocated, bids=0,
    )  # fmt: skip
